; A word of a directive that is there twice.
f:
;@weave clock tx period=16 jitter=0 jitter=1
	ret
