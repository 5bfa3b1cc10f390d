/*
 * The leaves of the basic layer for RV32IM by hand, see mpn.h: limbs of 32 bits, MPN_BLOCK_LIMBS of them in a straight
 * line, which is entered in the middle when there is no whole block.
 *
 * The order is for a pipeline in which loads and products are used three instructions later at the earliest, as
 * VexRiscv's: a step ends the carries of the limb before while its own limb is read and multiplied, so that none of its
 * instructions waits. The first step of all ends carries that are 0. On other cores the order does no harm.
 */

	.text

	.macro	begin name
	.globl	\name
	.type	\name, @function
	.p2align 2
\name:
	.endm

	.macro	end name
	.size	\name, . - \name
	.endm

/*
 * Goes to the step behind which as many are left as limbs are beside whole blocks; `limbs` is how many there are. The
 * pointers are moved back, so that every step finds its limb. `back` is a pointer that moves down, or x0. Behind it is
 * the first step, \bytes long as all of them.
 */
	.macro	enter bytes, limbs, first, second=x0, third=x0, back=x0
	andi	t0, \limbs, 7
	beqz	t0, 1f
	addi	t0, t0, -8
	slli	t1, t0, 2
	li	t2, -\bytes
	mul	t0, t0, t2
	add	\first, \first, t1
	.ifnc	\second, x0
	add	\second, \second, t1
	.endif
	.ifnc	\third, x0
	add	\third, \third, t1
	.endif
	.ifnc	\back, x0
	sub	\back, \back, t1
	.endif
	la	t1, 1f
	add	t0, t0, t1
	jr	t0
	.endm

/* limb_t mpn_add_n(r a0, a a1, b a2, n a3); a4 where a ends, a5 carry, a6 sum without it, a7 with it, t3 its carry */
begin mpn32_add_n
	slli	a4, a3, 2
	li	a5, 0
	add	a4, a1, a4
	li	a6, 0
	li	a7, 0
	li	t3, 0
	enter	32, a3, a0, a1, a2
1:
	.set	at, 0
	.rept	8
	lw	t0, at(a1)
	lw	t1, at(a2)
	sltu	t2, a7, a6
	add	a5, t3, t2
	add	a6, t0, t1
	sltu	t3, a6, t0
	add	a7, a6, a5
	sw	a7, at(a0)
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a2, a2, 32
	addi	a0, a0, 32
	bne	a1, a4, 1b
	sltu	t2, a7, a6
	add	a0, t3, t2
	ret
end mpn32_add_n

/* limb_t mpn_sub_n(r a0, a a1, b a2, n a3); a4 where a ends, a5 borrow, a6 difference without it, t3 its borrow */
begin mpn32_sub_n
	slli	a4, a3, 2
	li	a5, 0
	add	a4, a1, a4
	li	a6, 0
	li	t3, 0
	enter	32, a3, a0, a1, a2
1:
	.set	at, 0
	.rept	8
	lw	t0, at(a1)
	lw	t1, at(a2)
	sltu	t2, a6, a5
	add	a5, t3, t2
	sub	a6, t0, t1
	sltu	t3, t0, t1
	sub	a7, a6, a5
	sw	a7, at(a0)
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a2, a2, 32
	addi	a0, a0, 32
	bne	a1, a4, 1b
	sltu	t2, a6, a5
	add	a0, t3, t2
	ret
end mpn32_sub_n

/* limb_t mpn_mul_1(r a0, a a1, n a2, b a3); a4 where a ends, a5 carry, a6 low limb, a7 high limb. A step waits once. */
begin mpn32_mul_1
	slli	a4, a2, 2
	li	a5, 0
	add	a4, a1, a4
	li	a6, 0
	li	a7, 0
	enter	28, a2, a0, a1
1:
	.set	at, 0
	.rept	8
	lw	t0, at(a1)
	sltu	t1, a6, a5
	add	a5, a7, t1
	mul	a6, t0, a3
	mulhu	a7, t0, a3
	add	a6, a6, a5
	sw	a6, at(a0)
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a0, a0, 32
	bne	a1, a4, 1b
	sltu	t1, a6, a5
	add	a0, a7, t1
	ret
end mpn32_mul_1

