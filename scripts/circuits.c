/*
 * Looks for small circuits of S-boxes, for ciphers that compute a bit of many blocks at once: and, or, xor and not, an
 * instruction each. Owns the search; firmware/crypto/block has what was found.
 *
 * The way of Matthew Kwan ("Reducing the gate count of bitslice DES", 2000): an output is one of the signals that are
 * there, or one, two or three gates on top of them; or else it is put together from what it is where an input is 0 and
 * where it is 1, in two gates, each of which has to be right in half the places only. All inputs are tried and the
 * smallest is kept; the order of everything is random, and the whole is done again and again.
 *
 * cc -O2 -o circuits scripts/circuits.c && ./circuits SEED SECONDS INPUTS OUTPUTS ENTRY ..
 *
 * ENTRY is the table in the order of inputs, where the first input is the lowest bit of the index and the first output
 * the lowest of the entry. Prints the smallest circuit that was found and what it is right for: all of the table.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIGNALS_MAX 160
#define INPUTS_MAX  6
#define OUTPUTS_MAX 9
#define NONE        (-1)

enum operation { INPUT, NOT, AND, OR, XOR };

struct signal {
    uint64_t values; /* one for each index of the table */
    int16_t operation, a, b;
};

struct circuit {
    int signals;
    int output[OUTPUTS_MAX];
    struct signal signal[SIGNALS_MAX];
};

static int inputs, outputs;
static uint64_t everywhere; /* the bits of all indices */
static uint64_t wanted[OUTPUTS_MAX];
static uint64_t state;

static uint32_t below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % bound;
}

static void shuffle(int *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
    }
    for (int i = count - 1; i > 0; i--) {
        int j = (int)below((uint32_t)i + 1), kept = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = kept;
    }
}

