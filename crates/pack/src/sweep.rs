//! What packing does to the time of programs behind many caches, with their functions in many orders.
//!
//! Owns: which images are made of a program and run ([`sweep`], and [`Sweep`] for who shares the orders out), each once
//! on a core: its stream of fetches is then asked of all caches. Files, tables and charts are the caller's. What the
//! values mean is `sweep::cells`', how many caches are asked at once `sweep::stacks`'.
//!
//! Every image is packed for the training inputs, and runs on others. With one order of functions, drawn from a seed,
//! there are the unpacked program and the packed one: what differs between them is packing. With the order that the
//! packer chose there are both again, so that what that order does alone is not taken for what packing does. Other ways
//! of making a program smaller ([`compare`]) are measured in the same orders that were drawn, and without that search.

pub mod cells;
pub mod filled;
pub mod means;
pub mod runs;
pub mod stacks;
pub mod why;

use isa::sparc::user;

use crate::chain::{self, onfill};
use crate::code::onfill::stored::compress;
use crate::code::{Code, dict};
use crate::error::{Error, RunError, SweepError};
use crate::image::Image;
use crate::packing::{self, Assignment, Packed, Report};
use crate::place::Order;
use crate::profile::{Profile, Training};
use crate::program::Program;
use crate::tune::{self, Effort, Goal};

pub use cells::{Cell, Measured, Ordered, Other, OtherCell, OtherOrdered, OtherRuns, Penalty, Spread};
pub use filled::{Filled, Fills};
pub use means::{Means, WANTED, WORST_MAX, Wanted, Worst};
pub use runs::{Behind, Input, Places, Ran};
pub use stacks::{Geometry, Stacks};

/// A program, and what it is told.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// It.
    pub program: Program,
    /// What it runs in.
    pub user: user::Settings,
    /// What the packer learns from.
    pub training: Vec<Input>,
    /// What is measured.
    pub measured: Vec<Input>,
}

/// What is swept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The caches.
    pub caches: Vec<Geometry>,
    /// What orders of functions are drawn from.
    pub seeds: Vec<u64>,
    /// How images are packed; their order is the sweep's.
    pub packing: packing::Settings,
    /// What they are packed for, in orders that are drawn.
    pub goal: Goal,
    /// And in the packer's own order.
    pub own_goal: Goal,
    /// How much is tried.
    pub effort: Effort,
}

impl Default for Settings {
    /// Caches of 256 bytes to 16 KiB with 1, 2, 4 and all ways; eight orders.
    fn default() -> Settings {
        Settings {
            caches: caches(),
            seeds: (1..=8).collect(),
            packing: packing::Settings {
                dictionary: dict::Choice::Blend { dynamic_percent: 50 },
                ..packing::Settings::default()
            },
            goal: Goal::default(),
            own_goal: Goal::of_cache(1024),
            effort: Effort::default(),
        }
    }
}

/// Caches of 256 bytes to 16 KiB, by their ways and then by their size.
pub fn caches() -> Vec<Geometry> {
    let sizes = || (8..=14).map(|bits| 1u32 << bits);
    let of_ways = |ways: u32| sizes().map(move |bytes| Geometry { bytes, ways });
    [1, 2, 4].into_iter().flat_map(of_ways).chain(sizes().map(Geometry::full)).collect()
}

/// A way to make a program smaller, with functions in orders that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Packets of a dictionary that is chosen so, and nothing else tried.
    Packets(dict::Choice),
    /// Blocks that are decoded on fill.
    OnFill {
        /// By which code.
        code: Code,
        /// Plain code in a block.
        block_bytes: u32,
    },
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The unpacked program runs on the inputs to learn from.
    Training,
    /// It runs on those that are measured.
    Plain,
    /// An image is packed and run, with its functions in this order.
    Packed(Order),
}

/// Packs a program and runs it in every way; `progress` is called before each step.
///
/// # Errors
/// What cannot be packed or run, and an image that does not write what the program writes.
pub fn sweep(
    subject: &Subject,
    settings: &Settings,
    progress: &mut dyn FnMut(Step),
) -> Result<Measured, SweepError> {
    compare(subject, settings, &[], progress).map(|(measured, _)| measured)
}

