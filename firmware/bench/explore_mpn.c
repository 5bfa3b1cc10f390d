/*
 * Operations of the basic layer, each by itself: see public_key.def.
 */
#include "../crypto/mp/mpz.h"
#include "explore_limbs.h"

EXPLORE_PLACED EXPLORE_STATE limb_t explore_room[ROOM_LIMBS];

/* Operands 0 to count - 1, the same length; 0 when they are not. */
static uint8_t take(struct explore_call *call, struct vector *vectors, size_t count, struct scratch *room)
{
    for (size_t i = 0; i < count; i++) {
        vectors[i] = explore_vector(call, i, room);
        if (vectors[i].n == 0 || vectors[i].n != vectors[0].n) {
            return 0;
        }
    }
    return call->operands == count;
}

/* The same with a limb after them. */
static uint8_t take_and_limb(struct explore_call *call, struct vector *vectors, size_t count, limb_t *limb,
                             struct scratch *room)
{
    const struct vector last = explore_vector(call, count, room);

    if (call->operands != count + 1 || last.n != 1) {
        return 0;
    }
    *limb = last.limbs[0];
    call->operands--;
    return take(call, vectors, count, room);
}

static uint16_t two_vectors(struct explore_call *call,
                            limb_t (*function)(limb_t *, const limb_t *, const limb_t *, size_t))
{
    struct scratch room = explore_all();
    struct vector v[2];
    limb_t *r, out;

    if (!take(call, v, 2, &room)) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, v[0].n);
    TIMED((void)0, out = function(r, v[0].limbs, v[1].limbs, v[0].n));
    explore_result_limbs(call, r, v[0].n);
    explore_result_limb(call, out);
    return EXPLORE_DONE;
}

EXPLORE(mpn_add_n)
{
    return two_vectors(call, mpn_add_n);
}

EXPLORE(mpn_sub_n)
{
    return two_vectors(call, mpn_sub_n);
}

static uint16_t vector_and_limb(struct explore_call *call,
                                limb_t (*function)(limb_t *, const limb_t *, size_t, limb_t))
{
    struct scratch room = explore_all();
    struct vector a;
    limb_t *r, b, out;

    if (!take_and_limb(call, &a, 1, &b, &room)) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, a.n);
    TIMED((void)0, out = function(r, a.limbs, a.n, b));
    explore_result_limbs(call, r, a.n);
    explore_result_limb(call, out);
    return EXPLORE_DONE;
}

EXPLORE(mpn_mul_1)
{
    return vector_and_limb(call, mpn_mul_1);
}

EXPLORE(mpn_add_1)
{
    return vector_and_limb(call, mpn_add_1);
}

EXPLORE(mpn_sub_1)
{
    return vector_and_limb(call, mpn_sub_1);
}

EXPLORE(mpn_negate)
{
    return vector_and_limb(call, mpn_negate);
}

/* The functions whose result is an operand, too. */
static uint16_t onto_vector(struct explore_call *call, limb_t (*function)(limb_t *, const limb_t *, size_t, limb_t),
                            size_t least)
{
    struct scratch room = explore_all();
    struct vector v[2];
    limb_t *r, b, out;

    if (!take_and_limb(call, v, 2, &b, &room) || v[0].n < least) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, v[0].n);
    TIMED(mpn_copy(r, v[0].limbs, v[0].n), out = function(r, v[1].limbs, v[0].n, b));
    explore_result_limbs(call, r, v[0].n);
    explore_result_limb(call, out);
    return EXPLORE_DONE;
}

EXPLORE(mpn_addmul_1)
{
    return onto_vector(call, mpn_addmul_1, 1);
}

EXPLORE(mpn_submul_1)
{
    return onto_vector(call, mpn_submul_1, 1);
}

EXPLORE(mpn_addmul_1_shifted)
{
    return onto_vector(call, mpn_addmul_1_shifted, 2);
}

