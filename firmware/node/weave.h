//! Timing directives for `selvedge weave`, as records that survive into the linked ELF.
//!
//! A directive stands on the instruction behind it. In assembly (.S, after the preprocessor), on a line of its own:
//!
//!     WEAVE("event tx at=0")
//!     out SPDR, r24
//!
//! In C, a directive of a function as a whole (clock, chip, f_cpu, arguments, shared, apart, server) is a statement:
//!
//!     WEAVE_C("clock tx period=130");
//!
//! The compiler may put instructions between a statement and the one that follows it, so an event goes into the
//! `asm` of its instruction:
//!
//!     __asm__ volatile(WEAVE_TEXT("event tx at=0") "out %0, %1" : : "I"(_SFR_IO_ADDR(SPDR)), "r"(byte));
//!
//! A record is the byte address in flash, 32 bits, and the text with a zero behind it, in the section `.weave`, which
//! is not loaded. It costs no byte of flash and no cycle. With --gc-sections, link with -Wl,-T,weave.ld as well.
//!
//! Where only the assembly text is checked, a comment does the same, on a line of its own or behind its instruction:
//!
//!     ;@weave clock tx period=130
//!     out 0x0f, r24   ;@weave event tx at=0
//!
//! All directives: the head of crates/weave/src/directive.rs.
#ifndef NODE_WEAVE_H
#define NODE_WEAVE_H

// The local label is one that nobody else is likely to have. The preprocessor leaves a line a line, so that assembly
// needs the separator `$`, which only GNU as knows; C can have lines, which clang takes too.
#ifdef __ASSEMBLER__
#define WEAVE(text) 7701: .pushsection .weave,"",@progbits $ .long 7701b $ .asciz text $ .popsection
#else
#define WEAVE_TEXT(text)                                                                                               \
    "7701:\n\t.pushsection .weave,\"\",@progbits\n\t.long 7701b\n\t.asciz \"" text "\"\n\t.popsection\n\t"
#define WEAVE_C(text) __asm__ volatile(WEAVE_TEXT(text))
#endif

#endif
