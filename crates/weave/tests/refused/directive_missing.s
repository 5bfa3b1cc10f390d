; Refused: directive missing.
f:
;@weave clock tx jitter=0
	ret
