/*
 * What the operations of firmware/bench/public_key.def should give, by GMP: a witness of tests, which nothing ships. It
 * reads the requests that firmware/bench/explore_main.c reads and writes the responses that should come. Of operations
 * that it does not know it says EXPLORE_UNKNOWN. Two that only tests have are behind the list: GENERATE and CHECK.
 */
#include <gmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"

enum operation {
#define LIMB_OPERATION(name) OP_##name,
#define OPERATION(name)      OP_##name,
#include "public_key.def"
    OP_GENERATE, /* 4 octets bits, seed -> n, d, p, q, d_p, d_q for e = 65537, most significant byte first */
    OP_CHECK,    /* n, d, p, q, d_p, d_q -> octet: 1 when they are a key for e = 65537 */
    OPERATIONS
};

#define NUMBERS 8

static uint8_t request[EXPLORE_REQUEST_BYTES_MAX], response[4 + EXPLORE_RESPONSE_BYTES_MAX];
static const uint8_t *operand[EXPLORE_OPERANDS_MAX];
static size_t bytes[EXPLORE_OPERANDS_MAX], operands, response_bytes;
static unsigned limb_bits, choice, results;
/* Operands as limbs lie, and as octets are written; three numbers to compute with. */
static mpz_t x[NUMBERS], o[NUMBERS], r, s, t;

static size_t load(const uint8_t *from, size_t octets)
{
    size_t number = 0;
    while (octets-- != 0) {
        number = number << 8 | from[octets];
    }
    return number;
}

static uint8_t *result(size_t count)
{
    uint8_t *at = response + 4 + response_bytes;
    memset(at, 0, 4 + ((count + 3) & ~(size_t)3));
    for (size_t i = 0; i < 4; i++) {
        at[i] = (uint8_t)(count >> (8 * i));
    }
    response_bytes += 4 + ((count + 3) & ~(size_t)3);
    results++;
    return at + 4;
}

/* A number, reduced modulo 2^(8 * count), least or most significant byte first. */
static void give(const mpz_t number, size_t count, int order)
{
    mpz_t rest;
    uint8_t *at = result(count);
    size_t used;
    mpz_init(rest);
    mpz_fdiv_r_2exp(rest, number, 8 * count);
    used = (mpz_sizeinbase(rest, 2) + 7) / 8;
    if (mpz_sgn(rest) != 0) {
        mpz_export(order < 0 ? at : at + count - used, NULL, order, 1, 0, 0, rest);
    }
    mpz_clear(rest);
}

static void give_limbs(const mpz_t number, size_t count)
{
    give(number, count, -1);
}

static void give_octets(const mpz_t number, size_t count)
{
    give(number, count, 1);
}

static void give_number(unsigned long number, size_t count)
{
    mpz_set_ui(s, number);
    give_limbs(s, count);
}

#define LIMB (limb_bits / 8)

/* r's low part, of operand 0's length, and what is above it in a limb. */
static void give_split(void)
{
    give_limbs(r, bytes[0]);
    mpz_fdiv_q_2exp(r, r, 8 * bytes[0]);
    give_limbs(r, LIMB);
}

static void add_n(void)
{
    mpz_add(r, x[0], x[1]);
    give_split();
}

/* A borrow is what is missing above. */
static void give_difference(void)
{
    give_limbs(r, bytes[0]);
    mpz_fdiv_q_2exp(r, r, 8 * bytes[0]);
    mpz_neg(r, r);
    give_limbs(r, LIMB);
}

static void sub_n(void)
{
    mpz_sub(r, x[0], x[1]);
    give_difference();
}

static void mul_1(void)
{
    mpz_mul(r, x[0], x[1]);
    give_split();
}

static void addmul_1(void)
{
    mpz_mul(r, x[1], x[2]);
    mpz_add(r, r, x[0]);
    give_split();
}

static void submul_1(void)
{
    mpz_mul(r, x[1], x[2]);
    mpz_sub(r, x[0], r);
    give_difference();
}

