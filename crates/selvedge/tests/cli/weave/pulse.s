; void pulse(uint8_t count): port B as it counts down to 1, every PERIOD cycles
    .global pulse
    .type pulse, @function
pulse:
    ;@weave clock beat period=PERIOD
    ;@weave arguments 1
1:
    ;@weave event beat at=0
    out 0x18, r24
    dec r24
    brne 1b
    ;@weave over beat
    ret
    .size pulse, .-pulse
