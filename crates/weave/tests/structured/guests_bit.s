; flag_t 61 12 cocall
; The guest moves bits by T, and the host's T lives where no other flag of its does.
host:
;@weave arguments 2 1
	ldi r18, 9
	ldi r21, 77
	bst r22, 0
.L1_1:
	lsr r21
	rol r22
	bld r21, 3
	dec r18
	brne .L1_1
	bld r22, 1
	mov r24, r22
	mov r25, r21
	ret