static void addmul_1_shifted(void)
{
    mpz_mul(r, x[1], x[2]);
    mpz_add(r, r, x[0]);
    mpz_fdiv_q_2exp(r, r, limb_bits);
    mpz_fdiv_r_2exp(s, r, 8 * bytes[0] - limb_bits);
    mpz_fdiv_q_2exp(t, x[0], 8 * bytes[0] - limb_bits);
    mpz_mul_2exp(t, t, 8 * bytes[0] - limb_bits);
    mpz_add(s, s, t);
    give_limbs(s, bytes[0]);
    mpz_fdiv_q_2exp(r, r, 8 * bytes[0] - limb_bits);
    give_limbs(r, LIMB);
}

static void addmul_redc(void)
{
    mpz_mul(r, x[1], x[3]);
    mpz_add(r, r, x[0]);
    mpz_set_ui(t, 1);
    mpz_mul_2exp(t, t, limb_bits);
    mpz_invert(s, x[2], t);
    mpz_mul(s, s, r);
    mpz_neg(s, s);
    mpz_fdiv_r(s, s, t);
    mpz_addmul(r, s, x[2]);
    mpz_fdiv_q_2exp(r, r, limb_bits);
    give_limbs(r, bytes[0]);
}

/* A number's limb. */
static void limb_of(mpz_t limb, const mpz_t number, size_t place)
{
    mpz_fdiv_q_2exp(limb, number, place * limb_bits);
    mpz_fdiv_r_2exp(limb, limb, limb_bits);
}

static void dot(void)
{
    const size_t n = bytes[1] / LIMB;
    mpz_set(r, x[0]);
    for (size_t i = 0; i < n; i++) {
        limb_of(s, x[1], i);
        limb_of(t, x[2], n - 1 - i);
        mpz_addmul(r, s, t);
    }
    give_limbs(r, bytes[0]);
}

static void sqr_diagonal(void)
{
    mpz_mul_2exp(r, x[0], 1);
    for (size_t i = 0; i < bytes[1] / LIMB; i++) {
        limb_of(s, x[1], i);
        mpz_mul(s, s, s);
        mpz_mul_2exp(s, s, 2 * i * limb_bits);
        mpz_add(r, r, s);
    }
    give_limbs(r, bytes[0]);
}

static void lshift(void)
{
    mpz_mul_2exp(r, x[0], choice);
    give_split();
}

static void rshift(void)
{
    mpz_fdiv_q_2exp(r, x[0], choice);
    give_limbs(r, bytes[0]);
    mpz_mul_2exp(r, x[0], limb_bits - choice);
    give_limbs(r, LIMB);
}

static void cmp(void)
{
    const int order = mpz_cmp(x[0], x[1]);
    give_number(order < 0 ? 0 : order == 0 ? 1 : 2, LIMB);
}

static void copy(void)
{
    give_limbs(x[0], bytes[0]);
}

static void zero(void)
{
    give_number(0, bytes[0]);
}

static void select_(void)
{
    give_limbs(mpz_sgn(x[2]) ? x[0] : x[1], bytes[0]);
}

static void swap(void)
{
    give_limbs(mpz_sgn(x[2]) ? x[1] : x[0], bytes[0]);
    give_limbs(mpz_sgn(x[2]) ? x[0] : x[1], bytes[0]);
}

static void gather(void)
{
    const size_t count = bytes[0] / choice;
    mpz_fdiv_q_2exp(r, x[0], 8 * count * mpz_get_ui(x[1]));
    give_limbs(r, count);
}

static void is_zero(void)
{
    give_number(mpz_sgn(x[0]) == 0, LIMB);
}

static void negate(void)
{
    mpz_neg(r, x[0]);
    give_limbs(mpz_sgn(x[1]) ? r : x[0], bytes[0]);
    give_number(mpz_sgn(x[1]) && mpz_sgn(x[0]) == 0, LIMB);
}

static void bit_length(void)
{
    give_number(mpz_sgn(x[0]) ? mpz_sizeinbase(x[0], 2) : 0, 4);
}

static void from_bytes(void)
{
    give_limbs(o[0], (bytes[0] + LIMB - 1) / LIMB * LIMB);
}

static void to_bytes(void)
{
    give_octets(x[0], bytes[0]);
}

