; Refused: unusual table.
f:	jmp __tablejump2__
