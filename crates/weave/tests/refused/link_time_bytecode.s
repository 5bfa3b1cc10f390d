; Refused: link time bytecode.
	.section	.gnu.lto_main.4c5,"e",@progbits
	.ascii "x"
	.text
f: ret
