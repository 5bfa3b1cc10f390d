; uint16_t sum(const uint8_t *data, uint8_t count)
    .global sum
    .type sum, @function
sum:
    movw r30, r24
    clr r24
    clr r25
    tst r22
    breq done
again:
    ld r18, Z+
    add r24, r18
    adc r25, r1
    dec r22
    brne again
done:
    ret
    .size sum, .-sum

; Calls what is nowhere.
    .global sums
    .type sums, @function
sums:
    rcall elsewhere
    ret
    .size sums, .-sums
