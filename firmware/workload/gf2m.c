/*
 * GF(2^233) and sect233k1 in 32-bit words, see gf2m.h.
 *
 * Multiplication by a comb of four bits: J. Lopez and R. Dahab, High-speed software multiplication in F_2^m,
 * INDOCRYPT 2000. Inversion by a chain of squarings: T. Itoh and S. Tsujii, Information and Computation 78 (1988)
 * 171-177. Points by x coordinates alone: J. Lopez and R. Dahab, Fast multiplication on elliptic curves over GF(2^m)
 * without precomputation, CHES 1999, after P. Montgomery.
 */
#include "gf2m.h"

#include <string.h>

#define DEGREE 233
/* The modulus is x^233 + x^74 + 1. */
#define MIDDLE   74
#define TOP_BITS (DEGREE - 32 * (GF2M_WORDS - 1))
#define TOP_MASK ((1u << TOP_BITS) - 1)

gf2m gf2m_load(const uint8_t bytes[GF2M_BYTES])
{
    gf2m value;
    int i;

    memset(&value, 0, sizeof value);
    for (i = 0; i < GF2M_BYTES; i++) {
        int from = GF2M_BYTES - 1 - i;
        value.word[i / 4] |= (uint32_t)bytes[from] << (8 * (i % 4));
    }
    value.word[GF2M_WORDS - 1] &= TOP_MASK;
    return value;
}

void gf2m_store(const gf2m *value, uint8_t bytes[GF2M_BYTES])
{
    int i;
    for (i = 0; i < GF2M_BYTES; i++) {
        bytes[GF2M_BYTES - 1 - i] = (uint8_t)(value->word[i / 4] >> (8 * (i % 4)));
    }
}

gf2m gf2m_base(void)
{
    static const uint8_t x[GF2M_BYTES] = { 0x01, 0x72, 0x32, 0xba, 0x85, 0x3a, 0x7e, 0x73, 0x1a, 0xf1,
                                           0x29, 0xf2, 0x2f, 0xf4, 0x14, 0x95, 0x63, 0xa4, 0x19, 0xc2,
                                           0x6b, 0xf5, 0x0a, 0x4c, 0x9d, 0x6e, 0xef, 0xad, 0x61, 0x26 };
    return gf2m_load(x);
}

static int is_zero(const gf2m *a)
{
    uint32_t bits = 0;
    int i;
    for (i = 0; i < GF2M_WORDS; i++) {
        bits |= a->word[i];
    }
    return bits == 0;
}

static gf2m add(const gf2m *a, const gf2m *b)
{
    gf2m sum;
    int i;
    for (i = 0; i < GF2M_WORDS; i++) {
        sum.word[i] = a->word[i] ^ b->word[i];
    }
    return sum;
}

/* Adds x^(32 j + shift) times `bits` at and above word j. */
static void add_shifted(uint32_t *words, uint32_t bits, int shift)
{
    words[0] ^= bits << shift;
    if (shift != 0) {
        words[1] ^= bits >> (32 - shift);
    }
}

/* Reduces a product of 2 GF2M_WORDS words, by x^(233 + i) = x^(74 + i) + x^i, a word at a time from the top. */
static gf2m reduce(uint32_t wide[2 * GF2M_WORDS])
{
    gf2m value;
    uint32_t rest;
    int i;

    for (i = 2 * GF2M_WORDS - 1; i >= GF2M_WORDS; i--) {
        /* Bit 32 i lies 32 i - 233 above x^233. */
        int low = 32 * i - DEGREE;
        int middle = low + MIDDLE;
        rest = wide[i];
        wide[i] = 0;
        add_shifted(wide + low / 32, rest, low % 32);
        add_shifted(wide + middle / 32, rest, middle % 32);
    }
    rest = wide[GF2M_WORDS - 1] >> TOP_BITS;
    wide[GF2M_WORDS - 1] &= TOP_MASK;
    wide[0] ^= rest;
    add_shifted(wide + MIDDLE / 32, rest, MIDDLE % 32);
    memcpy(value.word, wide, sizeof value.word);
    return value;
}