EXPLORE(mpn_addmul_redc)
{
    struct scratch room = explore_all();
    const struct vector sum = explore_vector(call, 0, &room), a = explore_vector(call, 1, &room);
    const struct vector m = explore_vector(call, 2, &room), b = explore_vector(call, 3, &room);
    limb_t *r, inverse, bits;

    if (call->operands != 4 || a.n < 2 || sum.n != a.n + 1 || m.n != a.n || b.n != 1 || (m.limbs[0] & 1) == 0) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, sum.n);
    for (inverse = 1, bits = 1; bits < LIMB_BITS; bits++) {
        /* One more bit of -m^-1 each time. */
        inverse = (limb_t)(inverse | (limb_t)((limb_t)((dlimb_t)m.limbs[0] * inverse + 1) & (limb_t)1 << bits));
    }
    TIMED(mpn_copy(r, sum.limbs, sum.n), mpn_addmul_redc(r, a.limbs, m.limbs, a.n, b.limbs[0], inverse));
    explore_result_limbs(call, r, sum.n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_dot)
{
    struct scratch room = explore_all();
    const struct vector sum = explore_vector(call, 0, &room), a = explore_vector(call, 1, &room);
    const struct vector b = explore_vector(call, 2, &room);
    limb_t r[3];

    if (call->operands != 3 || sum.n != 3 || a.n == 0 || b.n != a.n) {
        return EXPLORE_UNFIT;
    }
    TIMED(mpn_copy(r, sum.limbs, 3), mpn_dot(r, a.limbs, b.limbs, a.n));
    explore_result_limbs(call, r, 3);
    return EXPLORE_DONE;
}

EXPLORE(mpn_sqr_diagonal)
{
    struct scratch room = explore_all();
    const struct vector sum = explore_vector(call, 0, &room), a = explore_vector(call, 1, &room);
    limb_t *r;

    if (call->operands != 2 || a.n == 0 || sum.n != 2 * a.n) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, sum.n);
    TIMED(mpn_copy(r, sum.limbs, sum.n), mpn_sqr_diagonal(r, a.limbs, a.n));
    explore_result_limbs(call, r, sum.n);
    return EXPLORE_DONE;
}

static uint16_t shift(struct explore_call *call, limb_t (*function)(limb_t *, const limb_t *, size_t, unsigned))
{
    struct scratch room = explore_all();
    struct vector a;
    limb_t *r, out;

    if (!take(call, &a, 1, &room) || call->choice == 0 || call->choice >= LIMB_BITS) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, a.n);
    TIMED((void)0, out = function(r, a.limbs, a.n, call->choice));
    explore_result_limbs(call, r, a.n);
    explore_result_limb(call, out);
    return EXPLORE_DONE;
}

EXPLORE(mpn_lshift)
{
    return shift(call, mpn_lshift);
}

EXPLORE(mpn_rshift)
{
    return shift(call, mpn_rshift);
}

