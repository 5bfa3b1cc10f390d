/*
 * What SHA-256 and SHA-512 differ in (FIPS 180-4 sections 4.1.2 and 4.1.3): who includes it has said SHA2_BITS, and
 * SHA2_COMPRESS, the name of its compression.
 */
#include "../words.h"
#include "hash.h"

#if SHA2_BITS == 256
#include "sha256_constants.h"
#define SHA2_ROUNDS     64
#define SHA2_CONSTANTS  SHA256_CONSTANTS
#define SHA2_LOAD       load_be32
#define SHA2_STATE      words
#define SHA2_SUM_0(x)   (rotate_right(x, 2) ^ rotate_right(x, 13) ^ rotate_right(x, 22))
#define SHA2_SUM_1(x)   (rotate_right(x, 6) ^ rotate_right(x, 11) ^ rotate_right(x, 25))
#define SHA2_SIGMA_0(x) (rotate_right(x, 7) ^ rotate_right(x, 18) ^ (x) >> 3)
#define SHA2_SIGMA_1(x) (rotate_right(x, 17) ^ rotate_right(x, 19) ^ (x) >> 10)
typedef uint32_t sha2_word;
#elif SHA2_BITS == 512
#include "sha512_constants.h"
#define SHA2_ROUNDS     80
#define SHA2_CONSTANTS  SHA512_CONSTANTS
#define SHA2_LOAD       load_be64
#define SHA2_STATE      long_words
#define SHA2_SUM_0(x)   (rotate_right_64(x, 28) ^ rotate_right_64(x, 34) ^ rotate_right_64(x, 39))
#define SHA2_SUM_1(x)   (rotate_right_64(x, 14) ^ rotate_right_64(x, 18) ^ rotate_right_64(x, 41))
#define SHA2_SIGMA_0(x) (rotate_right_64(x, 1) ^ rotate_right_64(x, 8) ^ (x) >> 7)
#define SHA2_SIGMA_1(x) (rotate_right_64(x, 19) ^ rotate_right_64(x, 61) ^ (x) >> 6)
typedef uint64_t sha2_word;
#else
#error "SHA2_BITS is 256 or 512"
#endif

#define SHA2_BLOCK_BYTES (16 * sizeof(sha2_word))

static const sha2_word constants[SHA2_ROUNDS] = {SHA2_CONSTANTS};

ROUTINE void SHA2_COMPRESS(union hash_state *state, const uint8_t *blocks, size_t count);
