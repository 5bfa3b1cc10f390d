; A name that cannot be one.
f:
;@weave clock a+b period=16
	ret
