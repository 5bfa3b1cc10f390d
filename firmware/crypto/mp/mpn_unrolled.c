/*
 * The leaves of the basic layer in plain C, MPN_BLOCK_LIMBS limbs at a time, see mpn.h: in each half of a block all
 * operands are read before a result is written, which lets a compiler fill the time that loads and products take. What
 * is no whole block goes first, a limb at a time.
 */
#include "carry.h"
#include "mpn.h"

#define COUNT_BY_BLOCKS(name, n) COUNT_LEAF(name, n, MPN_BLOCKS(n), MPN_PARTIAL(n), MPN_BLOCKLESS(n))

/* `one` for each limb beside blocks, with the pointers moved by `move` after it; `half` twice for each block. */
#define BY_BLOCKS(n, one, half, move)                                                                        \
    do {                                                                                                     \
        size_t rest = (n) % MPN_BLOCK_LIMBS, blocks = (n) / MPN_BLOCK_LIMBS;                                 \
        for (; rest != 0; rest--) {                                                                          \
            one;                                                                                             \
            move(1);                                                                                         \
        }                                                                                                    \
        for (; blocks != 0; blocks--) {                                                                      \
            half(0);                                                                                         \
            half(4);                                                                                         \
            move(8);                                                                                         \
        }                                                                                                    \
    } while (0)

#define MOVE_R_A(by)   (r += (by), a += (by))
#define MOVE_R_A_B(by) (r += (by), a += (by), b += (by))

/* The results of four limbs, of operands that are all read before. */
struct four {
    limb_t l0, l1, l2, l3;
};

INLINE struct four add_four(struct four a, struct four b, limb_t *carry)
{
    struct four s;
    s.l0 = limb_add(a.l0, b.l0, carry);
    s.l1 = limb_add(a.l1, b.l1, carry);
    s.l2 = limb_add(a.l2, b.l2, carry);
    s.l3 = limb_add(a.l3, b.l3, carry);
    return s;
}

INLINE struct four sub_four(struct four a, struct four b, limb_t *borrow)
{
    struct four s;
    s.l0 = limb_sub(a.l0, b.l0, borrow);
    s.l1 = limb_sub(a.l1, b.l1, borrow);
    s.l2 = limb_sub(a.l2, b.l2, borrow);
    s.l3 = limb_sub(a.l3, b.l3, borrow);
    return s;
}

INLINE struct four addmul_four(struct four r, struct four a, limb_t b, limb_t *carry)
{
    struct four s;
    s.l0 = limb_addmul(r.l0, a.l0, b, carry);
    s.l1 = limb_addmul(r.l1, a.l1, b, carry);
    s.l2 = limb_addmul(r.l2, a.l2, b, carry);
    s.l3 = limb_addmul(r.l3, a.l3, b, carry);
    return s;
}

INLINE struct four submul_four(struct four r, struct four a, limb_t b, limb_t *borrow)
{
    struct four s;
    s.l0 = limb_submul(r.l0, a.l0, b, borrow);
    s.l1 = limb_submul(r.l1, a.l1, b, borrow);
    s.l2 = limb_submul(r.l2, a.l2, b, borrow);
    s.l3 = limb_submul(r.l3, a.l3, b, borrow);
    return s;
}

INLINE struct four load_four(const limb_t *a)
{
    return (struct four){a[0], a[1], a[2], a[3]};
}

INLINE void store_four(limb_t *r, struct four s)
{
    r[0] = s.l0;
    r[1] = s.l1;
    r[2] = s.l2;
    r[3] = s.l3;
}

#define ADD_HALF(at) store_four(r + (at), add_four(load_four(a + (at)), load_four(b + (at)), &carry))
#define SUB_HALF(at) store_four(r + (at), sub_four(load_four(a + (at)), load_four(b + (at)), &carry))
#define MUL_HALF(at) store_four(r + (at), addmul_four((struct four){0, 0, 0, 0}, load_four(a + (at)), b, &carry))
#define ADDMUL_HALF(at) store_four(r + (at), addmul_four(load_four(r + (at)), load_four(a + (at)), b, &carry))
#define SUBMUL_HALF(at) store_four(r + (at), submul_four(load_four(r + (at)), load_four(a + (at)), b, &carry))
#define SHIFTED_HALF(at)                                                                                     \
    store_four(r + (at)-1, addmul_four(load_four(r + (at)), load_four(a + (at)), b, &carry))