static void mul(void)
{
    mpz_mul(r, x[0], x[1]);
    give_limbs(r, bytes[0] + bytes[1]);
}

static void sqr(void)
{
    mpz_mul(r, x[0], x[0]);
    give_limbs(r, 2 * bytes[0]);
}

static void mul_low(void)
{
    mpz_mul(r, x[0], x[1]);
    give_limbs(r, bytes[0]);
}

static void reciprocal(void)
{
    const size_t limbs = bytes[0] / LIMB, used = limbs < 2 ? 1 : 2;
    mpz_fdiv_q_2exp(s, x[0], (limbs - used) * limb_bits);
    mpz_set_ui(r, 1);
    mpz_mul_2exp(r, r, (used + 1) * limb_bits);
    mpz_sub_ui(r, r, 1);
    mpz_fdiv_q(r, r, s);
    give_limbs(r, LIMB);
}

static void divrem(void)
{
    mpz_fdiv_qr(r, s, x[0], x[1]);
    give_limbs(r, bytes[0] - bytes[1]);
    give_limbs(s, bytes[1]);
}

static void divrem_1(void)
{
    mpz_fdiv_qr(r, s, x[0], x[1]);
    give_limbs(r, bytes[0]);
    give_limbs(s, LIMB);
}

static void mod_1(void)
{
    mpz_fdiv_r(r, x[0], x[1]);
    give_limbs(r, LIMB);
}

/* The signs that the choice says. */
static void sign(void)
{
    if (choice & 1) {
        mpz_neg(x[0], x[0]);
    }
    if (choice & 2) {
        mpz_neg(x[1], x[1]);
    }
}

static void give_integer(size_t count)
{
    const int negative = mpz_sgn(r) < 0;
    mpz_abs(r, r);
    give_limbs(r, count);
    give_number(negative, 1);
}

static size_t longer(void)
{
    return (bytes[0] > bytes[1] ? bytes[0] : bytes[1]) + LIMB;
}

static void mpz_add_(void)
{
    sign();
    mpz_add(r, x[0], x[1]);
    give_integer(longer());
}

static void mpz_sub_(void)
{
    sign();
    mpz_sub(r, x[0], x[1]);
    give_integer(longer());
}

static void mpz_mul_(void)
{
    sign();
    mpz_mul(r, x[0], x[1]);
    give_integer(bytes[0] + bytes[1]);
}

static void mpz_mod_(void)
{
    sign();
    mpz_fdiv_r(r, x[0], x[1]);
    give_integer(bytes[1]);
}

/* Of all factors, Euclid's algorithm finds the one nearest to 0; ours has the modulus added where that is below. */
static void gcdext(void)
{
    mpz_fdiv_r(t, x[0], x[1]);
    mpz_gcdext(r, s, NULL, t, x[1]);
    mpz_set(t, s);
    give_integer(bytes[1]);
    mpz_set(r, t);
    if (mpz_sgn(r) < 0) {
        mpz_add(r, r, x[1]);
    }
    give_integer(bytes[1]);
}

/* 1 as a residue: R modulo the modulus for Montgomery's, whose numbers begin at 3. */
static void modmul_setup(void)
{
    mpz_set_ui(r, 1);
    if (request[3] >= 3) {
        mpz_mul_2exp(r, r, 8 * bytes[0]);
    }
    mpz_fdiv_r(r, r, x[0]);
    give_limbs(r, bytes[0]);
}

static void modmul_multiply(void)
{
    mpz_mul(r, x[1], operands == 3 ? x[2] : x[1]);
    mpz_fdiv_r(r, r, x[0]);
    give_limbs(r, bytes[0]);
}

static void modexp(void)
{
    mpz_powm(r, x[1], x[2], x[0]);
    give_limbs(r, bytes[0]);
}

static void crt_setup(void)
{
    give_number(1, 1);
}

/* x_q + q * ((x_p - x_q) / q mod p) */
static void crt_combine(void)
{
    mpz_sub(r, x[2], x[3]);
    mpz_invert(s, x[1], x[0]);
    mpz_mul(r, r, s);
    mpz_fdiv_r(r, r, x[0]);
    mpz_mul(r, r, x[1]);
    mpz_add(r, r, x[3]);
    give_limbs(r, 2 * bytes[0]);
}

