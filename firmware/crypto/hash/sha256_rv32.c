/*
 * What of sha256_rv32 is not assembly, see hash.h: what names it; and on other machines the same routine in C.
 */
#ifdef __riscv
#include "hash.h"
#include "sha256_constants.h"

void sha256_rv32_compress(union hash_state *state, const uint8_t *blocks, size_t count);

SHA256_ALGORITHMS(rv32);
#else
#define SHA2_BITS     256
#define SHA2_COMPRESS sha256_rv32_compress
#include "sha2_unrolled.h"

SHA256_ALGORITHMS(rv32);
#endif
