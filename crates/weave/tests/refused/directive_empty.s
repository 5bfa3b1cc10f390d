; A directive that says nothing.
f:
;@weave
	ret
