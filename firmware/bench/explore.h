/*
 * What exploration and whoever drives it agree on: one call of one operation of the library, as bytes. The same request
 * runs natively, where routines count (crypto/estimate.h), and as an RV32 image, where cycles are counted, and the
 * responses are equal byte for byte.
 *
 * A request, integers little-endian:
 *
 *     0   2  operation, its place in operations.def
 *     2   1  limb_bits: 16 or 32; 0 for an operation without limbs
 *     3   7  the candidate: multiplication, method, window_bits, crt, caching, squaring, karatsuba (crypto/candidate.h)
 *    10   1  choice: for what is chosen besides, see operations.def; else 0
 *    11   1  repeats: how often the operation is done on the same state, 1 to 255. The first time is cold; the second
 *            time, what is cached is there
 *    12   2  operands
 *    14   2  0
 *    16      operands, each: 4 bytes, its length; its bytes; zeros up to a multiple of 4
 *
 * A response:
 *
 *     0   2  status, enum explore_status
 *     2   2  operands
 *     4      operands as above
 *
 * Operands of the basic and complex layers are numbers least significant byte first, whole limbs, as they lie in memory
 * on every machine that this runs on; those of primitives are octets as their standards have them.
 */
#ifndef SELVEDGE_EXPLORE_H
#define SELVEDGE_EXPLORE_H

#include <stddef.h>
#include <stdint.h>

#define EXPLORE_REQUEST_BYTES_MAX  8192
#define EXPLORE_RESPONSE_BYTES_MAX 8192
#define EXPLORE_OPERANDS_MAX       8

enum explore_status {
    EXPLORE_DONE,
    EXPLORE_UNKNOWN,   /* no such operation, or no such candidate */
    EXPLORE_MALFORMED, /* not a request as above */
    EXPLORE_UNFIT,     /* wrong number of operands, or lengths that the operation does not take */
    EXPLORE_REFUSED    /* the library refused: it returned 0 */
};

/* Runs a request; `response` has room for EXPLORE_RESPONSE_BYTES_MAX. Returns the response's bytes. Uses state of the
   thread's own where there are threads. */
size_t explore_run(const uint8_t *request, size_t request_bytes, uint8_t *response);

/*
 * Called just before and just after what counts, each time. Whoever links this defines them: a native program clears the counts
 * and takes them, an image tells its simulator.
 */
void explore_begin(void);
void explore_end(void);

/* The list of operations, by name. */
size_t explore_operations(void);
const char *explore_operation_name(size_t operation);
/* 1 when it is made of limbs, so that limb_bits is 16 or 32. */
uint8_t explore_operation_has_limbs(size_t operation);

#endif
