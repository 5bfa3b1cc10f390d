//! Packing for the caches that a program will run behind: `selvedge pack build --for-cache` makes an image by runs of
//! the program, `selvedge pack sweep` says what such images do behind many caches. Inputs are short ones of our own.

mod packed;

use expect_test::expect;
use packed::{Bench, root};
use serde_json::Value;

/// `search` with three inputs: two of one kind and one of another.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let text = std::fs::read_to_string(root().join("data/workload/texts/wizard.txt")).expect("it is there");
    bench.write("a.txt", &text.as_bytes()[..5000]);
    bench.write("b.txt", &text.as_bytes()[5500..10_500]);
    bench.write("c.txt", &bench.read("t")[..5000]);
    bench.write("words", b"wizard\nthe\nwater\nOz\n");
    bench.write(
        "runs.txt",
        b"# what it is told\nsearch a words a.txt\nsearch b words b.txt\nsearch c p c.txt\n",
    );
    bench
}

#[test]
fn an_image_for_a_cache_is_sealed_verified_and_waits_less_behind_it_than_one_for_size() {
    let bench = bench();
    let build = "build search.elf -o search.spk --device-key device.key --integrity 4 --tables 0x42000000";
    let run = "run search.spk --device-key device.key --against search.elf --file words --file b.txt";
    let measured = |more: &str| {
        let built = bench.value(&format!("{build} {more}"));
        assert_eq!(built["packing"]["nothing"], Value::Null, "{more}");
        let verified = bench.value("verify search.spk --device-key device.key --expect-tags");
        assert!(verified["tags"].as_u64() > Some(0) && verified["faults"] == 0, "{verified}");
        let ran = bench.value(&format!("{run} -- words b.txt"));
        assert!(ran["stdout_bytes"].as_u64() > Some(0), "{ran}");
        let counted = |key: &str| ran["run"][key].as_u64().expect("it is counted");
        (built, counted("cache_misses"))
    };
    let (_, of_size) = measured("");
    let (built, of_cache) = measured("--for-cache 1024 --order hot --runs runs.txt --train a,c");
    assert_eq!(built["trained"], serde_json::json!(["a", "c"]));
    let fetches = built["packing"]["fetches"].as_array().expect("a profile for each");
    assert!(fetches.len() == 2 && fetches.iter().all(|one| one["packed"].as_u64() < one["plain"].as_u64()));
    assert!(of_cache * 5 < of_size * 4, "{of_cache} misses, {of_size} when packed for size");
    // The same program and the same runs make the same image.
    let map = || {
        bench.done("unseal search.spk --device-key device.key -o opened.elf --map map.csv");
        bench.read("map.csv")
    };
    let first = map();
    let (again, _) = measured("--for-cache 1024 --order hot --runs runs.txt --train a,c");
    assert!(first == map() && again["packing"] == built["packing"], "{again}");
}

