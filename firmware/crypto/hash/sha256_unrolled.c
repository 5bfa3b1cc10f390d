/*
 * SHA-256's compression with 16 rounds written out, see hash.h and sha2_unrolled.h.
 */
#define SHA2_BITS     256
#define SHA2_COMPRESS sha256_unrolled_compress
#include "sha2_unrolled.h"

SHA256_ALGORITHMS(unrolled);