static gf2m multiply(const gf2m *a, const gf2m *b)
{
    /* What a is times each polynomial of four bits: 236 bits at most. */
    uint32_t times[16][GF2M_WORDS];
    uint32_t wide[2 * GF2M_WORDS];
    int bit, i, j;

    memset(times[0], 0, sizeof times[0]);
    memcpy(times[1], a->word, sizeof a->word);
    for (i = 2; i < 16; i++) {
        for (j = GF2M_WORDS - 1; j >= 0; j--) {
            uint32_t half = times[i / 2][j] << 1 | (j > 0 ? times[i / 2][j - 1] >> 31 : 0);
            times[i][j] = i % 2 == 0 ? half : half ^ times[1][j];
        }
    }
    memset(wide, 0, sizeof wide);
    for (bit = 28; bit >= 0; bit -= 4) {
        for (i = 0; i < GF2M_WORDS; i++) {
            const uint32_t *part = times[b->word[i] >> bit & 15];
            for (j = 0; j < GF2M_WORDS; j++) {
                wide[i + j] ^= part[j];
            }
        }
        for (i = 2 * GF2M_WORDS - 1; bit != 0 && i >= 0; i--) {
            wide[i] = wide[i] << 4 | (i > 0 ? wide[i - 1] >> 28 : 0);
        }
    }
    return reduce(wide);
}

/* Puts a zero above each of 16 bits. */
static uint32_t spread(uint32_t bits)
{
    bits = (bits | bits << 8) & 0x00ff00ffu;
    bits = (bits | bits << 4) & 0x0f0f0f0fu;
    bits = (bits | bits << 2) & 0x33333333u;
    return (bits | bits << 1) & 0x55555555u;
}

static gf2m square(const gf2m *a)
{
    uint32_t wide[2 * GF2M_WORDS];
    int i;
    for (i = 0; i < GF2M_WORDS; i++) {
        wide[2 * i] = spread(a->word[i] & 0xffff);
        wide[2 * i + 1] = spread(a->word[i] >> 16);
    }
    return reduce(wide);
}

/* a^(2^233 - 2): the exponent's bits are 232 ones and a zero, which a chain of doubled lengths makes. */
static gf2m invert(const gf2m *a)
{
    gf2m power = *a;
    /* `power` is a^(2^length - 1). */
    int length = 1, bit, i;

    for (bit = 6; bit >= 0; bit--) {
        gf2m far = power;
        for (i = 0; i < length; i++) {
            far = square(&far);
        }
        power = multiply(&far, &power);
        length *= 2;
        if ((DEGREE - 1) >> bit & 1) {
            power = square(&power);
            power = multiply(&power, a);
            length++;
        }
    }
    return square(&power);
}

/* A point's x coordinate as X / Z; Z is 0 at infinity. */
struct ratio {
    gf2m x, z;
};

/* The sum of two points whose difference has the x coordinate `x`. */
static struct ratio add_points(const struct ratio *a, const struct ratio *b, const gf2m *x)
{
    struct ratio sum;
    gf2m left = multiply(&a->x, &b->z);
    gf2m right = multiply(&b->x, &a->z);
    gf2m both = add(&left, &right);

    sum.z = square(&both);
    left = multiply(&left, &right);
    right = multiply(x, &sum.z);
    sum.x = add(&left, &right);
    return sum;
}

/* On a curve whose b is 1, X^4 + Z^4 is (X + Z)^4. */
static struct ratio double_point(const struct ratio *a)
{
    struct ratio twice;
    gf2m x = square(&a->x);
    gf2m z = square(&a->z);
    gf2m sum = add(&x, &z);

    twice.z = multiply(&x, &z);
    twice.x = square(&sum);
    return twice;
}

int gf2m_multiply_point(gf2m *result, const gf2m *scalar, const gf2m *x)
{
    /* n and n + 1 times the point, for the leading bits n of the scalar. */
    struct ratio low, high;
    gf2m inverse;
    int bit;

    memset(&low, 0, sizeof low);
    low.x.word[0] = 1;
    high.x = *x;
    memset(&high.z, 0, sizeof high.z);
    high.z.word[0] = 1;
    for (bit = DEGREE - 1; bit >= 0; bit--) {
        struct ratio sum = add_points(&low, &high, x);
        if (scalar->word[bit / 32] >> (bit % 32) & 1) {
            low = sum;
            high = double_point(&high);
        } else {
            high = sum;
            low = double_point(&low);
        }
    }
    if (is_zero(&low.z)) {
        return 0;
    }
    inverse = invert(&low.z);
    *result = multiply(&low.x, &inverse);
    return 1;
}
