//! What memory functions touch, and when two threads are disjoint.

mod assembly;

use assembly::program;
use weave::directive::Thread;
use weave::memory::{Access, Conflict, Disjoint, Object, Reason, Side, accesses, disjoint};
use weave::program::Program;
use weave::registers::Registers;

/// What the first function touches, without the stack.
fn objects(text: &str) -> Vec<Object> {
    let program = program(text);
    let found = accesses(&program, &program.functions[0], &Registers::of(&program));
    let mut objects: Vec<Object> = found.into_iter().map(|access| access.object).collect();
    objects.retain(|object| *object != Object::Stack);
    objects.dedup();
    objects
}

fn symbol(name: &str) -> Object {
    Object::Symbol(name.into())
}

#[test]
fn an_element_belongs_to_its_table_however_it_is_indexed() {
    let indexed =
        "f: mov r30, r24\n ldi r31, 0\n subi r30, lo8(-(table))\n sbci r31, hi8(-(table))\n ld r24, Z\n ret";
    assert_eq!(objects(indexed), [symbol("table")]);
    let added =
        "f: ldi r30, lo8(table)\n ldi r31, hi8(table)\n add r30, r24\n adc r31, r1\n ldd r24, Z+3\n ret";
    assert_eq!(objects(added), [symbol("table")]);
    let stepped =
        "f: ldi r26, lo8(table+4)\n ldi r27, hi8(table+4)\n.L1: ld r24, X+\n dec r22\n brne .L1\n ret";
    assert_eq!(objects(stepped), [symbol("table")]);
    assert_eq!(objects("f: lds r24, counter\n sts counter+1, r24\n ret"), [symbol("counter")]);
}

#[test]
fn a_page_of_its_own_is_noted() {
    let program = program("f: ldi r31, hi8(page)\n mov r30, r24\n ld r24, Z\n ret");
    let found = accesses(&program, &program.functions[0], &Registers::of(&program));
    let expected =
        Access { point: 2, object: symbol("page"), reads: true, writes: false, page: true, bit: None };
    assert!(found.contains(&expected), "{found:?}");
}

#[test]
fn parameters_are_followed_through_copies_and_sums() {
    let text = ";@weave arguments 2 1 2\nf: movw r26, r24\n movw r30, r20\n add r30, r22\n adc r31, r1\n ld r0, X+\n st Z, r0\n ret";
    assert_eq!(objects(text), [Object::Parameter(0), Object::Parameter(2)]);
    let number = ";@weave arguments 2 1\nf: movw r30, r22\n ld r24, Z\n ret";
    assert_eq!(objects(number), [Object::Unknown(Reason::NoPointer(22))]);
    assert_eq!(objects("f: movw r30, r24\n ld r24, Z\n ret"), [Object::Unknown(Reason::Undeclared(24))]);
}

#[test]
fn a_pointer_from_memory_is_unknown() {
    let text = "f: lds r30, pointer\n lds r31, pointer+1\n ld r24, Z\n ret";
    assert_eq!(objects(text), [symbol("pointer"), Object::Unknown(Reason::Address)]);
}

#[test]
fn the_frame_is_stack() {
    let text = "f: push r28\n push r29\n rcall .\n in r28, 0x3d\n in r29, 0x3e\n ldi r26, lo8(1)\n ldi r27, 0
        add r26, r28\n adc r27, r29\n add r26, r24\n adc r27, r1\n st X, r24\n ldd r24, Y+1\n pop r0\n pop r0
        pop r29\n pop r28\n ret";
    assert_eq!(objects(text), []);
}

#[test]
fn io_is_the_same_by_either_address_and_the_core_is_left_out() {
    assert_eq!(
        objects("f: in r24, 0x0f\n lds r25, 0x2f\n in r0, 0x3f\n lds r0, 0x5f\n lds r0, 5\n ret"),
        [Object::Io(0x2f)]
    );
}

#[test]
fn a_callee_touches_what_it_is_given() {
    let text =
        "f: ldi r24, lo8(table)\n ldi r25, hi8(table)\n rcall g\n ret\ng: movw r30, r24\n ld r24, Z\n ret";
    assert_eq!(objects(text), [symbol("table")]);
    let inside = "f: ldi r24, lo8(table)\n ldi r25, hi8(table)\n rcall .L1\n ret\n.L1: movw r30, r24\n ld r24, Z\n ret";
    assert_eq!(objects(inside), [symbol("table")]);
    assert_eq!(objects("f: rcall away\n ret"), [Object::Unknown(Reason::Callee("away".into()))]);
}

