// Runs an image on a core of this folder until it ends, and says what it did and when.
//
//   Vbench IMAGE CYCLES_MAX [TAKEN_UP]
//
// The core is the top that Verilator is told, as `Vbench`. Owns: loading, the clock, and the registers of the bare machine that are stored to (`crates/isa/src/rv32/bare.rs`).
// IMAGE is what lies in memory from 0 on. A line for each event, with the cycle since reset in which it is on the bus:
//
//   console CYCLE BYTE      hexadecimal
//   mark CYCLE NUMBER
//   exit CYCLE STATUS       the last
//   trap CYCLE PC           instead: PC is that of the instruction that was taken up last
//   nothing CYCLE ADDRESS   instead: there is no memory
//   limit CYCLE             instead: CYCLES_MAX are over
//
// TAKEN_UP is written, 8 bytes for each instruction that the core takes up (see the top), both little-endian: the lower
// 32 bits of the cycle, and its address.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Vbench.h"

static const uint32_t OUTSIDE = 0x80000000, EXIT = 0x0, CONSOLE = 0x4, MARK = 0x8;

static Vbench unit;

// The outputs are then those of a new cycle.
static void tick() {
    unit.i_clock = 1;
    unit.eval();
    unit.i_clock = 0;
    unit.eval();
}

static bool load(const char *path) {
    FILE *image = fopen(path, "rb");
    if (!image) return false;
    unsigned char bytes[4];
    unit.i_load = 1;
    size_t count;
    for (uint32_t address = 0; (count = fread(bytes, 1, 4, image)) > 0; address += 4) {
        for (size_t byte = count; byte < 4; byte++) bytes[byte] = 0;
        unit.i_load_address = address;
        unit.i_load_word = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | uint32_t(bytes[3]) << 24;
        tick();
    }
    unit.i_load = 0;
    fclose(image);
    return true;
}

// What is stored outside of memory; whether that ends the run.
static bool store(unsigned long long cycle) {
    switch (unit.o_address - OUTSIDE) {
    case EXIT:
        printf("exit %llu %x\n", cycle, unit.o_word);
        return true;
    case CONSOLE:
        printf("console %llu %02x\n", cycle, unit.o_word & 0xff);
        return false;
    case MARK:
        printf("mark %llu %x\n", cycle, unit.o_word);
        return false;
    default:
        printf("nothing %llu %x\n", cycle, unit.o_address);
        return true;
    }
}

static void take_up(FILE *file) {
    uint32_t values[2] = {uint32_t(unit.o_cycle), unit.o_pc};
    unsigned char bytes[8];
    for (int byte = 0; byte < 8; byte++) bytes[byte] = values[byte / 4] >> 8 * (byte % 4);
    fwrite(bytes, 1, 8, file);
}

static void run(unsigned long long cycles_max, FILE *taken_up) {
    uint32_t last = 0;
    for (;;) {
        tick();
        unsigned long long cycle = unit.o_cycle;
        if (unit.o_takes_up) {
            last = unit.o_pc;
            if (taken_up) take_up(taken_up);
        }
        if (unit.o_store && store(cycle)) return;
        if (unit.o_traps) {
            printf("trap %llu %x\n", cycle, last);
            return;
        }
        if (unit.o_is_nothing) {
            printf("nothing %llu %x\n", cycle, unit.o_address);
            return;
        }
        if (cycle >= cycles_max) {
            printf("limit %llu\n", cycle);
            return;
        }
    }
}

int main(int count, char **arguments) {
    if (count != 3 && count != 4) {
        fprintf(stderr, "found %d arguments, expected IMAGE CYCLES_MAX [TAKEN_UP]\n", count - 1);
        return 2;
    }
    unit.i_reset = 1;
    unit.eval();
    if (!load(arguments[1])) {
        fprintf(stderr, "`%s` cannot be read\n", arguments[1]);
        return 2;
    }
    FILE *taken_up = nullptr;
    if (count == 4 && !(taken_up = fopen(arguments[3], "wb"))) {
        fprintf(stderr, "`%s` cannot be written\n", arguments[3]);
        return 2;
    }
    for (int cycle = 0; cycle < 4; cycle++) tick();
    unit.i_reset = 0;
    run(strtoull(arguments[2], nullptr, 10), taken_up);
    if (taken_up) fclose(taken_up);
    unit.final();
    return 0;
}
