//! A routine may have a variant that calls instructions of one's own: a table of them and a file lead to its cycles.

mod compiled;

use std::path::Path;
use std::sync::Arc;

use explore::candidate::Radix;
use explore::image::{Choice, Image, Leaves, Source, replaceable};
use explore::measure::Bench;
use explore::native::{self, ROUTINES};
use explore::workload::{Draw, Key};
use explore::{Error, Request};
use isa::rv32::custom::{Call, Form, Latency, Space, Unit, Units};
use isa::rv32::{Profile, Refusal};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSymbol};

const SEED: u64 = 9;
const ROUTINE: &str = "mpn32_add_n";

/// The sum of two words and of the carry that is kept, and keeps its own.
fn add_and_keep(call: &mut Call<'_>) -> Result<u32, Refusal> {
    let (a, b) = (u128::from(call.a), u128::from(call.b));
    let carry = &mut call.state().registers[0];
    let sum = a + b + *carry;
    *carry = sum >> 32;
    Ok(sum as u32)
}

const UNITS: [Unit; 1] = [Unit {
    name: "add_and_keep",
    space: Space::Custom0,
    form: Form::R,
    funct3: 0,
    funct7: 0,
    latency: Latency { pico_cycles: 0, vex5_cycles: 0 },
    uses_state: true,
    uses_memory: false,
    execute: add_and_keep,
}];

/// The library with its own sum, and with the one that calls an instruction.
fn images() -> Option<[Image; 2]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/intrinsics/mpn_add_n.c");
    let in_place = vec![Source { path, limb_bits: Some(32) }];
    let plain = compiled::image(Leaves::Plain)?;
    let custom = compiled::image_of(&Choice { in_place, ..Choice::of(Leaves::Plain) })?;
    Some([plain, custom])
}

#[test]
fn a_variant_that_calls_an_instruction_answers_alike_and_its_cycles_are_told_apart() {
    let Some([plain, custom]) = images() else { return };
    let units = Arc::new(Units::new(&UNITS).expect("it is one"));
    let place = ROUTINES.iter().position(|routine| routine.name == ROUTINE).expect("it is one");
    let key = Key::generate(SEED, 512).expect("it has a size").shortened(8);
    let requests = [
        Draw::new(SEED, Radix::Limbs32).basic("mpn_add_n", 40),
        key.private("divide/binary/gauss/fresh/32".parse().expect("it is one"), SEED),
    ];
    for profile in [Profile::Pico, Profile::Vex5Tcm, Profile::Vex5] {
        let [before, after] =
            [Bench::new(&plain, profile), Bench::new(&custom, profile).with_units(units.clone())]
                .map(|bench| bench.measure(&requests).expect("all are done"));
        for ((request, before), after) in requests.iter().zip(&before).zip(&after) {
            let native = native::run(request).expect("it is done");
            assert_eq!((&before.response, &after.response), (&native.response, &native.response));
            let [least, most] = [after, before].map(|measured| measured.last().local_cycles[place]);
            println!("{profile:?} {}: {ROUTINE} takes {most} cycles, and {least}", request.operation);
            // In a whole operation behind caches, where the routine lies decides which of its lines are taken.
            let is_told = profile != Profile::Vex5 || request.operation == "mpn_add_n";
            assert!(0 < least && (least < most || !is_told), "{}", request.operation);
            let last = after.last();
            assert_eq!(last.local_cycles.iter().sum::<u64>() + last.bench_cycles, last.cycles);
        }
    }
}

#[test]
fn a_processor_without_the_instruction_does_not_get_to_its_end() {
    let Some([_, custom]) = images() else { return };
    let request: Request = Draw::new(SEED, Radix::Limbs32).basic("mpn_add_n", 4);
    let error = Bench::new(&custom, Profile::Pico).measure(&[request]).expect_err("it has none");
    assert!(matches!(error, Error::Image { .. }), "{error}");
}