static void prime_is_probable(void)
{
    give_number(mpz_probab_prime_p(x[0], 40) != 0, 1);
}

static void p256_field_multiply(void)
{
    mpz_ui_pow_ui(t, 2, 256);
    mpz_set_str(s, "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff", 16);
    mpz_invert(t, t, s);
    mpz_mul(r, x[0], operands == 2 ? x[1] : x[0]);
    mpz_mul(r, r, t);
    mpz_fdiv_r(r, r, s);
    give_limbs(r, 32);
}

/* As the header says: what is above 256 bits comes back times 38, and again. */
static void x25519_field_multiply(void)
{
    mpz_mul(r, x[0], operands == 2 ? x[1] : x[0]);
    while (mpz_sizeinbase(r, 2) > 256) {
        mpz_fdiv_q_2exp(s, r, 256);
        mpz_fdiv_r_2exp(r, r, 256);
        mpz_addmul_ui(r, s, 38);
    }
    give_limbs(r, 32);
}

static void rsa_public(void)
{
    mpz_powm(r, o[2], x[1], o[0]);
    give_octets(r, bytes[0]);
}

static void rsa_private(void)
{
    mpz_powm(r, o[6], o[1], o[0]);
    give_octets(r, bytes[0]);
}

/* c2 * c1^(p - 1 - x) */
static void elgamal_decrypt(void)
{
    mpz_sub(r, o[0], o[2]);
    mpz_sub_ui(r, r, 1);
    mpz_powm(r, o[3], r, o[0]);
    mpz_mul(r, r, o[4]);
    mpz_fdiv_r(r, r, o[0]);
    give_octets(r, bytes[0]);
}

/* r = e^-1 modulo number - 1, or modulo both numbers less 1. */
static void exponent(const mpz_t p, const mpz_t q)
{
    mpz_sub_ui(s, p, 1);
    if (q != NULL) {
        mpz_sub_ui(t, q, 1);
        mpz_mul(s, s, t);
    }
    mpz_set_ui(t, 65537);
    mpz_invert(r, t, s);
}

static void generate(void)
{
    const size_t bits = mpz_get_ui(x[0]);
    gmp_randstate_t state;
    gmp_randinit_mt(state);
    gmp_randseed(state, x[1]);
    for (size_t i = 2; i < 4; i++) {
        do {
            mpz_urandomb(x[i], state, bits / 2);
            mpz_setbit(x[i], bits / 2 - 1);
            mpz_setbit(x[i], bits / 2 - 2);
            mpz_nextprime(x[i], x[i]);
            mpz_sub_ui(r, x[i], 1);
        } while (mpz_divisible_ui_p(r, 65537) || mpz_sizeinbase(x[i], 2) != bits / 2);
    }
    gmp_randclear(state);
    mpz_mul(r, x[2], x[3]);
    give_octets(r, bits / 8);
    exponent(x[2], x[3]);
    give_octets(r, bits / 8);
    give_octets(x[2], bits / 16);
    give_octets(x[3], bits / 16);
    exponent(x[2], NULL);
    give_octets(r, bits / 16);
    exponent(x[3], NULL);
    give_octets(r, bits / 16);
}

static void check(void)
{
    int good = mpz_probab_prime_p(o[2], 40) && mpz_probab_prime_p(o[3], 40) && mpz_cmp(o[2], o[3]) != 0;
    mpz_mul(r, o[2], o[3]);
    good = good && mpz_cmp(r, o[0]) == 0 && mpz_sizeinbase(r, 2) == 8 * bytes[0];
    exponent(o[2], o[3]);
    good = good && mpz_cmp(r, o[1]) == 0;
    exponent(o[2], NULL);
    good = good && mpz_cmp(r, o[4]) == 0;
    exponent(o[3], NULL);
    good = good && mpz_cmp(r, o[5]) == 0;
    give_number(good, 1);
}

