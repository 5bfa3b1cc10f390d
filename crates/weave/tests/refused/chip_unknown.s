; Refused: chip unknown.
f: ;@weave chip atmega103
	ret
