; Refused: gcc isr.
f:
	__gcc_isr 1
 reti
