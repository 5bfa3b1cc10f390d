; Refused: stray directive.
f:	ret
.data
;@weave trip 3
