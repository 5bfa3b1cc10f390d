// Asks the decompressor, word by word: what a test writes to its input, a line each, is done, and words are answered.
//
// Owns: driving the ports of `decompressor.v`. What should be answered is the test's (`crates/pack/tests/rtl.rs`).
//
//   reset               forgets the dictionary
//   entry INDEX WORD    loads an entry, all numbers hexadecimal
//   word WORD           answered by `PACKET SLOTS` and for each of the four slots ` NEXT:INSTRUCTION`, or ` -` where
//                       there is none. It is asked twice, the second time as the word that is held; if the answers
//                       differ, ` held` and the second one stand behind it.

#include <cstdio>
#include <cstring>
#include <string>

#include "Vdecompressor.h"

static Vdecompressor unit;

static void tick() {
    unit.i_clock = 0;
    unit.eval();
    unit.i_clock = 1;
    unit.eval();
}

static std::string slots() {
    char text[32];
    std::string answer;
    for (int slot = 0; slot < 4; slot++) {
        unit.i_slot = slot;
        unit.eval();
        if (slot == 0) {
            snprintf(text, sizeof text, "%d %d", unit.o_is_packet, unit.o_slots);
            answer += text;
        }
        if (unit.o_is_illegal) {
            answer += " -";
        } else {
            snprintf(text, sizeof text, " %d:%08x", unit.o_next_slot, unit.o_instruction);
            answer += text;
        }
    }
    return answer;
}

static void word(unsigned value) {
    unit.i_again = 0;
    unit.i_word = value;
    std::string fresh = slots();
    tick();
    unit.i_again = 1;
    unit.i_word = ~value;
    std::string held = slots();
    puts(fresh == held ? fresh.c_str() : (fresh + " held " + held).c_str());
}

int main() {
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        unsigned index, value;
        if (!strcmp(line, "reset\n")) {
            unit.i_reset = 1;
            tick();
            unit.i_reset = 0;
        } else if (sscanf(line, "entry %x %x", &index, &value) == 2) {
            unit.i_load = 1;
            unit.i_load_index = index;
            unit.i_load_entry = value;
            tick();
            unit.i_load = 0;
        } else if (sscanf(line, "word %x", &value) == 1) {
            word(value);
        } else {
            fprintf(stderr, "found `%s`, expected reset, entry or word\n", line);
            return 2;
        }
    }
    unit.final();
    return 0;
}
