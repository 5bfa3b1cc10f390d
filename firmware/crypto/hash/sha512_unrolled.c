/*
 * SHA-512's compression with 16 rounds written out, see hash.h and sha2_unrolled.h.
 */
#define SHA2_BITS     512
#define SHA2_COMPRESS sha512_unrolled_compress
#include "sha2_unrolled.h"

SHA512_ALGORITHMS(unrolled);
