//! Registers: liveness, what functions change and hand back.

mod assembly;

use assembly::{Places, machine, program};
use isa::avr::{Set, Stop};
use proptest::prelude::*;
use weave::cfg::Cfg;
use weave::program::Program;
use weave::registers::{CALL_CLOBBERED, Liveness, REGISTERS, Registers, Summary};

fn set(registers: &[u8]) -> Set {
    registers.iter().fold(Set::EMPTY, |set, &register| set | Set::register(register))
}

fn summary(text: &str) -> Summary {
    let program = program(text);
    Registers::of(&program).summary(&program.functions[0]).expect("its control flow is known")
}

#[test]
fn pushed_and_popped_registers_are_handed_back_and_not_read() {
    let found = summary("f: push r16\n push r29\n mov r16, r24\n mov r29, r16\n pop r29\n pop r16\n ret");
    assert_eq!(found.writes, Set::EMPTY);
    assert_eq!(found.reads, set(&[24]));
    assert!(found.through.contains(set(&[16, 29])));
}

#[test]
fn registers_popped_in_the_wrong_order_are_not_handed_back() {
    let found = summary("f: push r16\n push r17\n ldi r16, 1\n ldi r17, 2\n pop r16\n pop r17\n ret");
    assert_eq!(found.writes, set(&[16, 17]));
}

#[test]
fn a_subroutine_inside_a_function_is_known_by_its_code() {
    // avr-gcc's ABI would have it read neither, and hand back r16.
    let found = summary("f: rcall .L1\n ret\n.L1: mov r24, r28\n add r24, r2\n ldi r16, 1\n ret");
    assert_eq!(found.reads, set(&[2, 28]));
    assert_eq!(found.writes.intersection(REGISTERS), set(&[16, 24]));
}

#[test]
fn a_register_that_is_taken_from_itself_is_not_read() {
    let found = summary("f: eor r2, r2\n sub r3, r3\n sbc r4, r4\n eor r5, r6\n ret");
    assert_eq!(found.reads.intersection(REGISTERS), set(&[5, 6]));
}

#[test]
fn a_register_saved_on_one_path_only_is_lost() {
    let found = summary("f: sbrs r24, 0\n rjmp .L1\n ldi r16, 1\n ret\n.L1: nop\n ret");
    assert_eq!(found.writes, set(&[16]));
    assert!(found.through.contains(set(&[16])));
}

#[test]
fn the_frame_that_avr_gcc_makes_hands_its_pointer_back() {
    let found = summary(
        "f: push r28\n push r29\n in r28, 0x3d\n in r29, 0x3e\n sbiw r28, 9\n in r0, 0x3f\n cli\n out 0x3e, r29
         out 0x3f, r0\n out 0x3d, r28\n std Y+1, r24\n ldd r24, Y+1\n adiw r28, 9\n in r0, 0x3f\n cli
         out 0x3e, r29\n out 0x3f, r0\n out 0x3d, r28\n pop r29\n pop r28\n ret",
    );
    assert_eq!(found.writes.intersection(REGISTERS), set(&[0]));
    let small = summary(
        "f: push r28\n push r29\n rcall .\n in r28, 0x3d\n in r29, 0x3e\n std Y+2, r24\n pop r0\n pop r0
         pop r29\n pop r28\n ret",
    );
    assert_eq!(small.writes.intersection(REGISTERS), set(&[0]));
}

#[test]
fn an_array_in_the_frame_does_not_hide_what_is_saved() {
    let found = summary(
        "f: push r28\n push r29\n in r28, 0x3d\n in r29, 0x3e\n sbiw r28, 9\n in r0, 0x3f\n cli\n out 0x3e, r29
         out 0x3f, r0\n out 0x3d, r28\n movw r30, r28\n adiw r30, 1\n add r30, r24\n adc r31, r1\n st Z, r22
         movw r24, r28\n adiw r24, 1\n rcall g\n adiw r28, 9\n in r0, 0x3f\n cli\n out 0x3e, r29\n out 0x3f, r0
         out 0x3d, r28\n pop r29\n pop r28\n ret",
    );
    assert_eq!(found.writes.without(Set::status(7)), CALL_CLOBBERED);
}

#[test]
fn r1_is_handed_back_as_zero() {
    let found = summary("f: mul r24, r22\n movw r24, r0\n clr r1\n ret");
    assert_eq!(found.writes.intersection(REGISTERS), set(&[0, 24, 25]));
}

#[test]
fn an_unknown_callee_is_believed_to_follow_the_abi() {
    let found = summary("f: rcall g\n ret");
    assert_eq!(found.writes, CALL_CLOBBERED);
    assert!(found.through.contains(set(&[2, 17, 28, 29])));
}

#[test]
fn a_known_callee_counts_as_what_it_does() {
    let found = summary("f: rcall g\n ret\ng: mov r20, r2\n ret");
    assert_eq!((found.writes, found.reads), (set(&[20]), set(&[2])));
}

#[test]
fn recursion_is_summarised_too() {
    let found = summary("f: push r16\n dec r24\n breq .L1\n rcall f\n.L1: pop r16\n ret");
    assert!(found.writes.contains(set(&[24])));
    assert!(found.reads.contains(set(&[24])));
}

#[test]
fn a_load_from_a_registers_address_reads_the_register() {
    let found = summary("f: lds r24, 0x0005\n sts 0x0006, r24\n ret");
    assert!(found.reads.contains(set(&[5])));
    assert_eq!(found.writes, set(&[6, 24]));
}

