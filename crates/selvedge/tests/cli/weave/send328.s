; Timed for another chip: void send328(uint8_t count): port B as it counts down to 1, every 40 cycles
    .global send328
    .type send328, @function
send328:
    ;@weave chip atmega328p
    ;@weave clock beat period=40
    ;@weave arguments 1
1:
    ;@weave event beat at=0
    out 0x18, r24
    dec r24
    brne 1b
    ;@weave over beat
    ret
    .size send328, .-send328
