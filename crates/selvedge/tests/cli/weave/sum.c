/* A host for the tests of `selvedge weave`: what a user brings. Leaves timing to the guest. */
#include <stdint.h>

uint16_t sum(const uint8_t *data, uint8_t count)
{
    uint16_t sum = 0;
    while (count--) {
        sum += *data++;
    }
    return sum;
}
