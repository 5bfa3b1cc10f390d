; Eight bytes on the SPI of an ATmega128, one every 18 cycles.
send:
;@weave clock tx period=P
    in r19, 0x3f
    cli
    ldi r24, 8
    ld r18, X+
again:
;@weave event tx at=0
    out 0x0f, r18
    ld r18, X+
    ldi r25, 4
wait:
    dec r25
    brne wait
    dec r24
    brne again
;@weave over tx
    out 0x3f, r19
    ret
