; Refused: record.
f:
 .pushsection .weave,"",@progbits
 .asciz "trip 3"
 .popsection
	ret
