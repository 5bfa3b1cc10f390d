/* SHA-256 of 250 bytes, as the programs of workload/ have it: long blocks without branches, and many variables. */
#include "../../../workload/sha256.h"
#include "work.h"

static uint8_t text[250], digest[SHA256_BYTES];

uint32_t work(void)
{
    uint32_t seed = 10, sum = 0;
    for (unsigned at = 0; at < sizeof text; at++)
        text[at] = number(&seed);
    struct sha256 state;
    sha256_begin(&state);
    sha256_add(&state, text, sizeof text);
    sha256_end(&state, digest);
    for (int at = 0; at < SHA256_BYTES; at++)
        sum = sum * 31 + digest[at];
    return sum;
}
