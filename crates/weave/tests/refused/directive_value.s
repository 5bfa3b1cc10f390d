; Refused: directive value.
f:
	ret ;@weave event tx at=8*M+2