/* A limb of r += a * b: b is a3, a5 the carry, a6 the low limb, a7 the high one; written at `to`(a0). */
	.macro	addmul from, to
	lw	t0, \from(a1)
	lw	t1, \from(a0)
	sltu	t2, a6, a5
	mul	a6, t0, a3
	add	a5, a7, t2
	mulhu	a7, t0, a3
	add	a6, a6, t1
	sltu	t2, a6, t1
	add	a7, a7, t2
	add	a6, a6, a5
	sw	a6, \to(a0)
	.endm

/* limb_t mpn_addmul_1(r a0, a a1, n a2, b a3); a4 where a ends */
begin mpn32_addmul_1
	slli	a4, a2, 2
	li	a5, 0
	add	a4, a1, a4
	li	a6, 0
	li	a7, 0
	enter	44, a2, a0, a1
1:
	.set	at, 0
	.rept	8
	addmul	at, at
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a0, a0, 32
	bne	a1, a4, 1b
	sltu	t2, a6, a5
	add	a0, a7, t2
	ret
end mpn32_addmul_1

/* limb_t mpn_addmul_1_shifted(r a0, a a1, n a2, b a3): the lowest limb's low half is 0 and not written */
begin mpn32_addmul_1_shifted
	lw	t0, 0(a1)
	lw	t1, 0(a0)
	slli	a4, a2, 2
	mul	a6, t0, a3
	mulhu	a7, t0, a3
	add	a4, a1, a4
	addi	a2, a2, -1
	add	a6, a6, t1
	sltu	t2, a6, t1
	add	a7, a7, t2
	/* The step's carry comes from the comparison of a6 with a5. */
	li	a5, 0
	addi	a1, a1, 4
	addi	a0, a0, 4
	enter	44, a2, a0, a1
1:
	.set	at, 0
	.rept	8
	addmul	at, at - 4
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a0, a0, 32
	bne	a1, a4, 1b
	sltu	t2, a6, a5
	add	a0, a7, t2
	ret
end mpn32_addmul_1_shifted

/* limb_t mpn_submul_1(r a0, a a1, n a2, b a3); a5 borrow, a6 low limb, a7 high limb, t3 and t4 what it is short of */
begin mpn32_submul_1
	slli	a4, a2, 2
	li	a5, 0
	add	a4, a1, a4
	li	a7, 0
	li	t3, 0
	li	t4, 0
	enter	44, a2, a0, a1
1:
	.set	at, 0
	.rept	8
	lw	t0, at(a1)
	lw	t1, at(a0)
	add	a7, a7, t3
	mul	a6, t0, a3
	add	a5, a7, t4
	mulhu	a7, t0, a3
	add	a6, a6, a5
	sltu	t3, a6, a5
	sltu	t4, t1, a6
	sub	t1, t1, a6
	sw	t1, at(a0)
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a0, a0, 32
	bne	a1, a4, 1b
	add	a7, a7, t3
	add	a0, a7, t4
	ret
end mpn32_submul_1

/*
 * void mpn_addmul_redc(r a0, a a1, m a2, n a3, b a4, inverse a5); then a3 is where a ends, a5 the quotient digit, a6 the
 * product's carry and a7 the reduction's.
 */
begin mpn32_addmul_redc
	lw	t0, 0(a1)
	lw	t1, 0(a0)
	lw	t2, 0(a2)
	mul	t3, t0, a4
	mulhu	a6, t0, a4
	addi	t6, a3, -1
	slli	a3, a3, 2
	add	t3, t3, t1
	sltu	t4, t3, t1
	mul	a5, t3, a5
	add	a6, a6, t4
	add	a3, a1, a3
	addi	a1, a1, 4
	mul	t4, t2, a5
	mulhu	a7, t2, a5
	addi	a0, a0, 4
	addi	a2, a2, 4
	add	t4, t4, t3
	sltu	t4, t4, t3
	add	a7, a7, t4
	enter	80, t6, a0, a1, a2
