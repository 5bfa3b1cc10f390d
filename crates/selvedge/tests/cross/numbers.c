//! Prints the numbers that the node's firmware and the host have in common, one `name value` a line.
#include <stdio.h>

#include "beacon.h"
#include "frame.h"
#include "limits.h"

#define PRINT(number) printf(#number " %lu\n", (unsigned long)(number))

int main(void)
{
    PRINT(FRAME_BYTES_MAX);
    PRINT(FRAME_HEADER_BYTES);
    PRINT(FRAME_SAMPLES_MAX);
    PRINT(SAMPLES_CODES_AT);
    PRINT(ASK_CYCLES_MAX);
    PRINT(BEACON_BYTES_MAX);
    PRINT(BEACON_NODES_AT);
    PRINT(BEACON_SLOTS_MAX);
    PRINT(BEACON_TAG_BYTES);
    PRINT(CLOCK_HZ_MAX);
    PRINT(CLOCK_HZ_MIN);
    PRINT(DRIFT_SHIFT_UNMEASURED);
    PRINT(FIRST_BYTE_CYCLES_MAX);
    PRINT(HANDLED_BYTE_OVERHEAD_CYCLES);
    PRINT(HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES);
    PRINT(LINK_BYTES_MAX);
    PRINT(POLLED_BYTE_OVERHEAD_CYCLES);
    PRINT(SAMPLE_GAP_CYCLES_MIN);
    PRINT(SECURITY_CYCLES_MAX);
    PRINT(SEND_LEAD_CYCLES);
    PRINT(START_DELAY_CYCLES_MAX);
    PRINT(STATIC_BYTES_MAX_ATMEGA128);
    PRINT(STATIC_BYTES_MAX_WOVEN);
    PRINT(SUITE_TAG_BYTES_MAX);
    PRINT(SUPERFRAME_US_MAX);
    PRINT(VERIFY_CYCLES_MAX);
    for (unsigned suite = 0; suite < 16; suite++) {
        if (suite_tag_bytes(suite) != 0) {
            printf("suite_%u %u\n", suite, suite_tag_bytes(suite));
        }
    }
    return 0;
}