/// The same, and other ways beside it, in the orders that are drawn; `progress` is called once more for each of those.
///
/// # Errors
/// As [`sweep`].
pub fn compare(
    subject: &Subject,
    settings: &Settings,
    ways: &[Way],
    progress: &mut dyn FnMut(Step),
) -> Result<(Measured, Vec<Other>), SweepError> {
    let sweep = Sweep::new(subject, settings, std::slice::from_ref(&subject.user), progress)?;
    let mut in_order = |order: Order| {
        progress(Step::Packed(order));
        sweep.ordered(&sweep.images(order)?)
    };
    let orders = settings.seeds.iter().map(|&seed| in_order(Order::Seeded(seed)));
    let orders = orders.collect::<Result<_, _>>()?;
    let placed = in_order(Order::Hot)?;
    let mut others: Vec<Other> = ways.iter().map(|&way| Other { way, orders: Vec::new() }).collect();
    for &seed in settings.seeds.iter().filter(|_| !ways.is_empty()) {
        progress(Step::Packed(Order::Seeded(seed)));
        for (other, ordered) in others.iter_mut().zip(sweep.others(seed, ways)?) {
            other.orders.push(ordered);
        }
    }
    let mut measured = sweep.measured(orders, placed)?;
    Ok((measured.pop().expect("there is one core"), others))
}

/// A program as it is, as an image.
pub fn as_it_is(program: &Program) -> Image {
    packing::unpacked(program, packing::Nothing::NoGain).image
}

/// A program of which images are made: what the packer has learnt of it, and what it did unpacked on each core. One
/// order of functions is measured apart from all others, so that they can be shared out.
pub struct Sweep<'a> {
    subject: &'a Subject,
    settings: &'a Settings,
    chain: chain::Settings,
    cores: &'a [user::Settings],
    training: Vec<Training>,
    /// By core, the unpacked program on what is measured.
    plain: Vec<Vec<Ran>>,
}

/// A program with its functions in one order.
#[derive(Clone, Debug)]
pub struct Images {
    /// The order.
    pub order: Order,
    /// Unpacked.
    pub plain: Image,
    /// Packed.
    pub packed: Packed,
}

