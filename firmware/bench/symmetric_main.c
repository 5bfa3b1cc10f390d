/*
 * The operations of symmetric.def alone as a program, for tests: one request after the other from standard input, until
 * it ends, and the responses to standard output. Their bytes are explore.h's, each after its length as 4 bytes, least
 * significant first; operations are numbered by symmetric.def. Counts nothing.
 */
#include "symmetric.h"

#include <stdio.h>
#include <string.h>

/* See crypto/secret.h: what a SECRET_TAINT build must not branch on or look up by. */
#ifdef SECRET_TAINT
#include <valgrind/memcheck.h>
#define TAINT(object, bytes)   VALGRIND_MAKE_MEM_UNDEFINED(object, bytes)
#define PUBLISH(object, bytes) VALGRIND_MAKE_MEM_DEFINED(object, bytes)
#else
#define TAINT(object, bytes)   ((void)0)
#define PUBLISH(object, bytes) ((void)0)
#endif

#define HEAD_BYTES          16
#define RESPONSE_HEAD_BYTES 16 /* with the length of its operand, and 4 more so that it lies at a multiple of eight */

static uint8_t request[EXPLORE_REQUEST_BYTES_MAX] __attribute__((aligned(8)));
static uint8_t response[EXPLORE_RESPONSE_BYTES_MAX] __attribute__((aligned(8)));

static uint32_t integer(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put_integer(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
}

void explore_begin(void)
{
}

void explore_end(void)
{
}

/* The operands of a request, whose bytes are secrets. */
static enum explore_status parse(struct symmetric_call *call, size_t bytes)
{
    size_t at = HEAD_BYTES;

    if (bytes < HEAD_BYTES) {
        return EXPLORE_MALFORMED;
    }
    call->operation = (size_t)(integer(request) & 0xffff);
    call->choice = request[10];
    call->repeats = request[11];
    call->operands = (size_t)(integer(request + 12) & 0xffff);
    if (call->repeats == 0 || call->operands > EXPLORE_OPERANDS_MAX) {
        return EXPLORE_MALFORMED;
    }
    for (size_t i = 0; i < call->operands; i++) {
        if (bytes - at < 4 || integer(request + at) > bytes - at - 4) {
            return EXPLORE_MALFORMED;
        }
        call->operand_bytes[i] = integer(request + at);
        call->operand[i] = request + at + 4;
        at += 4 + (call->operand_bytes[i] + 3) / 4 * 4;
        if (at > bytes) {
            return EXPLORE_MALFORMED;
        }
        TAINT(call->operand[i], call->operand_bytes[i]);
    }
    return EXPLORE_DONE;
}

int main(void)
{
    uint8_t length[4];

    while (fread(length, sizeof length, 1, stdin) == 1) {
        const size_t bytes = integer(length);
        struct symmetric_call call = {.result = response + RESPONSE_HEAD_BYTES,
                                      .result_bytes = sizeof response - RESPONSE_HEAD_BYTES};
        enum explore_status status;

        if (bytes > sizeof request || fread(request, 1, bytes, stdin) != bytes) {
            return 1;
        }
        status = parse(&call, bytes);
        if (status == EXPLORE_DONE) {
            status = symmetric_run(&call);
        }
        if (status != EXPLORE_DONE) {
            call.result_bytes = 0;
        }
        PUBLISH(response, sizeof response);
        put_integer(response, (uint32_t)(12 + call.result_bytes));
        put_integer(response + 4, (uint32_t)status | 1u << 16);
        put_integer(response + 8, 0);
        put_integer(response + 12, (uint32_t)call.result_bytes);
        if (fwrite(response, 1, 16 + call.result_bytes, stdout) != 16 + call.result_bytes) {
            return 1;
        }
    }
    return fflush(stdout) == 0 && !ferror(stdin) ? 0 : 1;
}