static void (*const functions[OPERATIONS])(void) = {
    [OP_mpn_add_n] = add_n,
    [OP_mpn_sub_n] = sub_n,
    [OP_mpn_mul_1] = mul_1,
    [OP_mpn_addmul_1] = addmul_1,
    [OP_mpn_submul_1] = submul_1,
    [OP_mpn_addmul_1_shifted] = addmul_1_shifted,
    [OP_mpn_addmul_redc] = addmul_redc,
    [OP_mpn_dot] = dot,
    [OP_mpn_sqr_diagonal] = sqr_diagonal,
    [OP_mpn_lshift] = lshift,
    [OP_mpn_rshift] = rshift,
    [OP_mpn_add_1] = add_n,
    [OP_mpn_sub_1] = sub_n,
    [OP_mpn_cmp] = cmp,
    [OP_mpn_copy] = copy,
    [OP_mpn_zero] = zero,
    [OP_mpn_select] = select_,
    [OP_mpn_swap] = swap,
    [OP_mpn_gather] = gather,
    [OP_mpn_is_zero] = is_zero,
    [OP_mpn_negate] = negate,
    [OP_mpn_bit_length] = bit_length,
    [OP_mpn_from_bytes] = from_bytes,
    [OP_mpn_to_bytes] = to_bytes,
    [OP_mpn_mul] = mul,
    [OP_mpn_sqr] = sqr,
    [OP_mpn_mul_low] = mul_low,
    [OP_mpn_reciprocal] = reciprocal,
    [OP_mpn_divrem] = divrem,
    [OP_mpn_divrem_1] = divrem_1,
    [OP_mpn_mod_1] = mod_1,
    [OP_mpz_add] = mpz_add_,
    [OP_mpz_sub] = mpz_sub_,
    [OP_mpz_mul] = mpz_mul_,
    [OP_mpz_mod] = mpz_mod_,
    [OP_mpz_gcdext] = gcdext,
    [OP_modmul_setup] = modmul_setup,
    [OP_modmul_multiply] = modmul_multiply,
    [OP_modmul_square] = modmul_multiply,
    [OP_modexp] = modexp,
    [OP_crt_setup] = crt_setup,
    [OP_crt_combine] = crt_combine,
    [OP_prime_is_probable] = prime_is_probable,
    [OP_p256_field_multiply] = p256_field_multiply,
    [OP_p256_field_square] = p256_field_multiply,
    [OP_x25519_field_multiply] = x25519_field_multiply,
    [OP_x25519_field_square] = x25519_field_multiply,
    [OP_rsa_public] = rsa_public,
    [OP_rsa_private] = rsa_private,
    [OP_elgamal_decrypt] = elgamal_decrypt,
    [OP_GENERATE] = generate,
    [OP_CHECK] = check,
};

static void parse(void)
{
    size_t at = 16;
    limb_bits = request[2];
    choice = request[10];
    operands = load(request + 12, 2);
    for (size_t i = 0; i < operands; i++) {
        bytes[i] = load(request + at, 4);
        operand[i] = request + at + 4;
        at += 4 + ((bytes[i] + 3) & ~(size_t)3);
        mpz_import(x[i], bytes[i], -1, 1, 0, 0, operand[i]);
        mpz_import(o[i], bytes[i], 1, 1, 0, 0, operand[i]);
    }
}

int main(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        mpz_inits(x[i], o[i], NULL);
    }
    mpz_inits(r, s, t, NULL);
    while (fread(request, 4, 1, stdin) == 1) {
        const size_t count = load(request, 4);
        size_t operation;
        if (count > sizeof(request) || fread(request, count, 1, stdin) != 1) {
            return 2;
        }
        operation = load(request, 2);
        results = 0;
        response_bytes = 4;
        response[4] = EXPLORE_UNKNOWN;
        response[5] = 0;
        if (operation < OPERATIONS && functions[operation] != NULL) {
            parse();
            functions[operation]();
            response[4] = EXPLORE_DONE;
        }
        response[6] = (uint8_t)results;
        response[7] = 0;
        for (size_t i = 0; i < 4; i++) {
            response[i] = (uint8_t)(response_bytes >> (8 * i));
        }
        fwrite(response, 4 + response_bytes, 1, stdout);
    }
    return 0;
}
