; Refused: two chips.
f: ;@weave chip atmega128
;@weave chip atmega2560
	ret
