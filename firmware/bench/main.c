/*
 * The one main() that puts a variant under a simulator, or under the host's sanitizers.
 *
 * BENCH_VARIANT names what is measured (for example ascon_aead128_avr) and BENCH_SHAPE how it is called (see
 * shapes.h; BENCH_AEAD unless told otherwise); there is one image per variant. On a chip, BENCH_MARK_ADDRESS is the data-space address of a register that the program under test does not use
 * (PORTB unless told otherwise) and that an observer of stores can watch. Does not time anything itself.
 */
#include "bench.h"
#include "../crypto/crypto.h"

#ifndef BENCH_SHAPE
#define BENCH_SHAPE BENCH_AEAD
#endif

#ifdef __AVR__
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#ifndef BENCH_MARK_ADDRESS
#define BENCH_MARK_ADDRESS _SFR_MEM_ADDR(PORTB)
#endif
#define MARK(value) (*(volatile uint8_t *)(BENCH_MARK_ADDRESS) = (value))
/* Not cleared by the start-up code, so that it survives from before reset. */
#define KEPT __attribute__((section(".noinit")))
#else
#include <stdio.h>
#define MARK(value) ((void)(value))
#define KEPT
#endif

/* See crypto/secret.h: what a SECRET_TAINT build must not branch on or look up by. */
#ifdef SECRET_TAINT
#include <valgrind/memcheck.h>
#define TAINT(object, bytes)   VALGRIND_MAKE_MEM_UNDEFINED(object, bytes)
#define PUBLISH(object, bytes) VALGRIND_MAKE_MEM_DEFINED(object, bytes)
#else
#define TAINT(object, bytes)   ((void)0)
#define PUBLISH(object, bytes) ((void)0)
#endif

KEPT uint8_t bench_input[BENCH_INPUT_BYTES];
KEPT uint8_t bench_output[BENCH_OUTPUT_BYTES];
static uint8_t message[BENCH_MESSAGE_BYTES_MAX + BENCH_SHIFT_MAX] __attribute__((aligned(8)));

static uint16_t input_u16(uint16_t offset)
{
    return (uint16_t)(bench_input[offset] | bench_input[offset + 1] << 8);
}

#include "shapes.h"

static void run(void)
{
    const uint16_t length = input_u16(BENCH_LENGTH);
    uint8_t *buffer = message + bench_input[BENCH_SHIFT];
    uint16_t i;

    if (length > BENCH_MESSAGE_BYTES_MAX || input_u16(BENCH_AD_LENGTH) > BENCH_AD_BYTES_MAX ||
        bench_input[BENCH_SHIFT] > BENCH_SHIFT_MAX) {
        bench_output[BENCH_STATUS] = NONSENSE;
        return;
    }
    for (i = 0; i < length; i++) {
        buffer[i] = bench_input[BENCH_MESSAGE + i];
    }
    TAINT(bench_input + BENCH_KEY, BENCH_AD - BENCH_KEY); /* key, nonce and tag */
    TAINT(buffer, length);
    bench_output[BENCH_STATUS] = perform(bench_input[BENCH_OPERATION], buffer, length);
    for (i = 0; i < length; i++) {
        bench_output[BENCH_RESULT + i] = buffer[i];
    }
    PUBLISH(bench_output, sizeof bench_output);
}

#ifdef __AVR__
int main(void)
{
    run();
    /* Sleep without interrupts is the end: nothing can wake the chip. */
    cli();
    sleep_enable();
    for (;;) {
        sleep_cpu();
    }
}
#else
/* One call after the other, until the input ends. */
int main(void)
{
    while (fread(bench_input, sizeof bench_input, 1, stdin) == 1) {
        run();
        if (fwrite(bench_output, sizeof bench_output, 1, stdout) != 1) {
            return 1;
        }
    }
    return fflush(stdout) == 0 && !ferror(stdin) ? 0 : 1;
}
#endif
