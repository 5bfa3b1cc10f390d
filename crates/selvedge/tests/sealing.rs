//! What a deployment is checked against is what the firmware takes: the real image on both chips, to the cycle.
//!
//! The witnesses are the simulator's phases (the firmware's own marks) and the bus. A cost in the table that is too low
//! lets a deployment pass that sends nothing; one that is far too high refuses deployments that work.

#[allow(dead_code)] // nothing is drawn from a seed here
mod rig;

use cell::log::Phase;
use cell::{Cell, Pace, Transmission};
use cipher::Suite;
use rig::Rig;
use selvedge::link::Chip;
use selvedge::link::deployment::{self, Deployment};
use selvedge::link::sealing::{
    RECEIVED_BYTE_CYCLES, converter_divider, disturbed_cycles, undisturbed_cycles,
};
use selvedge::toolchain::Compiler;

const CHIPS: [&str; 2] = ["atmega128", "atmega328p"];
const SUITES: [Suite; 2] = [Suite::AsconAead128, Suite::Aes128Ccm];
const CLOCK_HZ: u64 = 8_000_000;
const SUPERFRAMES: u32 = 10;
const PS_PER_US: u64 = 1_000_000;

/// One node alone in a cell.
#[derive(Clone, Copy, Debug)]
struct Case {
    chip: &'static str,
    suite: Suite,
    samples: u64,
    rate_hz: u64,
    slot: u64,
    slot_us: u64,
}

fn text(case: &Case) -> String {
    let Case { chip, suite, samples, rate_hz, slot, slot_us } = case;
    format!(
        r#"
        [deployment]
        name = "sealing"
        seed = 1
        duration = "10 s"

        [input.ecg]
        file = "../data/ecg/ecg.csv"
        column = "mlii"
        rate = "360 Hz"
        zero = 1024
        scale = "5 uV"

        [cell.bench]
        id = 7
        superframe = "{} us"
        slot = "{slot_us} us"
        guard = "300 us"
        bus = "500 kHz"
        byte_gap = "250 ns"

        [[cell.bench.node]]
        id = 1
        slot = {slot}
        chip = "{chip}"
        clock = "8 MHz"
        input = "ecg"
        gain = "x300"
        offset = "1.28 V"
        reference = "2.56 V"
        rate = "{rate_hz} Hz"
        bus = "f/16"
        counter_block = 1024
        suite = "{suite}"
        "#,
        samples * 1_000_000 / rate_hz
    )
}

/// The rig's cell, run for [`SUPERFRAMES`], and whether its node sent within its slot in each of them.
fn run(rig: &Rig) -> (Cell, Vec<bool>) {
    let mut cell = rig.cell(Pace::RunAhead);
    let plan = rig.plan();
    let (mut origin_ps, mut kept) = (None, Vec::new());
    for number in 0..SUPERFRAMES {
        let superframe = cell.run_superframe().unwrap_or_else(|error| panic!("{error}"));
        let start_ps = *origin_ps.get_or_insert(superframe.transmissions[0].start_ps);
        let slot_us = u64::from(number) * u64::from(plan.superframe_us)
            + u64::from(plan.nodes[0].slot) * u64::from(plan.slot_us);
        let from_ps = start_ps + slot_us * PS_PER_US;
        let until_ps = from_ps + u64::from(plan.slot_us) * PS_PER_US;
        let is_own = |sent: &&Transmission| sent.node == Some(0);
        let sent = superframe.transmissions.iter().find(is_own);
        assert!(sent.is_none_or(|sent| from_ps <= sent.start_ps && sent.end_ps <= until_ps), "{sent:?}");
        kept.push(sent.is_some());
    }
    (cell, kept)
}

