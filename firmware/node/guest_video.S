// void video_row(const uint8_t *row, uint8_t count): shows a row of `count` bytes as a picture line of one bit a
// pixel, least significant bit first: a pixel every PIXEL cycles exactly. A guest for `selvedge weave`.
//
// Bit 0 of VIDEO_PORT is the picture; the other bits of the port show what is behind it in the byte and then zeros, so
// they MUST be inputs without anything that minds a pull-up. Nobody else may write the port meanwhile. A round of the
// clock is a byte. The last pixel stays until the caller ends it. `count` 0 shows nothing.
#include <avr/io.h>

#ifndef VIDEO_PORT
#define VIDEO_PORT PORTB
#endif

        .section .text.video_row,"ax",@progbits
        .global video_row
        .type video_row, @function
video_row:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock video period=8*(PIXEL)
        ;@weave arguments 2 1
        tst     r22
        breq    3f
        movw    r30, r24
        ld      r18, Z+
1:
        ldi     r19, 8
2:
        ;@weave event pixel at=0 every=PIXEL times=8
        out     _SFR_IO_ADDR(VIDEO_PORT), r18
        lsr     r18
        dec     r19
        brne    2b
        dec     r22
        breq    3f
        ld      r18, Z+
        rjmp    1b
3:
        ;@weave over video
        ret
        .size video_row, .-video_row