static uint64_t apply(int operation, uint64_t a, uint64_t b)
{
    switch (operation) {
    case NOT:
        return ~a;
    case AND:
        return a & b;
    case OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* The new signal's number, or NONE when there would be `limit` signals. */
static int add(struct circuit *circuit, int limit, int operation, int a, int b)
{
    struct signal *signal = &circuit->signal[circuit->signals];

    if (a == NONE || b == NONE || circuit->signals + 1 >= limit) {
        return NONE;
    }
    signal->operation = (int16_t)operation;
    signal->a = (int16_t)a;
    signal->b = (int16_t)b;
    signal->values = apply(operation, circuit->signal[a].values, circuit->signal[b].values);
    return circuit->signals++;
}

/* Which signals can be an operand of the last gate, and which are complements of the target. */
struct candidates {
    int count;
    int number[SIGNALS_MAX];
    uint64_t values[SIGNALS_MAX];
};

/* A signal that is there, or its complement. */
static int find_signal(struct circuit *circuit, int limit, const struct candidates *all, uint64_t target, uint64_t mask)
{
    for (int i = 0; i < all->count; i++) {
        if (((all->values[i] ^ target) & mask) == 0) {
            return all->number[i];
        }
    }
    for (int i = 0; i < all->count; i++) {
        if (((~all->values[i] ^ target) & mask) == 0) {
            return add(circuit, limit, NOT, all->number[i], all->number[i]);
        }
    }
    return NONE;
}

static int find_pair(struct circuit *circuit, int limit, const struct candidates *all, uint64_t target, uint64_t mask)
{
    for (int i = 0; i < all->count; i++) {
        uint64_t a = all->values[i];
        for (int j = i + 1; j < all->count; j++) {
            uint64_t b = all->values[j];
            for (int operation = AND; operation <= XOR; operation++) {
                if (((apply(operation, a, b) ^ target) & mask) == 0) {
                    return add(circuit, limit, operation, all->number[i], all->number[j]);
                }
            }
        }
    }
    return NONE;
}

/* Two gates: of three signals, or of two with a complement. */
static int find_triple(struct circuit *circuit, int limit, const struct candidates *all, uint64_t target, uint64_t mask)
{
    struct candidates over = {0}, under = {0};

    if (circuit->signals + 2 >= limit) {
        return NONE;
    }
    for (int i = 0; i < all->count; i++) {
        if ((target & ~all->values[i] & mask) == 0) {
            over.number[over.count] = all->number[i];
            over.values[over.count++] = all->values[i];
        }
        if ((~target & all->values[i] & mask) == 0) {
            under.number[under.count] = all->number[i];
            under.values[under.count++] = all->values[i];
        }
    }
    for (int i = 0; i < all->count; i++) {
        for (int j = i; j < all->count; j++) {
            for (int operation = i == j ? NOT : AND; operation <= (i == j ? NOT : XOR); operation++) {
                uint64_t first = apply(operation, all->values[i], all->values[j]);
                if ((target & ~first & mask) == 0) {
                    for (int k = 0; k < over.count; k++) {
                        if ((((first & over.values[k]) ^ target) & mask) == 0) {
                            int gate = add(circuit, limit, operation, all->number[i], all->number[j]);
                            return add(circuit, limit, AND, gate, over.number[k]);
                        }
                    }
                }
                if ((~target & first & mask) == 0) {
                    for (int k = 0; k < under.count; k++) {
                        if ((((first | under.values[k]) ^ target) & mask) == 0) {
                            int gate = add(circuit, limit, operation, all->number[i], all->number[j]);
                            return add(circuit, limit, OR, gate, under.number[k]);
                        }
                    }
                }
                for (int k = 0; k < all->count; k++) {
                    if (((first ^ all->values[k] ^ target) & mask) == 0) {
                        int gate = add(circuit, limit, operation, all->number[i], all->number[j]);
                        return add(circuit, limit, XOR, gate, all->number[k]);
                    }
                    if (((~first ^ target) & mask) == 0) {
                        int gate = add(circuit, limit, operation, all->number[i], all->number[j]);
                        return add(circuit, limit, NOT, gate, gate);
                    }
                }
            }
        }
    }
    return NONE;
}

static int find(struct circuit *circuit, int limit, uint64_t target, uint64_t mask, unsigned used);

/*
 * The target from what it is on both sides of an input: base ^ (input & rest), or base ^ (input | rest). The base is
 * right on one side, or its complement is; the rest makes it right on the other.
 */
static int split(struct circuit *circuit, int limit, uint64_t target, uint64_t mask, unsigned used, int input,
                 int operation)
{
    const uint64_t values = circuit->signal[input].values;
    const uint64_t base_mask = mask & (operation == AND ? ~values : values);
    const int base = find(circuit, limit - 2, operation == AND ? target : ~target, base_mask, used);
    int rest, gate;

    if (base == NONE) {
        return NONE;
    }
    rest = find(circuit, limit - 2, target ^ circuit->signal[base].values, mask & ~base_mask, used);
    if (rest == NONE) {
        return NONE;
    }
    gate = add(circuit, limit, operation, input, rest);
    return add(circuit, limit, XOR, base, gate);
}

/* The number of a signal that is `target` where `mask` is 1; `used` are the inputs that masks were split by. */
static int find(struct circuit *circuit, int limit, uint64_t target, uint64_t mask, unsigned used)
{
    struct candidates all = {0};
    struct circuit best;
    int order[SIGNALS_MAX], bits[INPUTS_MAX], found, found_best = NONE;

    shuffle(order, circuit->signals);
    for (all.count = 0; all.count < circuit->signals; all.count++) {
        all.number[all.count] = order[all.count];
        all.values[all.count] = circuit->signal[order[all.count]].values;
    }
    if ((found = find_signal(circuit, limit, &all, target, mask)) != NONE ||
        (found = find_pair(circuit, limit, &all, target, mask)) != NONE ||
        (found = find_triple(circuit, limit, &all, target, mask)) != NONE) {
        return found;
    }
    if (circuit->signals + 3 >= limit) {
        return NONE;
    }
    shuffle(bits, inputs);
    for (int i = 0; i < inputs; i++) {
        for (int operation = AND; operation <= OR && !(used >> bits[i] & 1); operation++) {
            struct circuit tried;
            tried.signals = circuit->signals;
            memcpy(tried.signal, circuit->signal, sizeof tried.signal[0] * (size_t)circuit->signals);
            found = split(&tried, limit, target, mask, used | 1u << bits[i], bits[i], operation);
            if (found != NONE) {
                /* From here on only what is smaller counts. */
                best.signals = limit = tried.signals;
                memcpy(best.signal, tried.signal, sizeof tried.signal[0] * (size_t)tried.signals);
                found_best = found;
            }
        }
    }
    if (found_best != NONE) {
        circuit->signals = best.signals;
        memcpy(circuit->signal, best.signal, sizeof best.signal[0] * (size_t)best.signals);
    }
    return found_best;
}

/* One attempt: all outputs, in a random order. */
static int attempt(struct circuit *circuit, int limit)
{
    int order[OUTPUTS_MAX];

    circuit->signals = inputs;
    for (int i = 0; i < inputs; i++) {
        uint64_t values = 0;
        for (int index = 0; index < 1 << inputs; index++) {
            values |= (uint64_t)(index >> i & 1) << index;
        }
        circuit->signal[i] = (struct signal){.values = values, .operation = INPUT};
    }
    shuffle(order, outputs);
    for (int i = 0; i < outputs; i++) {
        int found = find(circuit, limit, wanted[order[i]], everywhere, 0);
        if (found == NONE) {
            return 0;
        }
        circuit->output[order[i]] = found;
    }
    return 1;
}

static void print(const struct circuit *circuit)
{
    static const char *const symbols[] = {"", "~", "&", "|", "^"};

    for (int i = inputs; i < circuit->signals; i++) {
        const struct signal *signal = &circuit->signal[i];
        if (signal->operation == NOT) {
            printf("s%d = ~s%d\n", i, signal->a);
        } else {
            printf("s%d = s%d %s s%d\n", i, signal->a, symbols[signal->operation], signal->b);
        }
    }
    for (int i = 0; i < outputs; i++) {
        printf("out %d s%d %s\n", i, circuit->output[i],
               circuit->signal[circuit->output[i]].values == wanted[i] ? "right" : "WRONG");
    }
    printf("%d gates\n", circuit->signals - inputs);
    fflush(stdout);
}

int main(int count, char **words)
{
    static struct circuit circuit;
    int limit = SIGNALS_MAX;
    time_t end;

    if (count < 5) {
        return 2;
    }
    state = strtoull(words[1], NULL, 10) * 2 + 1;
    end = time(NULL) + atol(words[2]);
    inputs = atoi(words[3]);
    outputs = atoi(words[4]);
    if (inputs < 1 || inputs > INPUTS_MAX || outputs < 1 || outputs > OUTPUTS_MAX || count != 5 + (1 << inputs)) {
        return 2;
    }
    for (int index = 0; index < 1 << inputs; index++) {
        for (int i = 0; i < outputs; i++) {
            wanted[i] |= (uint64_t)(strtoul(words[5 + index], NULL, 0) >> i & 1) << index;
        }
        everywhere |= UINT64_C(1) << index;
    }
    for (int i = 0; i < 40; i++) {
        below(2);
    }
    while (time(NULL) < end) {
        if (attempt(&circuit, limit)) {
            limit = circuit.signals;
            print(&circuit);
        }
    }
    return 0;
}
