/*
 * What the bench and whoever drives it agree on: one call of one operation, as bytes at fixed offsets.
 *
 * A simulator's host writes `bench_input` before reset ends and reads `bench_output` when the chip sleeps; on
 * the host machine the same bytes come through standard input and output. Integers are little-endian.
 */
#ifndef SELVEDGE_BENCH_H
#define SELVEDGE_BENCH_H

#include <stdint.h>

/* The shape of what is called, for -DBENCH_SHAPE=; shapes.h has the calls. */
#define BENCH_AEAD       1
#define BENCH_RC4        2
#define BENCH_RC4_AVR32  3
#define BENCH_RC5        4
#define BENCH_AES128_CTR 5
#define BENCH_CHACHA20   6
#define BENCH_CRC16      7

#define BENCH_SEAL    1 /* of BENCH_AEAD */
#define BENCH_OPEN    2 /* of BENCH_AEAD */
#define BENCH_ENCRYPT 3 /* of the others; for BENCH_CRC16, computes */
#define BENCH_DECRYPT 4 /* of the others */

#define BENCH_MESSAGE_BYTES_MAX 256
#define BENCH_AD_BYTES_MAX      64
#define BENCH_SHIFT_MAX         7

/* bench_input */
#define BENCH_OPERATION 0   /* 1: one of the above */
#define BENCH_SHIFT     1   /* 1: how far the buffer lies behind an 8-byte boundary, 0 to 7 */
#define BENCH_LENGTH    2   /* 2: bytes of the message */
#define BENCH_AD_LENGTH 4   /* 2: bytes of associated data */
#define BENCH_KEY_BYTES 6   /* 1: bytes of the key, for those who let it vary */
#define BENCH_KEY       7   /* 32; a shorter key is at its beginning */
#define BENCH_NONCE     39  /* 16; a shorter nonce is at its beginning. For BENCH_AES128_CTR the counter block, for
                               BENCH_CHACHA20 counter and nonce, for BENCH_CRC16 the sum so far */
#define BENCH_TAG       55  /* 16, of an open; a shorter tag is at its beginning */
#define BENCH_AD        71  /* 64 */
#define BENCH_MESSAGE   135 /* 256 */
#define BENCH_INPUT_BYTES 391

/* bench_output */
#define BENCH_STATUS  0 /* 1: what the open returned; 1 after all else; 0xFF when the input made no sense */
#define BENCH_TAG_OUT 1 /* 16: the tag of a seal; for BENCH_AES128_CTR and BENCH_CRC16 what the nonce has become */
#define BENCH_RESULT  17 /* 256: the buffer afterwards */
#define BENCH_OUTPUT_BYTES 273

/* What is written to the mark register. The cycles between the two writes are the call with its arguments; when
   there are several pairs, their sum is. */
#define BENCH_MARK_START 0xA5
#define BENCH_MARK_END   0x5A

#endif
