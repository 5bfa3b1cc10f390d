; Refused: no chip.
f:	ret
