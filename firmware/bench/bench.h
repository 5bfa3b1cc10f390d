/*
 * What the bench and whoever drives it agree on: one call of one operation, as bytes at fixed offsets.
 *
 * A simulator's host writes `bench_input` before reset ends and reads `bench_output` when the chip sleeps; on
 * the host machine the same bytes come through standard input and output. Integers are little-endian.
 */
#ifndef SELVEDGE_BENCH_H
#define SELVEDGE_BENCH_H

#include <stdint.h>

#define BENCH_SEAL 1
#define BENCH_OPEN 2

#define BENCH_MESSAGE_BYTES_MAX 256
#define BENCH_AD_BYTES_MAX      64
#define BENCH_SHIFT_MAX         7

/* bench_input */
#define BENCH_OPERATION 0   /* 1: BENCH_SEAL or BENCH_OPEN */
#define BENCH_SHIFT     1   /* 1: how far the buffer lies behind an 8-byte boundary, 0 to 7 */
#define BENCH_LENGTH    2   /* 2: bytes of the message */
#define BENCH_AD_LENGTH 4   /* 2: bytes of associated data */
#define BENCH_KEY       6   /* 16 */
#define BENCH_NONCE     22  /* 16; a shorter nonce is at its beginning */
#define BENCH_TAG       38  /* 16, of an open; a shorter tag is at its beginning */
#define BENCH_AD        54  /* 64 */
#define BENCH_MESSAGE   118 /* 256 */
#define BENCH_INPUT_BYTES 374

/* bench_output */
#define BENCH_STATUS  0 /* 1: what the open returned; 1 after a seal; 0xFF when the input made no sense */
#define BENCH_TAG_OUT 1 /* 16, of a seal */
#define BENCH_RESULT  17 /* 256: the buffer afterwards */
#define BENCH_OUTPUT_BYTES 273

/* What is written to the mark register. The cycles between the two writes are the call with its arguments. */
#define BENCH_MARK_START 0xA5
#define BENCH_MARK_END   0x5A

#endif
