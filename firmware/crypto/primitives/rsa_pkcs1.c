/*
 * RSA with the padding of PKCS#1 v1.5, see rsa.h: encryption (RFC 8017 section 7.2) and signatures (section 8.2).
 */
#include "../secret.h"
#include "rsa.h"

#define SEPARATORS 11 /* bytes of padding that are always there: 0, a kind, 8 of padding, 0 */

/* see rsa.h: 0, 2, random bytes that are not 0, 0, the message */
ROUTINE uint8_t rsa_encrypt(struct rsa_public *key, uint8_t *output, const uint8_t *message, size_t count,
                            const struct random *random, struct scratch scratch)
{
    size_t i, padding;

    COUNT(rsa_encrypt, 0, 0, count);
    if (count + SEPARATORS > key->bytes) {
        return 0;
    }
    padding = key->bytes - 3 - count;
    output[0] = 0;
    output[1] = 2;
    for (i = 0; i < padding; i++) {
        COUNT_TERM(rsa_encrypt, padding, 1);
        do {
            COUNT_TERM(rsa_encrypt, draws, 1);
            random->fill(random->context, output + 2 + i, 1);
        } while (output[2 + i] == 0);
    }
    output[2 + padding] = 0;
    for (i = 0; i < count; i++) {
        output[3 + padding + i] = message[i];
        LOOP_STAYS();
    }
    return rsa_public(key, output, output, scratch);
}

/* All ones where a is 0, else 0. */
INLINE uint32_t zero_mask(uint32_t a)
{
    uint32_t mask = ((a | (0 - a)) >> 31) - 1;
    __asm__("" : "+r"(mask));
    return mask;
}

/*
 * see rsa.h: the first 0 after the padding is looked for in all bytes, and the message is moved to the front by as many
 * rotations as a length has bits, each done or not; only the length and the verdict are known afterwards.
 */
ROUTINE uint8_t rsa_decrypt(struct rsa_private *key, uint8_t *message, size_t *count, const uint8_t *input,
                            struct scratch scratch)
{
    const uint32_t bytes = (uint32_t)key->bytes;
    /* Where `wrong` is 0 nothing is; at last it is all ones then, and else 0. */
    uint32_t wrong, found = 0, at = 0, shift, i, step;

    COUNT(rsa_decrypt, bytes, 0, 0);
    *count = 0;
    if (!rsa_private(key, message, input, scratch)) {
        return 0;
    }
    wrong = message[0] | (message[1] ^ 2u);
    for (i = 2; i < bytes; i++) {
        const uint32_t here = zero_mask(message[i]) & ~found;
        at |= here & i;
        found |= here;
    }
    /* No end, or fewer than 8 bytes before it: at - 10 is below 0. */
    wrong |= ~found | (0 - ((at - (SEPARATORS - 1)) >> 31));
    shift = at + 1;
    for (step = 1; step < bytes; step *= 2) {
        const uint8_t mask = (uint8_t)~zero_mask(shift & step);
        COUNT_TERM(rsa_decrypt, steps, 1);
        COUNT_TERM(rsa_decrypt, moves, bytes - step);
        for (i = 0; i + step < bytes; i++) {
            message[i] = (uint8_t)(message[i] ^ (mask & (message[i] ^ message[i + step])));
        }
    }
    wrong = zero_mask(wrong);
    *count = (bytes - 1 - at) & wrong;
    for (i = 0; i < bytes; i++) {
        message[i] &= (uint8_t)wrong;
        LOOP_STAYS();
    }
    SECRET_PUBLISH(wrong);
    SECRET_PUBLISH(*count);
    return (uint8_t)(wrong & 1);
}

/* DigestInfo before the digest (RFC 8017 section 9.2, note 1): what differs are the hash's identifier and lengths. */
static const struct {
    uint8_t digest_bytes, prefix_bytes;
    uint8_t prefix[19];
} digests[RSA_DIGESTS] = {
    [RSA_SHA1] = {20, 15, {0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14}},
    [RSA_SHA256] = {32, 19, {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01,
                             0x05, 0x00, 0x04, 0x20}},
    [RSA_SHA384] = {48, 19, {0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02,
                             0x05, 0x00, 0x04, 0x30}},
    [RSA_SHA512] = {64, 19, {0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03,
                             0x05, 0x00, 0x04, 0x40}},
};

/* 0, 1, bytes of all ones, 0, the prefix, the digest; returns 0 when the digest is not of its kind or does not fit. */
INLINE uint8_t encode(uint8_t *output, size_t bytes, uint8_t kind, const uint8_t *digest, size_t count)
{
    size_t prefix, i, at = 0;

    if (kind >= RSA_DIGESTS || (kind != RSA_DIGEST_BARE && count != digests[kind].digest_bytes)) {
        return 0;
    }
    prefix = digests[kind].prefix_bytes;
    if (prefix + count + SEPARATORS > bytes) {
        return 0;
    }
    output[at++] = 0;
    output[at++] = 1;
    while (at < bytes - count - prefix - 1) {
        output[at++] = 0xff;
        LOOP_STAYS();
    }
    output[at++] = 0;
    for (i = 0; i < prefix; i++) {
        output[at++] = digests[kind].prefix[i];
        LOOP_STAYS();
    }
    for (i = 0; i < count; i++) {
        output[at++] = digest[i];
        LOOP_STAYS();
    }
    return 1;
}

/* see rsa.h */
ROUTINE uint8_t rsa_sign(struct rsa_private *key, uint8_t *signature, uint8_t digest_kind, const uint8_t *digest,
                         size_t count, struct scratch scratch)
{
    COUNT(rsa_sign, key->bytes, digest_kind == RSA_SHA1, count);
    return encode(signature, key->bytes, digest_kind, digest, count) &&
           rsa_private(key, signature, signature, scratch);
}

/* see rsa.h: what it should have been is made anew, so nothing is parsed */
ROUTINE uint8_t rsa_verify(struct rsa_public *key, const uint8_t *signature, uint8_t digest_kind,
                           const uint8_t *digest, size_t count, struct scratch scratch)
{
    uint8_t *const expected = (uint8_t *)scratch_take(&scratch, key->n.limbs);
    uint8_t *const found = (uint8_t *)scratch_take(&scratch, key->n.limbs);
    uint8_t difference = 0;
    size_t i;

    COUNT(rsa_verify, key->bytes, digest_kind == RSA_SHA1, count);
    if (!encode(expected, key->bytes, digest_kind, digest, count) || !rsa_public(key, found, signature, scratch)) {
        return 0;
    }
    for (i = 0; i < key->bytes; i++) {
        difference |= expected[i] ^ found[i];
    }
    return difference == 0;
}
