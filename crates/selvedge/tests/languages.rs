//! What two languages must agree on: numbers of the node's firmware that a deployment is checked against, and
//! the EEPROM image that the host writes and the node reads.
//!
//! The firmware's side is its own C, compiled here by the system's compiler with the drivers in `cross/`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cipher::suites::SUITES;
use cipher::{CellMaster, Key, NodeMaster, Suite};
use selvedge::limits;
use selvedge::link::deployment::{self, Node};
use selvedge::link::filters::Filters;
use selvedge::link::provision;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compiles `cross/<driver>.c` with `sources` of the firmware, runs it on `input` and returns its lines as
/// name and value. `None` after saying that there is no compiler.
fn firmware(driver: &str, sources: &[&str], input: &[u8]) -> Option<BTreeMap<String, String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join(driver);
    let node = repository("firmware/node");
    let mut compile = Command::new("gcc");
    compile.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-I"]).arg(&node);
    compile.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cross").join(format!("{driver}.c")));
    compile.args(sources.iter().map(|source| node.join(source))).arg("-o").arg(&program);
    match compile.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            println!("skip: cross {driver}: found no gcc");
            return None;
        }
        output => {
            let output = output.expect("gcc runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let mut child =
        Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("it is piped").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("it prints ASCII");
    let line =
        |line: &str| line.split_once(' ').map_or((line.into(), String::new()), |(a, b)| (a.into(), b.into()));
    Some(text.lines().map(line).collect())
}

#[test]
fn host_and_firmware_count_with_the_same_numbers() {
    let Some(numbers) = firmware("numbers", &[], b"") else { return };
    let host: [(&str, u64); 26] = [
        ("ASK_CYCLES_MAX", limits::ASK_CYCLES_MAX.into()),
        ("FIRST_BYTE_CYCLES_MAX", limits::FIRST_BYTE_CYCLES_MAX.into()),
        ("SECURITY_CYCLES_MAX", limits::SECURITY_CYCLES_MAX),
        ("STATIC_BYTES_MAX_ATMEGA128", limits::HANDLED_STATIC_BYTES_MAX),
        ("STATIC_BYTES_MAX_WOVEN", limits::WOVEN_STATIC_BYTES_MAX),
        ("FRAME_BYTES_MAX", limits::FRAME_BYTES_MAX),
        ("FRAME_HEADER_BYTES", limits::FRAME_HEADER_BYTES),
        ("FRAME_SAMPLES_MAX", limits::SAMPLES_PER_SUPERFRAME_MAX),
        ("SAMPLES_CODES_AT", limits::SAMPLES_HEADER_BYTES),
        (
            "BEACON_BYTES_MAX",
            limits::BEACON_FIXED_BYTES + u64::from(limits::SLOTS_MAX) * limits::BEACON_ENTRY_BYTES,
        ),
        ("BEACON_NODES_AT", limits::BEACON_FIXED_BYTES - 16),
        ("BEACON_SLOTS_MAX", limits::SLOTS_MAX.into()),
        ("BEACON_TAG_BYTES", 16),
        ("CLOCK_HZ_MAX", 20_000_000),
        ("CLOCK_HZ_MIN", 1_000_000),
        ("DRIFT_SHIFT_UNMEASURED", limits::DRIFT_SHIFT_UNMEASURED.into()),
        ("HANDLED_BYTE_OVERHEAD_CYCLES", limits::HANDLED_BYTE_OVERHEAD_CYCLES),
        ("HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES", limits::HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES),
        ("LINK_BYTES_MAX", limits::NODE_RECEIVE_BYTES_MAX),
        ("POLLED_BYTE_OVERHEAD_CYCLES", limits::POLLED_BYTE_OVERHEAD_CYCLES),
        ("SAMPLE_GAP_CYCLES_MIN", limits::SAMPLE_GAP_CYCLES_MIN),
        ("SEND_LEAD_CYCLES", limits::SEND_LEAD_CYCLES),
        ("START_DELAY_CYCLES_MAX", limits::START_DELAY_CYCLES_MAX),
        ("SUITE_TAG_BYTES_MAX", limits::TAG_BYTES_MAX),
        ("SUPERFRAME_US_MAX", 10_000_000),
        ("VERIFY_CYCLES_MAX", limits::VERIFY_CYCLES_MAX),
    ];
    let host = host.map(|(name, value)| (name.to_string(), value.to_string()));
    // No firmware speaks a legacy suite.
    let suites = SUITES
        .iter()
        .filter(|row| !row.is_legacy)
        .filter_map(|row| Some((format!("suite_{}", row.node_number?), row.tag_bytes.to_string())));
    let host: BTreeMap<String, String> = host.into_iter().chain(suites).collect();
    assert_eq!(host, numbers, "help: src/limits.rs is the host's side, firmware/node the other one");
    assert_eq!(
        (limits::CLOCK, limits::SUPERFRAME[1]),
        (["1 MHz", "20 MHz"], "10 s"),
        "written as a deployment does"
    );
}

fn masters() -> (NodeMaster, CellMaster) {
    (NodeMaster::from(Key::copied_from(&[0x11; 32])), CellMaster::from(Key::copied_from(&[0x22; 32])))
}

#[test]
fn the_node_reads_what_the_host_provisions() {
    let deployment = deployment::load(&repository("deployments/ecg.toml")).expect("the example is sound");
    let (node_master, cell_master) = masters();
    let cell = &deployment.cells[0];
    // One more that is as different as it can be.
    let other = Node { suite: Suite::Aes128Ccm, channel: 5, divider: 128, ..cell.nodes[3].clone() };
    for node in cell.nodes.iter().chain([&other]) {
        let image = provision::eeprom(node, cell, 3, &node_master, &cell_master);
        let Some(found) = firmware("provision", &["provision.c", "counter.c", "epoch.c"], image.as_slice())
        else {
            return;
        };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let traffic = node_master.traffic_key(node.id, 3, node.suite);
        let expected = [
            ("node", node.id.to_string()),
            ("cell", cell.id.to_string()),
            ("epoch", "3".into()),
            ("samples", "90".into()),
            ("block", node.counter_block.to_string()),
            ("suite", node.suite.row().node_number.expect("the node link speaks it").to_string()),
            ("channel", node.channel.to_string()),
            ("divider", node.divider.ilog2().to_string()),
            ("clock", "8000000".into()),
            ("key", hex(traffic.key().expose())),
            ("iv", hex(traffic.iv().expose())),
            ("cell_key", hex(cell_master.cell_key(cell.id).key().expose())),
            // Fresh slots: the first block is reserved, and its first count is 0.
            ("count", "0".into()),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_string(), value)).into());
    }
}