impl<'a> Sweep<'a> {
    /// Runs the unpacked program: on all inputs on the first core, and on those that are measured on the others. What a
    /// core is does not say which images are made.
    ///
    /// # Errors
    /// What cannot be run.
    ///
    /// # Panics
    /// Without a core.
    pub fn new(
        subject: &'a Subject,
        settings: &'a Settings,
        cores: &'a [user::Settings],
        progress: &mut dyn FnMut(Step),
    ) -> Result<Sweep<'a>, SweepError> {
        let chain = chain::Settings::default();
        let image = as_it_is(&subject.program);
        let run = |input: &Input, core: &user::Settings| Ran::of(&image, input, &chain, core);
        progress(Step::Training);
        let learn = |input: &Input| run(input, &cores[0]).map(|ran| Training::of(ran.stream));
        let training = subject.training.iter().map(learn).collect::<Result<_, _>>()?;
        progress(Step::Plain);
        let on = |core: &user::Settings| subject.measured.iter().map(|input| run(input, core)).collect();
        let plain = cores.iter().map(on).collect::<Result<_, _>>()?;
        Ok(Sweep { subject, settings, chain, cores, training, plain })
    }

    /// What the unpacked program did on a core, by the inputs that are measured.
    pub fn plain(&self, core: usize) -> &[Ran] {
        &self.plain[core]
    }

    /// Makes the images of an order.
    ///
    /// # Errors
    /// What cannot be packed.
    pub fn images(&self, order: Order) -> Result<Images, SweepError> {
        let plain = self.packed(order, Assignment::Words)?;
        let packed = self.packed(order, self.settings.packing.assignment)?;
        Ok(Images { order, packed: in_order(packed, &plain), plain: plain.image })
    }

    fn packed(&self, order: Order, assignment: Assignment) -> Result<Packed, SweepError> {
        let settings = packing::Settings { order, assignment, ..self.settings.packing.clone() };
        let (program, training) = (&self.subject.program, &self.training[..]);
        let goal = if order == Order::Hot { &self.settings.own_goal } else { &self.settings.goal };
        Ok(tune::pack(program, training, &settings, goal, &self.settings.effort)?)
    }

    /// The unpacked program in an order that is drawn, and the same with room before its functions as a packed one gets it,
    /// on every input that is measured, on the first core.
    ///
    /// # Errors
    /// What cannot be made.
    pub fn with_room(&self, seed: u64) -> Result<[Vec<Behind>; 2], SweepError> {
        let order = Order::Seeded(seed);
        let plain = self.packed(order, Assignment::Words)?;
        let settings = packing::Settings { order, ..self.settings.packing.clone() };
        let (program, goal) = (&self.subject.program, &self.settings.goal);
        let spaced = tune::with_room(program, &self.training, &settings, goal, &self.settings.effort)?;
        let behind = |made: &Packed| self.moved(&Places::of(program, &made.image));
        Ok([behind(&plain)?, behind(&spaced)?])
    }

    /// What became of an input, with its name where that is an error.
    fn of_input<T>(input: &Input, made: Result<T, RunError>) -> Result<T, SweepError> {
        made.map_err(|error| SweepError::Run { input: input.name.clone(), error })
    }

    /// An image on an input, on each core.
    ///
    /// # Errors
    /// What cannot be run, and another output than the unpacked program's.
    pub fn runs(&self, image: &Image, number: usize) -> Result<Vec<Ran>, SweepError> {
        let input = &self.subject.measured[number];
        let run = |(core, plain): (&user::Settings, &Vec<Ran>)| {
            let ran = Ran::of(image, input, &self.chain, core)?;
            match ran.output == plain[number].output {
                true => Ok(ran),
                false => Err(SweepError::Output { input: input.name.clone() }),
            }
        };
        self.cores.iter().zip(&self.plain).map(run).collect()
    }

    /// Both images of an order on every input that is measured, by core.
    ///
    /// # Errors
    /// What cannot be run, and a packed program that does not write what the program writes.
    pub fn ordered(&self, images: &Images) -> Result<Vec<Ordered>, SweepError> {
        let places = Places::of(&self.subject.program, &images.plain);
        let caches = &self.settings.caches;
        let seed = if let Order::Seeded(seed) = images.order { Some(seed) } else { None };
        let report = &images.packed.report;
        let none = Ordered { seed, plain: Vec::new(), packed: Vec::new(), report: report.clone() };
        let mut ordered = vec![none; self.cores.len()];
        for (number, input) in self.subject.measured.iter().enumerate() {
            let plain = self.plain.iter().map(|plain| &plain[number]).collect::<Vec<_>>();
            let before = on_cores(&plain, |ran| ran.moved(&places, caches));
            let ran = self.runs(&images.packed.image, number)?;
            let after = on_cores(&ran.iter().collect::<Vec<_>>(), |ran| ran.behind(caches));
            let both = Self::of_input(input, before)?.into_iter().zip(Self::of_input(input, after)?);
            for (ordered, (before, after)) in ordered.iter_mut().zip(both) {
                ordered.plain.push(before);
                ordered.packed.push(after);
            }
        }
        Ok(ordered)
    }

    /// All that is measured, by core, of orders and the packer's own by core.
    ///
    /// # Errors
    /// What cannot be packed for size alone.
    pub fn measured(
        &self,
        orders: Vec<Vec<Ordered>>,
        placed: Vec<Ordered>,
    ) -> Result<Vec<Measured>, SweepError> {
        let Sweep { subject, settings, .. } = self;
        let smallest = packing::Settings { dictionary: dict::Choice::Static, ..settings.packing.clone() };
        let smallest = packing::pack(&subject.program, &[], &smallest)?;
        let measured = placed.into_iter().enumerate().map(|(core, placed)| {
            let given = subject.measured.iter().zip(&self.plain[core]);
            let given = given.map(|(input, ran)| Self::of_input(input, ran.behind(&settings.caches)));
            Ok(Measured {
                program: subject.name.clone(),
                inputs: subject.measured.iter().map(|input| input.name.clone()).collect(),
                caches: settings.caches.clone(),
                given: given.collect::<Result<_, SweepError>>()?,
                orders: orders.iter().map(|order| order[core].clone()).collect(),
                placed,
                ratio_static: smallest.report.ratio(),
            })
        });
        measured.collect()
    }

    /// The program in an order that is drawn, made smaller in each of these ways, on every input that is measured, on
    /// the first core.
    ///
    /// # Errors
    /// What cannot be packed or run so, and another output than the unpacked program's.
    pub fn others(&self, seed: u64, ways: &[Way]) -> Result<Vec<OtherOrdered>, SweepError> {
        let order = Order::Seeded(seed);
        let plain = self.packed(order, Assignment::Words)?;
        let places = Places::of(&self.subject.program, &plain.image);
        let (mut ordered, mut codes) = (Vec::new(), Vec::new());
        for &way in ways {
            let (ratio, runs) = match way {
                Way::Packets(dictionary) => self.packets(&plain, order, dictionary)?,
                Way::OnFill { code, block_bytes } => match compress(&plain.image, code, block_bytes) {
                    Ok((image, report)) => {
                        let blocks = filled::Blocks::of(&image);
                        codes.push(blocks.map_err(|error| SweepError::Image { error })?);
                        (report.ratio(), OtherRuns::OnFill(Vec::new()))
                    }
                    Err(Error::NotSmaller { .. }) => (1.0, OtherRuns::AsItIs(self.moved(&places)?)),
                    Err(error) => return Err(error.into()),
                },
            };
            ordered.push(OtherOrdered { ratio, runs });
        }
        if codes.is_empty() {
            return Ok(ordered);
        }
        for (input, ran) in self.subject.measured.iter().zip(&self.plain[0]) {
            let decoder = onfill::Settings::default();
            let found = filled::behind(ran, &places, &self.settings.caches, &codes, &decoder);
            let mut found = Self::of_input(input, found)?.into_iter();
            for other in &mut ordered {
                if let OtherRuns::OnFill(runs) = &mut other.runs {
                    runs.extend(found.next());
                }
            }
        }
        Ok(ordered)
    }

    /// The unpacked program with its functions at these places, on every input that is measured, on the first core.
    fn moved(&self, places: &Places) -> Result<Vec<Behind>, SweepError> {
        let moved =
            |(input, ran): (&Input, &Ran)| Self::of_input(input, ran.moved(places, &self.settings.caches));
        self.subject.measured.iter().zip(&self.plain[0]).map(moved).collect()
    }

    /// Packed with a dictionary, and run; `plain` is the program in the same order.
    fn packets(
        &self,
        plain: &Packed,
        order: Order,
        dictionary: dict::Choice,
    ) -> Result<(f64, OtherRuns), SweepError> {
        let settings = packing::Settings { order, dictionary, ..self.settings.packing.clone() };
        let profiles: Vec<Profile> = self.training.iter().map(|training| training.profile.clone()).collect();
        let packed = in_order(packing::pack(&self.subject.program, &profiles, &settings)?, plain);
        let mut runs = Vec::new();
        for (number, input) in self.subject.measured.iter().enumerate() {
            let ran = self.runs(&packed.image, number)?;
            runs.push(Self::of_input(input, ran[0].behind(&self.settings.caches))?);
        }
        Ok((packed.report.ratio(), OtherRuns::Packets(runs)))
    }
}

/// A packed program; where it would not gain, the unpacked one with its functions in the order that was asked for, and
/// not in the linker's, since that is what it stands beside.
fn in_order(packed: Packed, plain: &Packed) -> Packed {
    match packed.report.nothing {
        Some(_) => {
            let report = Report { nothing: packed.report.nothing, ..plain.report.clone() };
            Packed { image: plain.image.clone(), report }
        }
        None => packed,
    }
}

/// What caches make of one program on several cores. What it fetches is asked of them once where that is the same, which
/// no core's time changes.
fn on_cores(
    rans: &[&Ran],
    behind: impl Fn(&Ran) -> Result<Behind, RunError>,
) -> Result<Vec<Behind>, RunError> {
    let first = behind(rans[0])?;
    let others = rans[1..].iter().map(|&ran| match ran.stream == rans[0].stream {
        true => Ok(Behind { cycles: ran.cycles, ..first.clone() }),
        false => behind(ran),
    });
    let others = others.collect::<Result<Vec<_>, _>>()?;
    Ok([first].into_iter().chain(others).collect())
}
