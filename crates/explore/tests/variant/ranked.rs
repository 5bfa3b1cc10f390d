//! What a tree with variants of its own ranks: AES by models that are made there; and one more way to multiply residues,
//! which has a model beside that of another, and makes powers. An example of a copy of this crate, which `variant.rs`
//! makes; arguments: the tree.

use std::path::Path;

use explore::candidate::{Multiplication, Radix};
use explore::image::{Choice, Image, Leaves};
use explore::measure::Bench;
use explore::plan::{self, Depth};
use explore::space::Space;
use explore::subject::{Family, Material};
use explore::workload::{self, Key};
use explore::{Candidate, Request, characterise, estimate, native};
use isa::rv32::Profile;

const OCTETS: u32 = 1024;

fn main() {
    let tree = std::env::args().nth(1).expect("an argument names the tree");
    let image = Image::make(Path::new(&tree), &Choice::of(Leaves::Plain), None).expect("it is compiled");
    let bench = Bench::new(&image, Profile::Pico);
    let mut plan = plan::plan(1, Depth(1)).expect("keys are made");
    let last = *Multiplication::ALL.last().expect("there are some");
    let ways = [workload::fast().multiplication, last];
    plan.retain(|planned| {
        let is_of = |candidate: Candidate| {
            candidate.radix == Radix::Limbs32 && ways.contains(&candidate.multiplication)
        };
        let Request { operation, candidate, .. } = &planned.request;
        operation.starts_with("aes_") || *operation == "modmul_multiply" && candidate.is_some_and(is_of)
    });
    let models = characterise::sample(&bench, &plan, || ()).expect("all are done").fit(&bench, 1);
    let models = models.expect("there are enough");
    let material = Material::new(Family::Aes, &[OCTETS], 1).expect("it has no keys");
    let mut rows = Vec::new();
    for subject in Family::Aes.subjects() {
        let native = native::run(&material.request(&subject, OCTETS).expect("it is one")).expect("it is done");
        rows.extend(estimate::rows(&subject, OCTETS, &native, &models).expect("its routines have models"));
    }
    rows.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
    for row in rows {
        println!("{} {} {:?}", row.subject, row.cycles, row.rom_bytes());
    }
    for way in ways {
        let name = format!("modmul32_{}_multiply", way.word());
        let model = models.routines.iter().flatten().find(|model| model.routine == name);
        let model = model.expect("there are enough");
        let term = model.terms.last().expect("calls are one");
        println!("{name} {} {:?}", term.cycles, (term.word(), model.code_bytes));
    }
    let of = Space::All.candidates().into_iter().filter(|candidate| candidate.multiplication == last);
    println!("{} candidates by {}", of.count(), last.word());
    let key = Key::generate(1, 512).expect("it has a size");
    let power = |candidate: Candidate| native::run(&key.private(candidate, 1)).expect("it is done").response;
    let [one, other] = ways.map(|multiplication| power(Candidate { multiplication, ..workload::fast() }));
    println!("{}", if one == other { "the same power" } else { "another power" });
}
