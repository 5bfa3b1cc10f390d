; Refused: directive key.
f:
	ret ;@weave event tx at=0 often
