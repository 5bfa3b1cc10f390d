; Refused: unknown register.
f:	mov r2, __tmp_reg__
 ret
