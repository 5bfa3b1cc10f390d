/*
 * SHA-256's compression as FIPS 180-4 is written, see hash.h and sha2_plain.h.
 */
#define SHA2_BITS     256
#define SHA2_COMPRESS sha256_plain_compress
#include "sha2_plain.h"

SHA256_ALGORITHMS(plain);