1:
	.set	at, 0
	.rept	8
	lw	t0, at(a1)
	lw	t1, at(a0)
	lw	t2, at(a2)
	mul	t3, t0, a4
	mulhu	t4, t0, a4
	mul	t5, t2, a5
	add	t3, t3, t1
	mulhu	t6, t2, a5
	sltu	t1, t3, t1
	add	t4, t4, t1
	add	t3, t3, a6
	sltu	t1, t3, a6
	add	a6, t4, t1
	add	t5, t5, t3
	sltu	t1, t5, t3
	add	t6, t6, t1
	add	t5, t5, a7
	sltu	t1, t5, a7
	add	a7, t6, t1
	sw	t5, at - 4(a0)
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a2, a2, 32
	addi	a0, a0, 32
	bne	a1, a3, 1b
	lw	t0, 0(a0)
	add	t1, a6, a7
	sltu	t2, t1, a7
	add	t1, t1, t0
	sltu	t3, t1, t0
	add	t2, t2, t3
	sw	t1, -4(a0)
	sw	t2, 0(a0)
	ret
end mpn32_addmul_redc

/* void mpn_dot(sum a0, a a1, b a2, n a3); a4 where a ends, a5 a6 a7 the sum; a2 is moved down from b's end */
begin mpn32_dot
	lw	a5, 0(a0)
	lw	a6, 4(a0)
	lw	a7, 8(a0)
	slli	a4, a3, 2
	add	a2, a2, a4
	add	a4, a1, a4
	li	t4, 0
	li	t2, 0
	enter	40, a3, a1, back=a2
1:
	.set	at, 0
	.rept	8
	lw	t0, at(a1)
	lw	t1, -4 - at(a2)
	add	a6, a6, t4
	sltu	t2, a6, t4
	mul	t3, t0, t1
	mulhu	t4, t0, t1
	add	a7, a7, t2
	add	a5, a5, t3
	sltu	t2, a5, t3
	add	t4, t4, t2
	.set	at, at + 4
	.endr
	addi	a1, a1, 32
	addi	a2, a2, -32
	bne	a1, a4, 1b
	add	a6, a6, t4
	sltu	t2, a6, t4
	add	a7, a7, t2
	sw	a5, 0(a0)
	sw	a6, 4(a0)
	sw	a7, 8(a0)
	ret
end mpn32_dot

/* void mpn_sqr_diagonal(r a0, a a1, n a2); a2 where a ends, a3 carry, a4 the bit that leaves r */
begin mpn32_sqr_diagonal
	slli	a2, a2, 2
	li	a3, 0
	add	a2, a1, a2
	li	a4, 0
1:	lw	t0, 0(a1)
	lw	t1, 0(a0)
	lw	t2, 4(a0)
	mul	a5, t0, t0
	slli	t3, t1, 1
	srli	t4, t1, 31
	mulhu	a6, t0, t0
	or	t3, t3, a4
	slli	t5, t2, 1
	srli	a4, t2, 31
	add	t3, t3, a3
	sltu	t1, t3, a3
	add	t3, t3, a5
	sltu	t2, t3, a5
	sw	t3, 0(a0)
	add	a6, a6, t1
	or	t5, t5, t4
	add	a6, a6, t2
	add	t5, t5, a6
	sltu	a3, t5, a6
	sw	t5, 4(a0)
	addi	a1, a1, 4
	addi	a0, a0, 8
	bne	a1, a2, 1b
	ret
end mpn32_sqr_diagonal

/* limb_t mpn_lshift(r a0, a a1, n a2, bits a3); a2 where a ends, a4 what leaves a limb, a5 how far */
begin mpn32_lshift
	slli	a2, a2, 2
	li	a5, 32
	add	a2, a1, a2
	li	a4, 0
	sub	a5, a5, a3
1:	lw	t0, 0(a1)
	addi	a1, a1, 4
	addi	a0, a0, 4
	sll	t1, t0, a3
	srl	t2, t0, a5
	or	t1, t1, a4
	mv	a4, t2
	sw	t1, -4(a0)
	bne	a1, a2, 1b
	mv	a0, a4
	ret
end mpn32_lshift

/* limb_t mpn_rshift(r a0, a a1, n a2, bits a3); from the highest limb on */
begin mpn32_rshift
	slli	a2, a2, 2
	li	a5, 32
	add	a0, a0, a2
	add	a2, a1, a2
	li	a4, 0
	sub	a5, a5, a3
1:	lw	t0, -4(a2)
	addi	a2, a2, -4
	addi	a0, a0, -4
	srl	t1, t0, a3
	sll	t2, t0, a5
	or	t1, t1, a4
	mv	a4, t2
	sw	t1, 0(a0)
	bne	a2, a1, 1b
	mv	a0, a4
	ret
end mpn32_rshift

	.section .note.GNU-stack, "", @progbits
