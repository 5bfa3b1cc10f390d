/*
 * The one main() that puts a scheme under a simulator: an SPI exchange beside one cipher, see baseline.h.
 *
 * BASELINE_SCHEME says how, BASELINE_FUNCTION which cipher, BASELINE_SHAPE what that takes, and BASELINE_RECEIVE that
 * bytes are received; with BASELINE_COUPLED the cipher's own result is what is sent. The simulator fills the arrays
 * before it starts, and the chip executes `break` when all is done.
 * Does not time anything itself.
 */
#include "baseline.h"
#include <avr/interrupt.h>
#include <avr/io.h>

/* Not cleared at start, so that they survive from before reset. */
#define KEPT __attribute__((section(".noinit")))

/* SPCR and SPSR; the length of the cipher's message in its own units; where the exchange's lies, and its bytes. */
KEPT uint8_t spi_settings[2];
KEPT uint16_t cipher_length;
KEPT uint16_t exchange_at;
KEPT uint16_t exchange_bytes;
/* The cipher's objects, and its message. */
KEPT uint8_t cipher_objects[BASELINE_OBJECT_BYTES] __attribute__((aligned(256)));
KEPT uint8_t cipher_message[BASELINE_MESSAGE_BYTES];
/* Of the exchange, with the multiple of 512 in it at which reserved.S ends. */
__attribute__((section(".noinit.exchange"), aligned(BASELINE_TURN))) uint8_t exchange_memory[BASELINE_TURN + 1];

#if BASELINE_SHAPE == BASELINE_RC4 || BASELINE_SHAPE == BASELINE_CHACHA20
#define TYPES     uint8_t *, uint8_t *, uint16_t
#define ARGUMENTS cipher_objects, cipher_message, cipher_length
#elif BASELINE_SHAPE == BASELINE_RC4_AVR32
#define TYPES     uint8_t *
#define ARGUMENTS cipher_objects
#elif BASELINE_SHAPE == BASELINE_RC5
#define TYPES     const uint8_t *, uint8_t *, uint8_t
#define ARGUMENTS cipher_objects, cipher_message, (uint8_t)cipher_length
#elif BASELINE_SHAPE == BASELINE_AES128_CTR
#define TYPES     const uint8_t *, uint8_t *, uint8_t *, uint16_t
#define ARGUMENTS cipher_objects + 16, cipher_objects, cipher_message, cipher_length
#elif BASELINE_SHAPE == BASELINE_ASCON
/* No associated data; key, nonce and tag. */
#define TYPES     uint8_t *, uint16_t, const uint8_t *, uint16_t, const uint8_t *, const uint8_t *, uint8_t *
#define ARGUMENTS cipher_message, cipher_length, 0, 0, cipher_objects, cipher_objects + 16, cipher_objects + 32
#endif

#define EXCHANGE (exchange_memory + exchange_at)

#ifdef BASELINE_RECEIVE
#define BUSY_WAIT     busy_wait_receive
#define INTERRUPT     interrupt_receive
#define EXCHANGE_TYPE uint8_t *
#else
#define BUSY_WAIT     busy_wait_send
#define INTERRUPT     interrupt_send
#define EXCHANGE_TYPE const uint8_t *
#endif

#if BASELINE_SCHEME == BASELINE_WOVEN && !defined(BASELINE_COUPLED)
extern void BASELINE_FUNCTION(TYPES, EXCHANGE_TYPE, uint8_t);
#elif BASELINE_SCHEME != BASELINE_NOTHING
extern void BASELINE_FUNCTION(TYPES);
#endif

int main(void)
{
    /* MOSI, SCK and SS are outputs. */
    DDRB = 0xFF;
    SPCR = spi_settings[0];
    SPSR = spi_settings[1];
    sei();
#if BASELINE_SCHEME == BASELINE_CIPHER || defined(BASELINE_COUPLED)
    BASELINE_FUNCTION(ARGUMENTS);
#elif BASELINE_SCHEME == BASELINE_BUSY_WAIT
    BUSY_WAIT(EXCHANGE, exchange_bytes);
    BASELINE_FUNCTION(ARGUMENTS);
#elif BASELINE_SCHEME == BASELINE_INTERRUPT
    INTERRUPT(EXCHANGE, exchange_bytes);
    BASELINE_FUNCTION(ARGUMENTS);
    while ((SPCR & _BV(SPIE)) || !(SPSR & _BV(SPIF))) {
    }
#ifdef BASELINE_RECEIVE
    EXCHANGE[exchange_bytes - 1] = SPDR;
#endif
#elif BASELINE_SCHEME == BASELINE_WOVEN
    BASELINE_FUNCTION(ARGUMENTS, EXCHANGE, (uint8_t)exchange_bytes);
#endif
    __asm__ volatile("break");
    for (;;) {
    }
}