/// Cycles from the hold of a frame's last sample to the first of its sealing, and of its sealing, interrupts included;
/// the longest of a run.
fn measured(cell: &mut Cell, samples: usize) -> (u64, u64) {
    let node = &mut cell.nodes_mut()[0];
    let taken = node.log_mut().take_samples();
    let (mut seals, mut is_open) = (Vec::<(u64, u64)>::new(), false);
    for span in node.log().spans() {
        match span.phase {
            Phase::Sealing if is_open => seals.last_mut().expect("it is open").1 = span.end,
            Phase::Sealing => {
                seals.push((span.start, span.end));
                is_open = true;
            }
            // Who is woken meanwhile waits again soon; in between two frames the core sleeps.
            Phase::Sampling | Phase::Receiving | Phase::Waiting => {}
            _ => is_open = false,
        }
    }
    assert!(seals.len() >= 6, "it sealed {} frames", seals.len());
    let last = |frame: usize| taken[(frame + 1) * samples - 1].cycle;
    let waits = seals.iter().enumerate().map(|(frame, seal)| seal.0 - last(frame)).max();
    let longest = seals.iter().map(|seal| seal.1 - seal.0).max();
    (waits.expect("some"), longest.expect("some"))
}

#[track_caller]
fn assert_near(said: u64, measured: u64, what: &str) {
    println!("{what}: {measured} cycles of the {said} that are said");
    assert!(measured <= said, "{what} takes {measured} cycles, and the table says {said}: raise it");
    assert!(10 * measured >= 7 * said, "{what} takes {measured} cycles, and the table says {said}: lower it");
}

#[test]
fn the_table_says_what_a_seal_takes_on_both_chips_and_not_much_more() {
    let Some(compiler) = rig::compiler("cycles of a seal") else { return };
    for chip in CHIPS {
        for suite in SUITES {
            // Slow sampling, where nothing else happens and where the beacon comes in meanwhile; and fast.
            for (samples, rate_hz) in
                [(1, 20), (5, 20), (13, 20), (50, 100), (111, 200), (90, 360), (110, 1000)]
            {
                let slot_us = (samples * 1_000_000 / rate_hz / 8).min(60_000);
                let case = Case { chip, suite, samples, rate_hz, slot: 5, slot_us };
                let deployment = rig::deployment(&text(&case));
                let images = rig::images(&compiler, &rig::root(), &deployment);
                let (mut cell, _) = run(&Rig::new(deployment, images));
                let (wait, seal) = measured(&mut cell, samples as usize);
                let step_cycles = CLOCK_HZ / rate_hz;
                let undisturbed = undisturbed_cycles(suite, 6 + 2 * samples);
                // A beacon of five slots comes in when sealing goes on beyond the superframe's start.
                let heard_bytes = if step_cycles > undisturbed + 10_000 { 0 } else { 32 + 4 * 5 };
                let said = disturbed_cycles(undisturbed + RECEIVED_BYTE_CYCLES * heard_bytes, step_cycles);
                assert_near(said, seal, &format!("{suite} on an {chip}, {samples} samples at {rate_hz} Hz"));
                // With few samples it is the downlink slot that sealing waits for.
                if wait < 10_000 {
                    let collect_cycles = Chip::find(chip).expect("it is simulated").collect_cycles;
                    assert_near(
                        12 * converter_divider(CLOCK_HZ) + collect_cycles,
                        wait,
                        "from hold to sealing",
                    );
                }
            }
        }
    }
}

/// Whether the deployment is accepted; if not, in what words.
fn check(case: &Case) -> Result<Deployment, String> {
    let path = rig::root().join("deployments/of-a-test.toml");
    deployment::check(&path, text(case)).map_err(|problems| problems.to_string())
}

/// Whether each superframe's frame was sent, once the node has joined.
fn keeps_its_slot(kept: &[bool]) -> bool {
    kept[4..].iter().all(|kept| *kept)
}

/// What became of the frames of an accepted case.
fn run_case(compiler: &Compiler, case: &Case) -> Vec<bool> {
    let deployment = check(case).unwrap_or_else(|words| panic!("{words}"));
    let images = rig::images(compiler, &rig::root(), &deployment);
    run(&Rig::new(deployment, images)).1
}

#[test]
fn the_first_slot_that_is_accepted_is_kept() {
    let Some(compiler) = rig::compiler("first slot") else { return };
    for chip in CHIPS {
        for (suite, samples, slot_us) in
            [(Suite::Aes128Ccm, 18, 3_000), (Suite::Aes128Ccm, 36, 4_000), (Suite::AsconAead128, 36, 4_000)]
        {
            let case = |slot| Case { chip, suite, samples, rate_hz: 720, slot, slot_us };
            let first = (1..=10).map(case).find(|case| check(case).is_ok()).expect("one of them will do");
            let kept = run_case(&compiler, &first);
            assert!(keeps_its_slot(&kept), "{first:?}: {kept:?}");
        }
    }
}

