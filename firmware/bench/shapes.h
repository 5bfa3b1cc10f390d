/*
 * The calls that the bench can make, one shape of a variant's functions each: `perform` does what `bench_input` asks
 * for on the buffer, between marks, and returns the status. Key setup is not between the marks, except where it is
 * part of the call. Included by main.c alone.
 */

#define BENCH_JOIN_(name, suffix) name##suffix
#define BENCH_JOIN(name, suffix)  BENCH_JOIN_(name, suffix)
#define VARIANT(operation)        BENCH_JOIN(BENCH_VARIANT, operation)

/* Whose _init sets the key up, where it is not the variant's own. */
#ifndef BENCH_SETUP
#define BENCH_SETUP BENCH_VARIANT
#endif
#define SETUP BENCH_JOIN(BENCH_SETUP, _init)

#define TIMED(call)                                                                                          \
    do {                                                                                                     \
        MARK(BENCH_MARK_START);                                                                              \
        call;                                                                                                \
        MARK(BENCH_MARK_END);                                                                                \
    } while (0)

#define NONSENSE 0xFF

#if BENCH_SHAPE == BENCH_AEAD

static uint8_t perform(uint8_t operation, uint8_t *buffer, uint16_t length)
{
    const uint16_t ad_length = input_u16(BENCH_AD_LENGTH);
    uint8_t status = 1;

    if (operation == BENCH_SEAL) {
        TIMED(VARIANT(_seal)(buffer, length, bench_input + BENCH_AD, ad_length, bench_input + BENCH_NONCE,
                             bench_input + BENCH_KEY, bench_output + BENCH_TAG_OUT));
    } else if (operation == BENCH_OPEN) {
        TIMED(status = VARIANT(_open)(buffer, length, bench_input + BENCH_AD, ad_length,
                                      bench_input + BENCH_NONCE, bench_input + BENCH_KEY,
                                      bench_input + BENCH_TAG));
    } else {
        status = NONSENSE;
    }
    return status;
}

#elif BENCH_SHAPE == BENCH_RC4

static struct rc4 state __attribute__((aligned(256)));

static uint8_t perform(uint8_t operation, uint8_t *buffer, uint16_t length)
{
    if (operation != BENCH_ENCRYPT && operation != BENCH_DECRYPT) {
        return NONSENSE;
    }
    SETUP(&state, bench_input + BENCH_KEY, bench_input[BENCH_KEY_BYTES]);
    TIMED(VARIANT(_crypt)(&state, buffer, length));
    return 1;
}

#elif BENCH_SHAPE == BENCH_RC4_AVR32

static struct rc4 state __attribute__((aligned(256)));

static uint8_t perform(uint8_t operation, uint8_t *buffer, uint16_t length)
{
    uint8_t i;

    if ((operation != BENCH_ENCRYPT && operation != BENCH_DECRYPT) || length % RC4_AVR32_MESSAGE_BYTES != 0) {
        return NONSENSE;
    }
    SETUP(&state, bench_input + BENCH_KEY, bench_input[BENCH_KEY_BYTES]);
    for (; length != 0; length -= RC4_AVR32_MESSAGE_BYTES) {
        for (i = 0; i < RC4_AVR32_MESSAGE_BYTES; i++) {
            rc4_avr32_message[i] = buffer[i];
        }
        TIMED(rc4_avr32_crypt(&state));
        for (i = 0; i < RC4_AVR32_MESSAGE_BYTES; i++) {
            *buffer++ = rc4_avr32_message[i];
        }
    }
    return 1;
}

#elif BENCH_SHAPE == BENCH_RC5

static uint8_t perform(uint8_t operation, uint8_t *buffer, uint16_t length)
{
    static struct rc5 context;
    const uint8_t count = (uint8_t)(length / RC5_BLOCK_BYTES);

    if (length % RC5_BLOCK_BYTES != 0) {
        return NONSENSE;
    }
    SETUP(&context, bench_input + BENCH_KEY);
    if (operation == BENCH_ENCRYPT) {
        TIMED(VARIANT(_encrypt)(&context, buffer, count));
    } else if (operation == BENCH_DECRYPT) {
        TIMED(VARIANT(_decrypt)(&context, buffer, count));
    } else {
        return NONSENSE;
    }
    return 1;
}

#elif BENCH_SHAPE == BENCH_AES128_CTR

static uint8_t perform(uint8_t operation, uint8_t *buffer, uint16_t length)
{
    static uint8_t round_keys[AES128_ROUND_KEY_BYTES];
    uint8_t *counter = bench_input + BENCH_NONCE;
    uint8_t i;

    if (operation != BENCH_ENCRYPT && operation != BENCH_DECRYPT) {
        return NONSENSE;
    }
    PUBLISH(counter, AES128_BLOCK_BYTES);
    SETUP(round_keys, bench_input + BENCH_KEY);
    TIMED(VARIANT(_crypt)(round_keys, counter, buffer, length));
    for (i = 0; i < AES128_BLOCK_BYTES; i++) {
        bench_output[BENCH_TAG_OUT + i] = counter[i];
    }
    return 1;
}

#elif BENCH_SHAPE == BENCH_CHACHA20

static uint8_t perform(uint8_t operation, uint8_t *buffer, uint16_t length)
{
    static struct chacha20 context;
    const uint32_t counter = input_u16(BENCH_NONCE) | (uint32_t)input_u16(BENCH_NONCE + 2) << 16;

    if (operation != BENCH_ENCRYPT && operation != BENCH_DECRYPT) {
        return NONSENSE;
    }
    SETUP(&context, bench_input + BENCH_KEY, bench_input + BENCH_NONCE + 4, counter);
    TIMED(VARIANT(_crypt)(&context, buffer, length));
    return 1;
}

#elif BENCH_SHAPE == BENCH_CRC16

static uint8_t perform(uint8_t operation, uint8_t *buffer, uint16_t length)
{
    uint16_t crc = input_u16(BENCH_NONCE);

    if (operation != BENCH_ENCRYPT) {
        return NONSENSE;
    }
    TIMED(crc = VARIANT(_update)(crc, buffer, length));
    bench_output[BENCH_TAG_OUT] = (uint8_t)crc;
    bench_output[BENCH_TAG_OUT + 1] = (uint8_t)(crc >> 8);
    return 1;
}

#endif