/* see mpn.h */
ROUTINE limb_t mpn_add_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t carry = 0;

    COUNT_BY_BLOCKS(mpn_add_n, n);
    BY_BLOCKS(n, r[0] = limb_add(a[0], b[0], &carry), ADD_HALF, MOVE_R_A_B);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_sub_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t carry = 0;

    COUNT_BY_BLOCKS(mpn_sub_n, n);
    BY_BLOCKS(n, r[0] = limb_sub(a[0], b[0], &carry), SUB_HALF, MOVE_R_A_B);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_mul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;

    COUNT_BY_BLOCKS(mpn_mul_1, n);
    BY_BLOCKS(n, r[0] = limb_addmul(0, a[0], b, &carry), MUL_HALF, MOVE_R_A);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_addmul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;

    COUNT_BY_BLOCKS(mpn_addmul_1, n);
    BY_BLOCKS(n, r[0] = limb_addmul(r[0], a[0], b, &carry), ADDMUL_HALF, MOVE_R_A);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_submul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;

    COUNT_BY_BLOCKS(mpn_submul_1, n);
    BY_BLOCKS(n, r[0] = limb_submul(r[0], a[0], b, &carry), SUBMUL_HALF, MOVE_R_A);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_addmul_1_shifted(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;

    COUNT_BY_BLOCKS(mpn_addmul_1_shifted, n - 1);
    (void)limb_addmul(r[0], a[0], b, &carry);
    MOVE_R_A(1);
    BY_BLOCKS(n - 1, r[-1] = limb_addmul(r[0], a[0], b, &carry), SHIFTED_HALF, MOVE_R_A);
    return carry;
}

/* A limb of the product and one of the reduction: two carries. */
INLINE limb_t addmul_twice(limb_t r, limb_t a, limb_t b, limb_t m, limb_t q, limb_t *carry, limb_t *reduced)
{
    return limb_addmul(limb_addmul(r, a, b, carry), m, q, reduced);
}

#define MOVE_R_A_M(by) (r += (by), a += (by), m += (by))
#define REDC_HALF(at)                                                                                        \
    do {                                                                                                     \
        const struct four s = addmul_four(load_four(r + (at)), load_four(a + (at)), b, &carry);              \
        store_four(r + (at)-1, addmul_four(s, load_four(m + (at)), q, &reduced));                            \
    } while (0)

/* see mpn.h */
ROUTINE void mpn_addmul_redc(limb_t *r, const limb_t *a, const limb_t *m, size_t n, limb_t b, limb_t inverse)
{
    limb_t carry = 0, reduced = 0, over = 0, top = 0;
    const limb_t low = limb_addmul(r[0], a[0], b, &carry);
    const limb_t q = (limb_t)((dlimb_t)low * inverse);

    COUNT_BY_BLOCKS(mpn_addmul_redc, n - 1);
    (void)limb_addmul(low, m[0], q, &reduced);
    MOVE_R_A_M(1);
    BY_BLOCKS(n - 1, r[-1] = addmul_twice(r[0], a[0], b, m[0], q, &carry, &reduced), REDC_HALF, MOVE_R_A_M);
    carry = limb_add(r[0], carry, &over);
    r[-1] = limb_add(carry, reduced, &top);
    r[0] = (limb_t)(over + top);
}

#define MOVE_A_B_BACK(by) (a += (by), b -= (by))
#define DOT_HALF(at)                                                                                         \
    do {                                                                                                     \
        const struct four x = load_four(a + (at)), y = load_four(b - (at)-4);                                \
        limb_accumulate(x.l0, y.l3, &s0, &s1, &s2);                                                          \
        limb_accumulate(x.l1, y.l2, &s0, &s1, &s2);                                                          \
        limb_accumulate(x.l2, y.l1, &s0, &s1, &s2);                                                          \
        limb_accumulate(x.l3, y.l0, &s0, &s1, &s2);                                                          \
    } while (0)

/* see mpn.h; b is read from its end on */
ROUTINE void mpn_dot(limb_t *sum, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t s0 = sum[0], s1 = sum[1], s2 = sum[2];

    COUNT_BY_BLOCKS(mpn_dot, n);
    b += n;
    BY_BLOCKS(n, limb_accumulate(a[0], b[-1], &s0, &s1, &s2), DOT_HALF, MOVE_A_B_BACK);
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
}

/* see mpn.h */
ROUTINE void mpn_sqr_diagonal(limb_t *r, const limb_t *a, size_t n)
{
    limb_t carry = 0, out = 0;
    size_t i = 0;

    COUNT_LEAF(mpn_sqr_diagonal, n);
    do {
        const dlimb_t square = (dlimb_t)a[i] * a[i];
        const limb_t low = r[0], high = r[1];
        r[0] = limb_add((limb_t)(low << 1 | out), (limb_t)square, &carry);
        r[1] = limb_add((limb_t)(high << 1 | low >> (LIMB_BITS - 1)), (limb_t)(square >> LIMB_BITS), &carry);
        out = high >> (LIMB_BITS - 1);
        r += 2;
    } while (++i != n);
}

#include "mpn_shifts.h"
