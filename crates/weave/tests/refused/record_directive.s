; Refused: record directive.
f:
7701: .pushsection .weave,"",@progbits $ .long 7701b $ .asciz "event tx at=" $ .popsection
	ret
