; Refused: directive range.
f:
;@weave f_cpu 0
	ret
