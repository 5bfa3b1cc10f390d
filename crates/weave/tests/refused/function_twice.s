; Two texts have the function.
;;; one.s
        .global f
f:      ret
;;; two.s
        .global f
f:      ret