#[test]
fn an_interrupt_handler_leaves_everything_live() {
    let program = program("f: nop\n reti");
    let cfg = Cfg::of(&program, &program.functions[0]).expect("its control flow is known");
    let live = Liveness::of(&program, &cfg, &Registers::of(&program), 0);
    assert!(live.before(0).contains(REGISTERS));
}

/// Straight code with forward branches, skips, calls of `g`, saved registers and flags in between.
fn random() -> impl Strategy<Value = String> {
    let line = (0..22_u8, 16..32_u8, 0..26_u8, 0..8_u8).prop_map(|(kind, high, low, bit)| match kind {
        0 => format!("mov r{low}, r{high}"),
        1 => format!("add r{high}, r{low}"),
        2 => format!("adc r{low}, r{high}"),
        3 => format!("subi r{high}, {}", low * 3),
        4 => format!("sbci r{high}, {low}"),
        5 => format!("cpc r{low}, r{high}"),
        6 => format!("cp r{high}, r{low}"),
        7 => format!("ldi r{high}, {low}"),
        8 => format!("movw r{}, r{}", low & !1, high & !1),
        9 => format!("sbiw r{}, {}", 24 + (bit & 6), low),
        10 => format!("ror r{low}"),
        11 => format!("inc r{high}"),
        12 => format!("bst r{low}, {bit}"),
        13 => format!("bld r{high}, {bit}"),
        14 => format!("mul r{low}, r{high}"),
        15 => format!("eor r{low}, r{low}"),
        16 => format!("sbrc r{low}, {bit}"),
        17 => format!("cpse r{low}, r{high}"),
        18 => format!("brbs {}, .", bit % 6),
        19 => "rcall g".to_owned(),
        20 => format!("in r{low}, 0x3f"),
        _ => format!("neg r{high}"),
    });
    (prop::collection::vec(line, 1..40), prop::collection::vec(any::<prop::sample::Index>(), 40)).prop_map(
        |(lines, jumps)| {
            let count = lines.len();
            let mut text = "f: nop\n".to_owned();
            for (index, line) in lines.into_iter().enumerate() {
                let line = match line.strip_suffix(", .") {
                    Some(branch) => format!("{branch}, .L{}", index + 1 + jumps[index].index(count - index)),
                    None => line,
                };
                text += &format!(".L{index}: {line}\n");
            }
            text + &format!(
                ".L{count}: nop\n nop\n ret\n
                 g: push r17\n add r17, r18\n brcs .G1\n mov r19, r17\n.G1: inc r20\n pop r17\n ret\n"
            )
        },
    )
}

/// Everything that the function leaves behind, from the given state, with a register or flag flipped before the
/// instruction at `point` is executed for the first time.
fn run(program: &Program, registers: [u8; 32], flip: Option<(usize, Set)>) -> Option<([u8; 32], u8, u64)> {
    let mut machine = machine(program, "f", &Places::new());
    for (number, &value) in (0..).zip(&registers) {
        machine.chip.set_register(number, value);
    }
    if let Some((point, place)) = flip {
        while machine.chip.pc() != machine.addresses[point] {
            if machine.chip.run_until(machine.chip.cycle() + 1, &mut ()) == Stop::Break {
                return None;
            }
        }
        for number in place.registers() {
            machine.chip.set_register(number, !machine.chip.register(number));
        }
    }
    assert_eq!(machine.chip.run_until(10_000, &mut ()), Stop::Break);
    let after = std::array::from_fn(|number| machine.chip.register(number as u8));
    Some((after, machine.chip.sreg(), machine.chip.cycle()))
}

proptest! {
    #[test]
    fn what_is_dead_can_be_anything(text in random(), registers: [u8; 32], returned_bytes in 0..9_u32, at: prop::sample::Index) {
        let program = program(&text);
        let cfg = Cfg::of(&program, &program.functions[0]).expect("its control flow is known");
        let summaries = Registers::of(&program);
        let live = Liveness::of(&program, &cfg, &summaries, returned_bytes);
        let point = at.index(cfg.end);
        let dead = REGISTERS.without(live.before(point));
        let plain = run(&program, registers, None).expect("it returns");
        if let Some(flipped) = run(&program, registers, Some((point, dead))) {
            prop_assert_eq!(plain.2, flipped.2, "the path changes when {:?} before {} is flipped\n{}", dead, point, text);
            let behind = weave::registers::returned(returned_bytes) | weave::registers::CALL_SAVED;
            for number in behind.registers().filter(|&number| number != 0) {
                prop_assert_eq!(plain.0[usize::from(number)], flipped.0[usize::from(number)],
                    "r{} when {:?} before {} is flipped\n{}", number, dead, point, text);
            }
        }
    }

    #[test]
    fn what_is_not_written_stays_and_what_is_not_read_does_not_matter(text in random(), registers: [u8; 32]) {
        let program = program(&text);
        let mut registers = registers;
        registers[1] = 0;
        let found = Registers::of(&program).summary(&program.functions[0]).expect("its control flow is known");
        let (after, sreg, _) = run(&program, registers, None).expect("it returns");
        for number in REGISTERS.without(found.writes).registers() {
            prop_assert_eq!(after[usize::from(number)], registers[usize::from(number)], "r{}\n{}", number, text);
        }
        let unread = REGISTERS.without(found.reads).without(set(&[1]));
        let (flipped, flipped_sreg, _) = run(&program, registers, Some((0, unread))).expect("it returns");
        for number in found.writes.without(found.through).registers() {
            prop_assert_eq!(after[usize::from(number)], flipped[usize::from(number)], "r{}\n{}", number, text);
        }
        for bit in 0..7 {
            if found.writes.without(found.through).contains(Set::status(bit)) {
                prop_assert_eq!(sreg >> bit & 1, flipped_sreg >> bit & 1);
            }
        }
    }
}
