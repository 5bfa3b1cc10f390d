; An address by a name that another text has for something of its own.
;;; one.s
        .global g
g:      ldi r30, lo8(.LC0)
        ret
        .data
.LC0:   .byte 1
;;; two.s
        .global f
f:      ldi r30, lo8(.LC0)
        rcall g
        ret
        .data
.LC0:   .byte 1