#[test]
fn what_cannot_be_learnt_from_is_said() {
    let bench = bench();
    let build = |more: &str| format!("build search.elf -o search.spk --device-key device.key {more}");
    bench.refused(&build("--for-cache 1000 --runs runs.txt"), 2, expect![[r#"
        error: invalid value '1000' for '--for-cache <BYTES>': found `1000`, expected a power of two from 256 to 16384, or all

        For more information, try '--help'.
    "#]]);
    bench.refused(
        &build("--for-cache 1024 --runs runs.txt --train a,d"),
        2,
        expect![[r#"
        error: `runs.txt`: found no input `d`, expected one of: a, b, c
    "#]],
    );
    bench.write("none.txt", b"susan a words\n");
    bench.refused(
        &build("--for-cache 1024 --runs none.txt"),
        2,
        expect![[r#"
        error: `none.txt`: found no input of the program, expected a line for one to learn from at least
    "#]],
    );
    bench.refused(
        &build("--for-cache 1024 --runs runs.txt --scheme fields"),
        2,
        expect![[r#"
        error: found flags of packing with `--scheme fields`, expected them only with compacket
    "#]],
    );
}

/// Of a mean, the least and the most, as a sweep's value has them.
fn spread(value: &Value) -> [f64; 3] {
    ["mean", "least", "most"].map(|key| value[key].as_f64().unwrap_or_else(|| panic!("{value}")))
}

/// The same in a table.
fn words(value: &Value) -> String {
    let [mean, least, most] = spread(value).map(|part| 100.0 * part);
    format!("{mean:.1} ({least:.1} to {most:.1})")
}

#[test]
fn a_sweep_says_of_every_cache_the_same_for_a_person_for_a_machine_and_in_pictures() {
    let bench = bench();
    let sweep = "sweep search.elf --runs runs.txt --train a --measure b,c --seeds 2 --scheme codepack";
    let told = String::from_utf8(bench.done(&format!("{sweep} --html page.html")).stdout).expect("text");
    let value = bench.value(sweep);
    assert_eq!((&value["program"], &value["timing"]), (&"search".into(), &"leon2".into()));
    assert_eq!((&value["inputs"], &value["seeds"]), (&serde_json::json!(["b", "c"]), &2.into()));
    let cells = value["cells"].as_array().expect("cells");
    let page = String::from_utf8(bench.read("page.html")).expect("text");
    // Seven sizes with 1, 2, 4 and all ways.
    assert_eq!(cells.len(), 7 * 4);
    for cell in cells {
        for key in ["aes", "packed", "packed_to_aes", "lines_left"] {
            let [mean, least, most] = spread(&cell[key]);
            assert!(least <= mean && mean <= most && least > 0.0, "{key}: {cell}");
            assert!(told.contains(&words(&cell[key])) && page.contains(&words(&cell[key])), "{key}: {cell}");
        }
        // Nothing that is sealed is faster than what is not.
        assert!(spread(&cell["aes"])[1] >= 1.0 && cell["hits"].as_f64() > Some(0.5), "{cell}");
    }
    // Where orders differ, so do their values.
    assert!(cells.iter().any(|cell| spread(&cell["packed"])[1] < spread(&cell["packed"])[2]));
    let others = value["others"].as_array().expect("the other way");
    assert_eq!((others.len(), &others[0]["way"]), (1, &"codepack 64".into()));
    assert!(told.contains("codepack 64") && told.contains(&words(&others[0]["cells"][0]["packed"])));
    // Pictures: one for each number of ways, and the same of the other way.
    let figures = page.split("<figure>").skip(1).filter(|figure| figure.contains("<svg"));
    let titles = figures.map(|figure| {
        assert!(figure.contains("AES alone"), "{figure}");
        let titles = ["Direct-mapped", "2 ways", "4 ways", "Fully associative"];
        titles.into_iter().filter(|title| figure.contains(title)).collect::<Vec<_>>()
    });
    let expected = [["Direct-mapped"], ["2 ways"], ["4 ways"], ["Fully associative"]].repeat(2);
    assert_eq!(titles.collect::<Vec<_>>(), expected);
    let sized = value["sized_bytes"].as_u64().expect("a size");
    assert!(told.contains(&format!("the paper's rule takes: a cache of {sized} bytes\n")), "{told}");
}

#[test]
fn a_sweep_takes_the_cycles_of_the_core_that_is_asked_for() {
    let bench = bench();
    let sweep = "sweep search.elf --runs runs.txt --train a --measure b --seeds 1";
    let [leon2, leon3] = ["leon2", "leon3"].map(|core| bench.value(&format!("{sweep} --timing {core}")));
    assert_eq!((&leon2["timing"], &leon3["timing"]), (&"leon2".into(), &"leon3".into()));
    // The same images and fetches; what they take beside differs.
    assert_eq!(leon2["ratio"], leon3["ratio"]);
    let cells =
        leon2["cells"].as_array().expect("cells").iter().zip(leon3["cells"].as_array().expect("cells"));
    for (of_leon2, of_leon3) in cells {
        assert_eq!(
            (&of_leon2["hits"], &of_leon2["lines_left"]),
            (&of_leon3["hits"], &of_leon3["lines_left"])
        );
    }
    assert_ne!(leon2["cells"][0]["packed"], leon3["cells"][0]["packed"]);
    let rv32 = Bench::rv32();
    rv32.write("runs.txt", b"search a p t\nsearch b p t\n");
    rv32.refused("sweep search.elf --runs runs.txt --train a --timing leon3", 2, expect![[r#"
        error: `search.elf`: found a program for RV32IM, expected one for SPARC V8, which `--timing leon3` is for
    "#]]);
}