/// The number behind `words` in a message.
fn number_after(message: &str, words: &str) -> Option<u64> {
    let rest = message.split(words).nth(1)?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn a_slot_that_comes_before_its_frame_is_refused_and_the_one_that_the_help_names_is_kept() {
    let Some(compiler) = rig::compiler("a slot before its frame") else { return };
    let (chip, suite) = ("atmega328p", Suite::Aes128Ccm);
    let case = Case { chip, suite, samples: 20, rate_hz: 800, slot: 1, slot_us: 2_200 };
    let words = check(&case).expect_err("it is ready too late");
    let place = text(&case).lines().position(|line| line.contains("slot = 1")).expect("it is there") + 1;
    assert!(words.contains(&format!(":{place}: a frame of 64 bytes under aes-128-ccm is ready ")), "{words}");
    let slot = number_after(&words, "help: slot ").expect("a slot");
    assert!(check(&Case { slot: slot - 1, ..case }).is_err(), "it is not the first that will do");
    let will_do = Case { slot, ..case };
    let kept = run_case(&compiler, &will_do);
    assert!(keeps_its_slot(&kept), "{kept:?}");
    // What was refused sends nothing: the check is no formality.
    let mut deployment = check(&will_do).expect("it was accepted");
    deployment.cells[0].nodes[0].slot = 1;
    let images = rig::images(&compiler, &rig::root(), &deployment);
    let (_, kept) = run(&Rig::new(deployment, images));
    assert!(kept.iter().all(|kept| !kept), "{kept:?}");
}

#[test]
fn a_superframe_without_time_to_seal_is_refused_and_the_one_that_the_help_names_is_long_enough() {
    let Some(compiler) = rig::compiler("a superframe without time to seal") else { return };
    let (chip, suite) = ("atmega328p", Suite::Aes128Ccm);
    let case = Case { chip, suite, samples: 7, rate_hz: 1_000, slot: 1, slot_us: 2_200 };
    let words = check(&case).expect_err("7 ms are not enough");
    let superframe_ms = number_after(&words, "help: a superframe of ").expect("a superframe");
    let slot = number_after(&words, "with slot ").expect("a slot");
    println!("{words}");
    let will_do = Case { samples: superframe_ms, slot, ..case };
    let kept = run_case(&compiler, &will_do);
    assert!(keeps_its_slot(&kept), "{kept:?}");
    assert!(check(&Case { samples: superframe_ms - 1, ..will_do }).is_err(), "it is not the shortest");
    let mut deployment = check(&will_do).expect("it was accepted");
    let short = &mut deployment.cells[0];
    // At 7 ms a frame that is late hits the next superframe's slot now and then; at 5 ms none does.
    assert!(check(&Case { samples: 5, ..case }).is_err());
    (short.superframe_us, short.nodes[0].slot) = (5_000, 1);
    short.nodes[0].samples_per_superframe = 5;
    let images = rig::images(&compiler, &rig::root(), &deployment);
    let (_, kept) = run(&Rig::new(deployment, images));
    assert!(kept.iter().all(|kept| !kept), "{kept:?}");
}

#[test]
fn a_late_slot_that_leaves_no_time_for_the_beacon_behind_it_is_refused_and_loses_superframes() {
    let Some(compiler) = rig::compiler("a slot without time for the beacon") else { return };
    let (chip, suite) = ("atmega328p", Suite::AsconAead128);
    let case = Case { chip, suite, samples: 16, rate_hz: 1_000, slot: 5, slot_us: 2_200 };
    let words = check(&case).expect_err("the superframe ends too soon behind it");
    assert!(words.contains("behind its frame in slot 5 the node verifies the beacon until 1"), "{words}");
    let slot = number_after(&words, "help: slot ").expect("a slot");
    let will_do = Case { slot, ..case };
    let kept = run_case(&compiler, &will_do);
    assert!(keeps_its_slot(&kept), "{kept:?}");
    let mut deployment = check(&will_do).expect("it was accepted");
    deployment.cells[0].nodes[0].slot = 5;
    let images = rig::images(&compiler, &rig::root(), &deployment);
    let (_, kept) = run(&Rig::new(deployment, images));
    assert!(!keeps_its_slot(&kept), "{kept:?}");
}