fn check(guest: &str, host: &str) -> Result<Disjoint, Vec<Conflict>> {
    let (guest, host) = (program(guest), program(host));
    let (ours, theirs) = (Registers::of(&guest), Registers::of(&host));
    let side = |program: &'static Program, registers: &'static Registers| Side {
        program,
        function: &program.functions[0],
        registers,
    };
    let leak = |program: Program, registers: Registers| -> (&'static Program, &'static Registers) {
        (Box::leak(Box::new(program)), Box::leak(Box::new(registers)))
    };
    let ((guest, ours), (host, theirs)) = (leak(guest, ours), leak(host, theirs));
    disjoint(&side(guest, ours), &side(host, theirs))
}

const SEND: &str = "f: movw r30, r24\n ld r0, Z+\n out 0x0f, r0\n ret";

#[test]
fn different_symbols_are_disjoint_and_the_same_one_is_not() {
    let (a, b) = ("f: sts a, r24\n ret", "f: lds r24, b\n ret");
    assert_eq!(check(a, b), Ok(Disjoint::default()));
    assert_eq!(check(b, b), Ok(Disjoint::default()));
    let conflicts = check(a, "f: lds r24, a\n ret").expect_err("both touch it");
    assert_eq!(conflicts.len(), 1);
    assert_eq!((conflicts[0].guest.point, conflicts[0].host.point), (0, 0));
}

fn granted(pairs: &[(&str, &str)]) -> Disjoint {
    let granted = pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
    Disjoint { granted, ..Disjoint::default() }
}

#[test]
fn what_pointers_point_to_is_promised_to_be_apart_unless_that_is_said() {
    let host = ";@weave arguments 2\nf: movw r26, r24\n st X, r1\n lds r24, symbol\n ret";
    let guest = format!(";@weave arguments 2\n{SEND}");
    assert_eq!(check(&guest, host), Ok(granted(&[("guest.0", "host.0")])));
    let said = format!(";@weave arguments 2\n;@weave apart guest.0 host.0\n{SEND}");
    assert_eq!(check(&said, host), Ok(Disjoint::default()));
}

#[test]
fn a_pointer_that_cannot_be_followed_is_promised_to_reach_no_io_and_nothing_given() {
    let host = "f: lds r30, pointer\n lds r31, pointer+1\n st Z, r1\n ret";
    let guest = format!(";@weave arguments 2\n{SEND}");
    let promises = [("guest.0", "host.pointers"), ("io.0x2f", "host.pointers")];
    assert_eq!(check(&guest, host), Ok(granted(&promises)));
    // What has a name is not given away by silence.
    let named = "f: sts flag, r24\n ret";
    let conflicts = check(named, host).expect_err("it may point there");
    assert_eq!(spelled(&conflicts), [(symbol("flag"), Object::Unknown(Reason::Address))]);
    let said = "f: sts flag, r24 ;@weave apart flag host.pointers\n ret";
    assert_eq!(check(said, host), Ok(Disjoint::default()));
}

fn spelled(conflicts: &[Conflict]) -> Vec<(Object, Object)> {
    conflicts.iter().map(|conflict| (conflict.guest.object.clone(), conflict.host.object.clone())).collect()
}

#[test]
fn what_is_shared_is_allowed_with_its_order() {
    let guest = ";@weave shared byte host-first\nf: lds r24, byte\n ret";
    let found = check(guest, "f: sts byte, r24\n ret").expect("it is declared");
    let [(both, Thread::Host)] = &found.shared[..] else { panic!("{found:?}") };
    assert_eq!((&both.guest.object, &both.host.object), (&symbol("byte"), &symbol("byte")));
}

#[test]
fn threads_may_change_different_bits_of_a_port_and_no_more() {
    let bit = |bit: u8| format!("f: sbi 0x18, {bit}\n cbi 0x18, {bit}\n ret");
    assert_eq!(check(&bit(1), &bit(2)), Ok(Disjoint::default()));
    let whole = "f: out 0x18, r24\n ret";
    for (guest, host) in [(bit(1), bit(1)), (bit(1), whole.to_owned()), (whole.to_owned(), bit(2))] {
        let conflicts = check(&guest, &host).expect_err("both change it");
        assert_eq!(spelled(&conflicts), [(Object::Io(0x38), Object::Io(0x38))], "{guest} {host}");
    }
    let read = check("f: out 0x18, r24\n ret", "f: in r24, 0x18\n ret").expect_err("it is read and written");
    assert!(read[0].guest.writes && !read[0].host.writes);
}

#[test]
fn two_readers_of_one_io_register_conflict() {
    let read = "f: in r24, 0x0f\n ret";
    assert_eq!(
        spelled(&check(read, read).expect_err("reading may change it")),
        [(Object::Io(0x2f), Object::Io(0x2f))]
    );
}
