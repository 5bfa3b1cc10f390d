/*
 * The leaves of the basic layer for a native run, see mpn.h: sums and products by one limb take as many limbs at once as
 * 64 bits hold, and what is left over one by one; sums of products have one wide sum. They count and answer as those
 * that a processor has; how long they take themselves is what an estimate takes. No processor of an image runs them.
 */
#include <string.h>

#include "mp/carry.h"
#include "mp/mpn.h"

/* Limbs as one word, and two words. */
typedef uint64_t word_t;
__extension__ typedef unsigned __int128 dword_t;

#define WORD_BITS                64
#define WORD_LIMBS               (WORD_BITS / LIMB_BITS)
#define COUNT_BY_BLOCKS(name, n) COUNT_LEAF(name, n, MPN_BLOCKS(n), MPN_PARTIAL(n), MPN_BLOCKLESS(n))
/* Steps of words from `i` on, and of limbs behind them. */
#define FOR_WORDS(i, n)          for (; (n) - (i) >= WORD_LIMBS; (i) += WORD_LIMBS)
#define FOR_LEFT_OVER(i, n)      for (; (i) != (n); (i)++)

INLINE word_t load(const limb_t *from)
{
    word_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

INLINE void store(limb_t *to, word_t word)
{
    memcpy(to, &word, sizeof word);
}

/* The low word of r + a * b + *carry for a limb b; the carry stays below a limb's end. */
INLINE word_t word_addmul(word_t r, word_t a, limb_t b, limb_t *carry)
{
    const dword_t sum = (dword_t)a * b + r + *carry;
    *carry = (limb_t)(sum >> WORD_BITS);
    return (word_t)sum;
}

/* see mpn.h */
ROUTINE limb_t mpn_add_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t carry = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_add_n, n);
    FOR_WORDS(i, n) {
        const dword_t sum = (dword_t)load(a + i) + load(b + i) + carry;
        carry = (limb_t)(sum >> WORD_BITS);
        store(r + i, (word_t)sum);
    }
    FOR_LEFT_OVER(i, n) {
        r[i] = limb_add(a[i], b[i], &carry);
    }
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_sub_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t borrow = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_sub_n, n);
    FOR_WORDS(i, n) {
        const dword_t difference = (dword_t)load(a + i) - load(b + i) - borrow;
        borrow = (limb_t)(difference >> WORD_BITS) & 1;
        store(r + i, (word_t)difference);
    }
    FOR_LEFT_OVER(i, n) {
        r[i] = limb_sub(a[i], b[i], &borrow);
    }
    return borrow;
}

/* see mpn.h */
ROUTINE limb_t mpn_mul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_mul_1, n);
    FOR_WORDS(i, n) {
        store(r + i, word_addmul(0, load(a + i), b, &carry));
    }
    FOR_LEFT_OVER(i, n) {
        r[i] = limb_addmul(0, a[i], b, &carry);
    }
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_addmul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_addmul_1, n);
    FOR_WORDS(i, n) {
        store(r + i, word_addmul(load(r + i), load(a + i), b, &carry));
    }
    FOR_LEFT_OVER(i, n) {
        r[i] = limb_addmul(r[i], a[i], b, &carry);
    }
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_submul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t borrow = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_submul_1, n);
    FOR_WORDS(i, n) {
        const word_t low = word_addmul(0, load(a + i), b, &borrow), from = load(r + i);
        borrow = (limb_t)(borrow + (from < low));
        store(r + i, from - low);
    }
    FOR_LEFT_OVER(i, n) {
        r[i] = limb_submul(r[i], a[i], b, &borrow);
    }
    return borrow;
}

/* see mpn.h */
ROUTINE limb_t mpn_addmul_1_shifted(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;
    size_t i = 1;

    COUNT_BY_BLOCKS(mpn_addmul_1_shifted, n - 1);
    (void)limb_addmul(r[0], a[0], b, &carry);
    FOR_WORDS(i, n) {
        store(r + i - 1, word_addmul(load(r + i), load(a + i), b, &carry));
    }
    FOR_LEFT_OVER(i, n) {
        r[i - 1] = limb_addmul(r[i], a[i], b, &carry);
    }
    return carry;
}

/* see mpn.h */
ROUTINE void mpn_addmul_redc(limb_t *r, const limb_t *a, const limb_t *m, size_t n, limb_t b, limb_t inverse)
{
    limb_t carry = 0, reduced = 0;
    const limb_t low = limb_addmul(r[0], a[0], b, &carry);
    const limb_t q = (limb_t)((dlimb_t)low * inverse);
    size_t i = 1;

    COUNT_BY_BLOCKS(mpn_addmul_redc, n - 1);
    (void)limb_addmul(low, m[0], q, &reduced);
    FOR_WORDS(i, n) {
        const word_t sum = word_addmul(load(r + i), load(a + i), b, &carry);
        store(r + i - 1, word_addmul(sum, load(m + i), q, &reduced));
    }
    FOR_LEFT_OVER(i, n) {
        const limb_t sum = limb_addmul(r[i], a[i], b, &carry);
        r[i - 1] = limb_addmul(sum, m[i], q, &reduced);
    }
    const dlimb_t above = (dlimb_t)r[n] + carry + reduced;
    r[n - 1] = (limb_t)above;
    r[n] = (limb_t)(above >> LIMB_BITS);
}

/* see mpn.h */
ROUTINE void mpn_dot(limb_t *sum, const limb_t *a, const limb_t *b, size_t n)
{
    dword_t total = (dword_t)sum[2] << (2 * LIMB_BITS) | (dword_t)sum[1] << LIMB_BITS | sum[0];

    COUNT_BY_BLOCKS(mpn_dot, n);
    b += n;
    do {
        total += (dlimb_t)*a++ * (dlimb_t)*--b;
    } while (--n != 0);
    sum[0] = (limb_t)total;
    sum[1] = (limb_t)(total >> LIMB_BITS);
    sum[2] = (limb_t)(total >> (2 * LIMB_BITS));
}

/* see mpn.h */
ROUTINE void mpn_sqr_diagonal(limb_t *r, const limb_t *a, size_t n)
{
    dword_t carry = 0;

    COUNT_LEAF(mpn_sqr_diagonal, n);
    for (size_t i = 0; i != n; i++) {
        const dword_t twice = (dword_t)((dlimb_t)r[2 * i + 1] << LIMB_BITS | r[2 * i]) << 1;
        const dword_t sum = twice + (dlimb_t)a[i] * (dlimb_t)a[i] + carry;
        r[2 * i] = (limb_t)sum;
        r[2 * i + 1] = (limb_t)(sum >> LIMB_BITS);
        carry = sum >> (2 * LIMB_BITS);
    }
}

#include "mp/mpn_shifts.h"
