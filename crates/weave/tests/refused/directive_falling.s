; Numbers that should rise.
f:
;@weave clock tx period=20|16
	ret