#[test]
fn calls_of_a_processor_with_the_instruction_are_those_that_are_counted_natively() {
    let Some([_, custom]) = images() else { return };
    let units = Arc::new(Units::new(&UNITS).expect("it is one"));
    let bench = Bench::new(&custom, Profile::Pico).with_units(units);
    let request = Draw::new(SEED, Radix::Limbs32).basic("mpn_add_n", 40);
    let graph = bench.calls(&request).expect("it is done");
    let function = graph.function(ROUTINE).expect("it is called");
    let measured = bench.measure(std::slice::from_ref(&request)).expect("it is done").remove(0);
    let place = ROUTINES.iter().position(|routine| routine.name == ROUTINE).expect("it is one");
    assert_eq!((function.calls, function.local_cycles), (1, measured.last().local_cycles[place]));
}

#[test]
fn every_routine_of_the_library_can_have_another_one_in_its_place() {
    // Of leaves each file has the same.
    for leaves in Leaves::ALL {
        let Some(image) = compiled::image(leaves) else { return };
        let elf = ElfFile32::<Endianness>::parse(image.elf()).expect("it was linked");
        let symbols = elf.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition());
        let others: Vec<&str> = symbols.map(|symbol| symbol.name().expect("it has one")).collect();
        for routine in replaceable() {
            assert!(others.contains(&routine), "{}: {routine}", leaves.word());
        }
    }
}

#[test]
fn a_file_that_stands_in_place_of_nothing_is_refused_and_says_what_was_meant() {
    if compiled::image(Leaves::Plain).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("variant.c");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let refused = |text: &str| {
        std::fs::write(&path, text).expect("there is room");
        let in_place = vec![Source { path: path.clone(), limb_bits: Some(32) }];
        let choice = Choice { in_place, ..Choice::of(Leaves::Plain) };
        Image::make(&root, &choice, None).expect_err("it stands in place of nothing").to_string()
    };
    let error = refused("void mpn32_add_nn(void) { }\nvoid mpn32_copy(void) { }\n");
    assert!(
        error.contains("variant.c` defines `mpn32_add_nn`") && error.contains("mean `mpn32_add_n`?"),
        "{error}"
    );
    let error = refused("void explore_hash(void) { }\n");
    assert!(error.contains("defines `explore_hash`, expected routines of the library alone"), "{error}");
    let error = refused("int explore_room;\nvoid mpn32_copy(void) { }\n");
    assert!(error.contains("defines `explore_room`"), "{error}");
    let error = refused("static inline void mpn32_add_n(void) { }\n");
    assert!(error.contains("variant.c` defines nothing"), "{error}");
}

/// One that only its own file calls, where a compiler could have kept it to itself.
#[test]
fn a_part_of_a_routine_that_has_another_one_in_its_place_is_that_one() {
    let Some(plain) = compiled::image(Leaves::Plain) else { return };
    let name = "power_cache32_hash";
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("variant.c");
    // Every table goes to the same place: slower or faster, no other answer.
    let text = "#include \"crypto/modular/modexp.h\"\n\
                ROUTINE uint32_t power_cache_hash(uint32_t hash, const limb_t *a, size_t n)\n\
                { return 0 * (hash + a[0] + (uint32_t)n); }\n";
    std::fs::write(&path, text).expect("there is room");
    let in_place = vec![Source { path, limb_bits: Some(32) }];
    let other = compiled::image_of(&Choice { in_place, ..Choice::of(Leaves::Plain) }).expect("there was one");
    let place = ROUTINES.iter().position(|routine| routine.name == name).expect("it is one");
    let key = Key::generate(SEED, 512).expect("it has a size").shortened(8);
    let request = key.private("cios/sliding-4/garner/tables/32".parse().expect("it is one"), SEED);
    let [before, after] = [&plain, &other].map(|image| {
        let measured = Bench::new(image, Profile::Pico).measure_one(&request).expect("it is done");
        assert_eq!(measured.response, native::run(&request).expect("it is done").response);
        measured.last().local_cycles[place]
    });
    println!("{name} takes {before} cycles, and {after}");
    assert!(0 < after && 10 * after < before, "{before} {after}");
}
