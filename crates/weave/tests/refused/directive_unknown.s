; Refused: directive unknown.
f:
;@weave evnt tx at=0
	ret
