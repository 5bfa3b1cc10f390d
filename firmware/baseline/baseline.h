/*
 * What an SPI exchange beside a cipher costs, by each scheme that weaving is compared with: the contracts of this
 * folder. The schemes are busy_wait.c (nothing else runs), interrupt.c (the handler as avr-gcc compiles it) and
 * reserved.S (the best handler by hand, with registers that the cipher is compiled or written without); main.c calls
 * one of them, or a woven function, beside one cipher.
 *
 * The chip is SPI master and sends the first byte at once. `count` is 2 to 256. A byte is received by sending 0xFF.
 *
 * reserved.S finds the end by one bit of its pointer, which needs no flag: a buffer MUST end at a multiple of
 * BASELINE_TURN, or one byte before it when it is sent and the byte to send next waits in a register, or one byte behind
 * it when it is received.
 */
#ifndef SELVEDGE_BASELINE_H
#define SELVEDGE_BASELINE_H

#include <stdint.h>

/* For -DBASELINE_SCHEME=. */
#define BASELINE_NOTHING   0 /* neither cipher nor SPI: what is left is no scheme's */
#define BASELINE_CIPHER    1 /* the cipher alone */
#define BASELINE_BUSY_WAIT 2
#define BASELINE_INTERRUPT 3 /* interrupt.c, reserved.S */
#define BASELINE_WOVEN     4 /* BASELINE_FUNCTION takes what the guest takes, too */

/* For -DBASELINE_SHAPE=: what BASELINE_FUNCTION takes, see crypto.h. */
#define BASELINE_RC4        1
#define BASELINE_RC5        2
#define BASELINE_AES128_CTR 3
#define BASELINE_CHACHA20   4
#define BASELINE_ASCON      5
#define BASELINE_RC4_AVR32  6

/* Return when the last byte is in. */
void busy_wait_send(const uint8_t *buffer, uint16_t count);
void busy_wait_receive(uint8_t *buffer, uint16_t count);

#define BASELINE_TURN 512

/* Return at once and leave the rest to SPI_STC_vect, which clears SPIE when it has started the last byte. When that is
   done SPIF is set, and a received byte is the caller's to take. Interrupts must be on. An image has one direction:
   BASELINE_RECEIVE chooses it. */
void interrupt_send(const uint8_t *buffer, uint16_t count);
void interrupt_receive(uint8_t *buffer, uint16_t count);

#endif
