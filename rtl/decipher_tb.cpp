// Asks the decipher, line by line: what a test writes to its input, a line each, is done, and lines are answered.
//
// Owns: driving the ports of `decipher.v`, as memory and a cache would. What should be answered is the test's
// (`crates/pack/tests/rtl.rs`).
//
//   wipe                     answered by the line that then stands at the output
//   seal NUMBER START        the number of a seal, and 12 bytes of a container's start
//   tweak KEY                16 bytes, the key of tweaks
//   key KEY                  16 bytes, the key of lines; waits until the decipher is free, if it will ever be
//   open ADDRESS LINE AFTER  a line, there AFTER cycles behind its address; answered by `LINE ASKED TAKEN`: the line as
//                            opened, and the cycles since it was asked for and since it was taken. `never` if it is not

#include <cstdio>
#include <cstring>

#include "Vdecipher.h"

static Vdecipher unit;
// More than any line takes.
static const int PATIENCE_CYCLES = 1000;

// The outputs are then those of a new cycle, with the inputs as they are.
static void tick() {
    unit.i_clock = 1;
    unit.eval();
    unit.i_clock = 0;
    unit.eval();
}

// Bytes as hexadecimal digits, the first of them the highest.
template <size_t WORDS> static bool put(VlWide<WORDS> &wide, const char *digits) {
    if (strlen(digits) != 8 * WORDS) return false;
    for (size_t word = 0; word < WORDS; word++) {
        unsigned value;
        if (sscanf(digits + 8 * word, "%8x", &value) != 1) return false;
        wide[WORDS - 1 - word] = value;
    }
    return true;
}

static void print_line() {
    for (int word = 3; word >= 0; word--) printf("%08x", unit.o_line[word]);
}

static void wait_until_free() {
    for (int cycle = 0; cycle < PATIENCE_CYCLES && !unit.o_is_free; cycle++) tick();
}

static void ask(unsigned address, int after) {
    unit.i_number = address >> 4;
    unit.i_asks = 1;
    int asked = 0, taken = -1;
    while (asked < PATIENCE_CYCLES) {
        unit.i_has_line = asked >= after;
        unit.eval();
        if (asked > 0 && unit.o_is_open) break;
        if (unit.o_takes) taken = asked;
        tick();
        asked++;
        unit.i_asks = 0;
    }
    unit.i_has_line = 0;
    unit.i_asks = 0;
    if (taken < 0 || !unit.o_is_open) {
        puts("never");
        return;
    }
    print_line();
    printf(" %d %d\n", asked, asked - taken);
}

static bool set_key(CData &which, const char *digits) {
    if (!put(unit.i_key, digits)) return false;
    which = 1;
    tick();
    which = 0;
    wait_until_free();
    return true;
}

static bool obey(const char *verb, const char *first, const char *second, int after) {
    unsigned number;
    if (!strcmp(verb, "wipe")) {
        unit.i_wipe = 1;
        tick();
        unit.i_wipe = 0;
        unit.eval();
        print_line();
        puts("");
    } else if (!strcmp(verb, "seal")) {
        if (sscanf(first, "%x", &number) != 1 || !put(unit.i_start, second)) return false;
        unit.i_seal = number;
        unit.i_set_seal = 1;
        tick();
        unit.i_set_seal = 0;
        unit.eval();
    } else if (!strcmp(verb, "tweak")) {
        return set_key(unit.i_set_tweak_key, first);
    } else if (!strcmp(verb, "key")) {
        return set_key(unit.i_set_key, first);
    } else if (!strcmp(verb, "open")) {
        if (sscanf(first, "%x", &number) != 1 || !put(unit.i_line, second)) return false;
        ask(number, after);
    } else {
        return false;
    }
    return true;
}

int main() {
    // The first edge of the clock is one.
    unit.eval();
    char line[128], verb[16], first[64], second[64];
    while (fgets(line, sizeof line, stdin)) {
        int after = 0;
        first[0] = second[0] = 0;
        if (sscanf(line, "%15s %63s %63s %d", verb, first, second, &after) < 1 || !obey(verb, first, second, after)) {
            fprintf(stderr, "found `%s`, expected wipe, seal, tweak, key or open\n", line);
            return 2;
        }
    }
    unit.final();
    return 0;
}
