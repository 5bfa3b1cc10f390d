/*
 * SHA-512's compression as FIPS 180-4 is written, see hash.h and sha2_plain.h.
 */
#define SHA2_BITS     512
#define SHA2_COMPRESS sha512_plain_compress
#include "sha2_plain.h"

SHA512_ALGORITHMS(plain);