EXPLORE(mpn_cmp)
{
    struct scratch room = explore_all();
    struct vector v[2];
    int order = 0;

    if (!take(call, v, 2, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, order = mpn_cmp(v[0].limbs, v[1].limbs, v[0].n));
    explore_result_limb(call, (limb_t)(order < 0 ? 0 : order == 0 ? 1 : 2));
    return EXPLORE_DONE;
}

EXPLORE(mpn_copy)
{
    struct scratch room = explore_all();
    struct vector a;
    limb_t *r;

    if (!take(call, &a, 1, &room)) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, a.n);
    TIMED((void)0, mpn_copy(r, a.limbs, a.n));
    explore_result_limbs(call, r, a.n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_zero)
{
    struct scratch room = explore_all();
    struct vector a;

    if (!take(call, &a, 1, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, mpn_zero(a.limbs, a.n));
    explore_result_limbs(call, a.limbs, a.n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_select)
{
    struct scratch room = explore_all();
    struct vector v[2];
    limb_t *r, mask;

    if (!take_and_limb(call, v, 2, &mask, &room)) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, v[0].n);
    TIMED((void)0, mpn_select(r, v[0].limbs, v[1].limbs, v[0].n, mask));
    explore_result_limbs(call, r, v[0].n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_swap)
{
    struct scratch room = explore_all();
    struct vector v[2];
    limb_t *a, *b, mask;

    if (!take_and_limb(call, v, 2, &mask, &room)) {
        return EXPLORE_UNFIT;
    }
    a = scratch_take(&room, v[0].n);
    b = scratch_take(&room, v[0].n);
    TIMED({
        mpn_copy(a, v[0].limbs, v[0].n);
        mpn_copy(b, v[1].limbs, v[0].n);
    }, mpn_swap(a, b, v[0].n, mask));
    explore_result_limbs(call, a, v[0].n);
    explore_result_limbs(call, b, v[0].n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_gather)
{
    struct scratch room = explore_all();
    struct vector table;
    limb_t index, *r;
    size_t n;

    if (!take_and_limb(call, &table, 1, &index, &room) || call->choice == 0 || call->choice % 2 != 0 ||
        table.n % call->choice != 0 || index >= call->choice) {
        return EXPLORE_UNFIT;
    }
    n = table.n / call->choice;
    r = scratch_take(&room, n);
    TIMED((void)0, mpn_gather(r, table.limbs, call->choice, n, index));
    explore_result_limbs(call, r, n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_is_zero)
{
    struct scratch room = explore_all();
    struct vector a;
    limb_t zero;

    if (!take(call, &a, 1, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, zero = mpn_is_zero(a.limbs, a.n));
    explore_result_limb(call, zero);
    return EXPLORE_DONE;
}

EXPLORE(mpn_bit_length)
{
    struct scratch room = explore_all();
    struct vector a;
    size_t bits;

    if (!take(call, &a, 1, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, bits = mpn_bit_length(a.limbs, a.n));
    explore_result_number(call, (uint32_t)bits, 4);
    return EXPLORE_DONE;
}

EXPLORE(mpn_from_bytes)
{
    struct scratch room = explore_all();
    limb_t *r;
    size_t n;

    if (call->operands != 1 || call->operand[0].count == 0) {
        return EXPLORE_UNFIT;
    }
    n = LIMBS(8 * call->operand[0].count);
    r = scratch_take(&room, n);
    TIMED((void)0, mpn_from_bytes(r, n, call->operand[0].bytes, call->operand[0].count));
    explore_result_limbs(call, r, n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_to_bytes)
{
    struct scratch room = explore_all();
    struct vector a;
    uint8_t *bytes;

    if (!take(call, &a, 1, &room)) {
        return EXPLORE_UNFIT;
    }
    bytes = explore_result(call, a.n * LIMB_BYTES);
    TIMED((void)0, mpn_to_bytes(bytes, a.n * LIMB_BYTES, a.limbs, a.n));
    return EXPLORE_DONE;
}

EXPLORE(mpn_mul)
{
    struct scratch room = explore_all(), scratch;
    const struct vector a = explore_vector(call, 0, &room), b = explore_vector(call, 1, &room);
    limb_t *r;

    if (call->operands != 2 || b.n == 0 || a.n < b.n || call->choice == 1) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, a.n + b.n);
    scratch = explore_scratch(&room, MPN_KARATSUBA_SCRATCH(a.n));
    TIMED((void)0, mpn_mul(r, a.limbs, a.n, b.limbs, b.n, call->choice, scratch));
    explore_result_limbs(call, r, a.n + b.n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_sqr)
{
    struct scratch room = explore_all(), scratch;
    struct vector a;
    limb_t *r;

    if (!take(call, &a, 1, &room) || call->choice == 1) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, 2 * a.n);
    scratch = explore_scratch(&room, MPN_KARATSUBA_SCRATCH(a.n));
    TIMED((void)0, mpn_sqr(r, a.limbs, a.n, call->choice, scratch));
    explore_result_limbs(call, r, 2 * a.n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_mul_low)
{
    struct scratch room = explore_all();
    const struct vector a = explore_vector(call, 0, &room), b = explore_vector(call, 1, &room);
    limb_t *r;

    if (call->operands != 2 || b.n == 0 || a.n < b.n) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, a.n);
    TIMED((void)0, mpn_mul_low(r, a.limbs, a.n, b.limbs, b.n));
    explore_result_limbs(call, r, a.n);
    return EXPLORE_DONE;
}

static uint8_t is_normalised(struct vector d)
{
    return d.n != 0 && d.limbs[d.n - 1] >> (LIMB_BITS - 1) == 1;
}

EXPLORE(mpn_reciprocal)
{
    struct scratch room = explore_all();
    struct vector d;
    limb_t reciprocal;

    if (!take(call, &d, 1, &room) || !is_normalised(d)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, reciprocal = mpn_reciprocal(d.limbs, d.n));
    explore_result_limb(call, reciprocal);
    return EXPLORE_DONE;
}

EXPLORE(mpn_divrem)
{
    struct scratch room = explore_all();
    const struct vector a = explore_vector(call, 0, &room), d = explore_vector(call, 1, &room);
    limb_t *q, *rest, reciprocal;

    if (call->operands != 2 || !is_normalised(d) || a.n <= d.n || mpn_cmp(a.limbs + a.n - d.n, d.limbs, d.n) >= 0) {
        return EXPLORE_UNFIT;
    }
    q = scratch_take(&room, a.n - d.n);
    rest = scratch_take(&room, a.n);
    reciprocal = mpn_reciprocal(d.limbs, d.n);
    TIMED(mpn_copy(rest, a.limbs, a.n), mpn_divrem(q, rest, a.n, d.limbs, d.n, reciprocal));
    explore_result_limbs(call, q, a.n - d.n);
    explore_result_limbs(call, rest, d.n);
    return EXPLORE_DONE;
}

EXPLORE(mpn_divrem_1)
{
    struct scratch room = explore_all();
    struct vector a;
    limb_t *q, d, rest, reciprocal;

    if (!take_and_limb(call, &a, 1, &d, &room) || !is_normalised((struct vector){&d, 1})) {
        return EXPLORE_UNFIT;
    }
    q = scratch_take(&room, a.n);
    reciprocal = mpn_reciprocal(&d, 1);
    TIMED((void)0, rest = mpn_divrem_1(q, a.limbs, a.n, d, reciprocal));
    explore_result_limbs(call, q, a.n);
    explore_result_limb(call, rest);
    return EXPLORE_DONE;
}

EXPLORE(mpn_mod_1)
{
    struct scratch room = explore_all();
    struct vector a;
    limb_t d, rest, reciprocal;

    if (!take_and_limb(call, &a, 1, &d, &room) || !is_normalised((struct vector){&d, 1})) {
        return EXPLORE_UNFIT;
    }
    reciprocal = mpn_reciprocal(&d, 1);
    TIMED((void)0, rest = mpn_mod_1(a.limbs, a.n, d, reciprocal));
    explore_result_limb(call, rest);
    return EXPLORE_DONE;
}

/* Two integers, whose signs are the bits of the choice, and a result of the longer's length plus both's and a limb. */
static uint8_t take_integers(struct explore_call *call, struct mpz *a, struct mpz *b, struct mpz *r,
                             struct scratch *room)
{
    const struct vector x = explore_vector(call, 0, room), y = explore_vector(call, 1, room);

    if (call->operands != 2 || x.n == 0 || y.n == 0 || call->choice > 3) {
        return 0;
    }
    mpz_init(a, x.n, room);
    mpz_set_mpn(a, x.limbs, x.n);
    a->negative = (call->choice & 1) && a->size != 0;
    mpz_init(b, y.n, room);
    mpz_set_mpn(b, y.limbs, y.n);
    b->negative = (call->choice & 2) && b->size != 0;
    mpz_init(r, x.n + y.n + 1, room);
    return 1;
}

/* An integer in so many limbs, and its sign. */
static void result_integer(struct explore_call *call, struct mpz *r, size_t n)
{
    limb_t *const result = explore_room; /* operands are not needed any more */
    const uint8_t negative = r->negative;

    r->negative = 0;
    for (size_t i = 0; i < n; i++) {
        result[i] = i < r->size ? r->limbs[i] : 0;
    }
    explore_result_limbs(call, result, n);
    explore_result_number(call, negative, 1);
}

static uint16_t sum(struct explore_call *call, void (*function)(struct mpz *, const struct mpz *, const struct mpz *))
{
    struct scratch room = explore_all();
    struct mpz a, b, r;

    if (!take_integers(call, &a, &b, &r, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, function(&r, &a, &b));
    result_integer(call, &r, (a.capacity > b.capacity ? a.capacity : b.capacity) + 1);
    return EXPLORE_DONE;
}

EXPLORE(mpz_add)
{
    return sum(call, mpz_add);
}

EXPLORE(mpz_sub)
{
    return sum(call, mpz_sub);
}

EXPLORE(mpz_mul)
{
    struct scratch room = explore_all(), scratch;
    struct mpz a, b, r;

    if (!take_integers(call, &a, &b, &r, &room)) {
        return EXPLORE_UNFIT;
    }
    scratch = explore_scratch(&room, 0);
    TIMED((void)0, mpz_mul(&r, &a, &b, 0, scratch));
    result_integer(call, &r, a.capacity + b.capacity);
    return EXPLORE_DONE;
}

EXPLORE(mpz_mod)
{
    struct scratch room = explore_all(), scratch;
    struct mpz a, m, r;

    if (!take_integers(call, &a, &m, &r, &room) || m.size == 0 || m.negative) {
        return EXPLORE_UNFIT;
    }
    scratch = explore_scratch(&room, MPZ_DIVMOD_SCRATCH(a.capacity, m.capacity));
    TIMED((void)0, mpz_mod(&r, &a, &m, scratch));
    result_integer(call, &r, m.capacity);
    return EXPLORE_DONE;
}

EXPLORE(mpz_gcdext)
{
    struct scratch room = explore_all(), scratch;
    struct mpz a, m, g, s;

    if (!take_integers(call, &a, &m, &g, &room) || m.size == 0 || call->choice != 0 || a.capacity > 2 * m.capacity) {
        return EXPLORE_UNFIT;
    }
    mpz_init(&s, m.capacity, &room);
    scratch = explore_scratch(&room, MPZ_GCDEXT_SCRATCH(m.capacity));
    TIMED((void)0, mpz_gcdext(&g, &s, &a, &m, scratch));
    result_integer(call, &g, m.capacity);
    result_integer(call, &s, m.capacity);
    return EXPLORE_DONE;
}
