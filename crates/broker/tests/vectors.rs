//! Official vectors through a broker's socket, all of them, and the table of them in `docs/broker.md`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use broker::device::{Device, Loopback};
use broker::engine::Engine;
use broker::vectors::{self, Report, Wanted};
use broker::wire::Operation;
use broker::{Config, Endpoint, Settings, serve};
use tokio::sync::oneshot;

/// What is found at a broker with this device.
async fn ask(device: Box<dyn Engine>, wanted: Wanted, is_provided: bool) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let socket: PathBuf = folder.path().join("broker.sock");
    let (stop, stopped) = oneshot::channel::<()>();
    let (ready, is_ready) = oneshot::channel();
    let task = tokio::spawn(serve(Config {
        endpoint: Endpoint::Path(socket.clone()),
        devices: vec![Device::Inline(device).into()],
        settings: Settings::default(),
        ready: Box::new(move || ready.send(()).expect("the test waits")),
        stop: Box::pin(async { drop(stopped.await) }),
    }));
    is_ready.await.expect("the broker starts");
    let report = vectors::ask(&socket, wanted, is_provided, |_, _| {}).await.unwrap();
    drop(stop);
    task.await.unwrap().unwrap();
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn every_official_vector_passes_through_the_socket() {
    let report = ask(Box::new(vectors::device().unwrap()), Wanted::default(), true).await;
    assert_eq!(report.failures, []);
    for operation in Operation::ALL {
        // The three are counted as one.
        let counted = match operation {
            Operation::Update | Operation::Finish => &Operation::Begin,
            operation => operation,
        };
        let mut lines = report.lines.iter().filter(|(line, _)| line.operation == *counted);
        assert!(lines.any(|(_, counts)| counts.passed > 0 || !counts.skipped.is_empty()), "{operation:?}");
    }
    let mut table =
        "| operation | algorithm | source | passed | skipped |\n|---|---|---|---:|---|\n".to_owned();
    for (line, counts) in &report.lines {
        let words = [line.called(), line.algorithm, line.source].join(" | ");
        writeln!(table, "| {words} | {} | {} |", counts.passed, counts.reasons()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/broker.md");
    let page = std::fs::read_to_string(&path).expect("the documentation is there");
    let (above, rest) = page.split_once("<!-- vectors -->\n").expect("the table's place is marked");
    let (_, below) = rest.split_once("<!-- end -->").expect("its end, too");
    let expected = format!("{above}<!-- vectors -->\n{table}<!-- end -->{below}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &expected).expect("it can be written");
    } else {
        assert!(page == expected, "run `make bless`");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_answers_wrong_is_seen_by_every_vector() {
    let report =
        ask(Box::new(Loopback::default()), Wanted { source: None, operation: Some(Operation::Hash) }, false)
            .await;
    let [passed, failed, skipped] = report.totals();
    assert_eq!((passed, skipped), (0, 128));
    assert_eq!(failed, report.failures.len());
    assert_eq!(failed, 1044);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_only_a_deployment_can_give_are_not_asked_of_others() {
    let wanted = Wanted { operation: Some(Operation::KeyWrap), source: Some("Wycheproof".to_owned()) };
    let report = ask(Box::new(vectors::device().unwrap()), wanted, false).await;
    assert_eq!(report.totals(), [0, 0, 77]);
    let [counts] = &report.lines.values().collect::<Vec<_>>()[..] else { panic!("one line") };
    assert_eq!(counts.reasons(), "77: only a deployment can give the device such a key, and did not");
}
