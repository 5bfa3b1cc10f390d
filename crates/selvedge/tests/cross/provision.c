//! Reads an EEPROM image from standard input as the node would, and prints what the node would know.
//! `cross.rs` compiles it with the firmware's own parser and counter and compares with the deployment.
#include <stdio.h>

#include "counter.h"
#include "epoch.h"
#include "provision.h"

static void print(const char *name, const uint8_t *bytes, unsigned count)
{
    printf("%s ", name);
    while (count--) {
        printf("%02x", *bytes++);
    }
    printf("\n");
}

int main(void)
{
    uint8_t image[PROVISION_EPOCHS_AT + EPOCH_PLACES_BYTES];
    struct provision provision;
    struct counter counter;
    struct epoch_change change;

    if (fread(image, 1, sizeof image, stdin) != sizeof image || !provision_parse(&provision, image)) {
        printf("refused\n");
        return 0;
    }
    uint8_t counted = provision.epoch;
    if (!epoch_boot(&change, &provision, image + PROVISION_EPOCHS_AT)) {
        printf("refused\n");
        return 0;
    }
    printf("node %lu\ncell %u\nepoch %u\n", (unsigned long)provision.node, provision.cell, provision.epoch);
    printf("suite %u\n", provision.suite);
    printf("samples %u\nblock %u\n", provision.samples_per_superframe, provision.counter_block);
    printf("channel %u\ndivider %u\n", provision.adc_channel, provision.spi_divider_log2);
    printf("clock %lu\n", (unsigned long)provision.clock_hz);
    print("key", provision.key, sizeof provision.key);
    print("iv", provision.iv, sizeof provision.iv);
    print("cell_key", provision.cell_key, sizeof provision.cell_key);
    if (!counter_boot(&counter, image + PROVISION_COUNTER_SLOTS_AT, counted, provision.counter_block)) {
        printf("silent\n");
        return 0;
    }
    uint8_t offset, value;
    uint32_t count;
    while (counter_step(&counter, &offset, &value)) {
        counter_stepped(&counter, value);
    }
    if (counter_take(&counter, &count)) {
        printf("count %lu\n", (unsigned long)count);
    }
    return 0;
}
