; Refused: no local label.
f:	rjmp 1f
1:	brne 2b
 rjmp 3f