#[test]
fn the_node_refuses_an_image_that_was_changed() {
    let deployment = deployment::load(&repository("deployments/ecg.toml")).expect("the example is sound");
    let (node_master, cell_master) = masters();
    let (cell, node) = (&deployment.cells[0], &deployment.cells[0].nodes[0]);
    let sound = provision::eeprom(node, cell, 0, &node_master, &cell_master);
    let answer = |image: &[u8]| firmware("provision", &["provision.c", "counter.c", "epoch.c"], image);
    let mut changed = sound.clone();
    changed[0x21] ^= 1;
    let Some(found) = answer(changed.as_slice()) else { return };
    assert!(found.contains_key("refused"), "{found:?}");
    let mut keyless = sound.clone();
    keyless[0x58] ^= 1;
    assert!(answer(keyless.as_slice()).expect("gcc was there").contains_key("refused"));
    // Both counter slots damaged: no count is known to be fresh.
    let mut silent = sound.clone();
    (silent[0x28], silent[0x30]) = (silent[0x28] ^ 1, silent[0x30] ^ 1);
    assert!(answer(silent.as_slice()).expect("gcc was there").contains_key("silent"));
}

/// What woven filters are compared with is the same cell but for them.
#[test]
fn what_the_example_is_compared_with_differs_in_its_filters_alone() {
    let ecg = fs::read_to_string(repository("deployments/ecg.toml")).expect("it is there");
    for (name, filters) in [
        ("ecg-busy-wait", Filters::Discrete),
        ("ecg-handler", Filters::Handler),
        ("ecg-handler-by-hand", Filters::HandlerByHand),
    ] {
        let path = repository(&format!("deployments/{name}.toml"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let named = |filters: Filters| format!("filters = \"{}\"", filters.name());
        assert_eq!(text, ecg.replacen(&named(Filters::Woven), &named(filters), 1), "{name}");
        let deployment = deployment::load(&path).unwrap_or_else(|error| panic!("{}", error.lines()));
        let found = deployment.cells[0].nodes.iter().map(|node| node.filters);
        assert!(found.eq([filters, filters, filters, Filters::Discrete]), "{name}");
    }
}
