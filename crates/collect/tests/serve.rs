//! The daemon over real sockets and real TLS, with certificates made here: who is let in, what is refused,
//! and that the service goes on.

mod bridge;
mod service;

use std::sync::Arc;

use bridge::{Bridge, CELL, NODES, SPOOL, node_frame, open_downlink, samples, store_master};
use collect::batch::{Answer, BatchId, Hello, batch_message};
use collect::client::{AnswerReceiver, connect};
use collect::error::{Fault, Refusal};
use collect::limits::{Limits, MESSAGE_BYTES_MAX};
use collect::stats::Stats;
use collect::store::{Filter, read, verify};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use service::{Authority, HELLO, NAME, Server};
use tokio::io::AsyncReadExt;

/// Runs `test` against a fresh server and returns its counts.
fn with_server<F: Future<Output = ()>>(
    limits: Limits,
    test: impl FnOnce(Arc<Server>, Arc<Authority>) -> F,
) -> Stats {
    let folder = tempfile::tempdir().unwrap();
    let authority = Arc::new(Authority::new());
    let server = Arc::new(Server::start(&authority, &folder.path().join("store"), limits));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test(server.clone(), authority));
    drop(runtime);
    let Ok(server) = Arc::try_unwrap(server) else { panic!("the test keeps the server") };
    server.stop()
}

async fn expect_refusal(answers: &mut AnswerReceiver, refusal: Refusal) -> BatchId {
    match answers.next().await.unwrap() {
        Some(Answer::Refused { id, status }) => {
            assert_eq!(Refusal::from_number(status), Some(refusal));
            id
        }
        other => panic!("expected refusal {refusal}, found {other:?}"),
    }
}

/// The server still answers a good batch.
async fn expect_service(server: &Server, client: &Arc<ClientConfig>, number: u64) {
    let mut bridge = Bridge::new();
    let (mut sender, mut answers) = server.connect(client).await;
    sender.send(&Bridge::id(number), &bridge.superframe(number)).await.unwrap();
    let Some(Answer::Receipt { sealed, .. }) = answers.next().await.unwrap() else { panic!("no receipt") };
    assert_eq!(bridge.open(number, sealed).stored, NODES as u16);
}

#[test]
fn batches_are_stored_answered_in_order_and_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let authority = Authority::new();
    let client = authority.client(&authority);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    const BATCHES: u64 = 100;
    let mut downlinks = std::collections::BTreeSet::new();
    // The second round sends the same frames to a new process: all are duplicates.
    for round in 0..2 {
        let server = Server::start(&authority, &store, Limits::default());
        runtime.block_on(async {
            let (mut sender, mut answers) = server.connect(&client).await;
            let mut bridge = Bridge::new();
            let batches: Vec<_> = (0..BATCHES).map(|number| bridge.superframe(number)).collect();
            let sending = async {
                for (number, sealed) in (0..).zip(&batches) {
                    sender.send(&Bridge::id(number), sealed).await.unwrap();
                }
                sender.finish().await.unwrap();
            };
            let receiving = async {
                for number in 0..BATCHES {
                    let answer = answers.next().await.unwrap().unwrap();
                    assert_eq!(answer.id(), Bridge::id(number), "answers come in order");
                    let Answer::Receipt { sealed, .. } = answer else { panic!("batch {number} was refused") };
                    let receipt = bridge.open(number, sealed);
                    let counts = (receipt.stored, receipt.duplicate, receipt.failed_total());
                    assert_eq!(counts, [(NODES as u16, 0, 0), (0, NODES as u16, 0)][round]);
                    for (node, bytes) in (0..NODES).zip(&receipt.downlinks) {
                        let (to, count, acknowledged) = open_downlink(bytes);
                        assert_eq!((to, acknowledged), (node, number as u32 + 1));
                        assert!(downlinks.insert((to, count)), "a downlink counter was used twice");
                    }
                }
                assert_eq!(answers.next().await.unwrap(), None, "the server says farewell");
            };
            tokio::join!(sending, receiving);
        });
        let stats = server.stop();
        let frames = BATCHES * u64::from(NODES);
        assert_eq!(stats.frames_stored, [frames, 0][round]);
        assert_eq!(stats.frames_duplicate, [0, frames][round]);
        assert_eq!((stats.batches, stats.durable_latency.count, stats.connections), (BATCHES, BATCHES, 1));
        let stages = stats.stages.named().map(|(_, stage)| stage.count);
        assert_eq!(stages, [BATCHES; 6], "each batch passes each stage");
        let written: serde_json::Value =
            serde_json::from_slice(&std::fs::read(store.with_extension("json")).unwrap()).unwrap();
        assert_eq!(written, serde_json::to_value(&stats).unwrap());
    }
    assert_eq!(downlinks.len() as u64, 2 * BATCHES * u64::from(NODES));

    let records: Vec<_> =
        read(&store, store_master(), Filter::default()).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.len() as u64, BATCHES * u64::from(NODES));
    for record in &records {
        assert_eq!(record.waveform, samples(record.node, record.counter).waveform);
        assert_eq!(record.sample_ps, u64::from(record.counter) * 250_000_000_000);
        assert_eq!(
            (record.batch, u64::from(record.counter)),
            (Bridge::id(record.batch.number), record.batch.number)
        );
    }
    let one = Filter { node: Some(2), sample_ps: Some(0..=500_000_000_000), ..Filter::default() };
    let few: Vec<_> =
        read(&store, store_master(), one).unwrap().map(|record| record.unwrap().counter).collect();
    assert_eq!(few, [0, 1, 2]);
    let verified = verify(&store, store_master()).unwrap();
    assert_eq!((verified.records, verified.corrupt.len(), verified.torn), (records.len() as u64, 0, 0));
}

#[test]
fn a_client_that_is_not_of_the_deployment_is_refused() {
    let stats = with_server(Limits::default(), async |server: Arc<Server>, authority: Arc<Authority>| {
        let (stranger, impostor) = (Authority::named("somebody else"), Authority::new());
        let provider = || Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.certificate_pem.as_bytes()).unwrap()).unwrap();
        let without_certificate = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        let (certificate, key) = authority.sign("bridge-7");
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let old_version = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .unwrap();
        for (who, client, words) in [
            ("no certificate", Arc::new(without_certificate), "CertificateRequired"),
            ("a certificate of another authority", stranger.client(&authority), "UnknownCA"),
            ("a certificate of an authority of the same name", impostor.client(&authority), "DecryptError"),
            ("TLS 1.2", Arc::new(old_version), "ProtocolVersion"),
        ] {
            let failed = match connect(server.address, NAME, client, HELLO).await {
                Err(error) => error,
                // TLS 1.3 tells a client only when it reads.
                Ok((_, mut answers)) => answers.next().await.expect_err(who),
            };
            assert!(failed.to_string().contains(words), "{who}: {failed}");
        }
        // And a server of another authority is refused by the client.
        let suspicious = authority.client(&stranger);
        let failed = connect(server.address, NAME, suspicious, HELLO).await.map(drop).unwrap_err();
        assert!(failed.to_string().contains("UnknownIssuer"), "{failed}");
        expect_service(&server, &authority.client(&authority), 1).await;
    });
    assert_eq!((stats.connections, stats.connections_failed), (1, 5));
}

#[test]
fn what_is_refused_has_a_name_and_the_service_goes_on() {
    let limits = Limits { batch_frames_max: 8, ..Limits::default() };
    let stats = with_server(limits, async |server: Arc<Server>, authority: Arc<Authority>| {
        let client = authority.client(&authority);
        let mut bridge = Bridge::new();

        // A message that is too long ends its connection; the rest of it is not read.
        let (mut sender, mut answers) = server.connect(&client).await;
        let oversize =
            [&(MESSAGE_BYTES_MAX as u32 + 1).to_le_bytes()[..], &vec![0; MESSAGE_BYTES_MAX + 1]].concat();
        sender.send_bytes(&oversize).await.unwrap();
        assert_eq!(expect_refusal(&mut answers, Refusal::Oversize).await, Bridge::id(0));
        assert_eq!(answers.next().await.unwrap(), None);

        // Batches that are refused do not end it.
        let (mut sender, mut answers) = server.connect(&client).await;
        let mut forged = bridge.superframe(1);
        forged[30] ^= 1;
        sender.send(&Bridge::id(1), &forged).await.unwrap();
        let layout = bridge.seal_plaintext(2, &[7; 5]);
        sender.send(&Bridge::id(2), &layout).await.unwrap();
        sender.send(&Bridge::id(9), &bridge.superframe(9)).await.unwrap();
        let other = BatchId { spool: 1, ..Bridge::id(3) };
        sender.send(&other, &bridge.superframe(3)).await.unwrap();
        let many: Vec<_> = (0..9).map(|counter| node_frame(1, 50 + counter)).collect();
        sender.send(&Bridge::id(3), &bridge.seal(3, &many)).await.unwrap();
        sender.send(&Bridge::id(4), &bridge.superframe(4)).await.unwrap();
        assert_eq!(expect_refusal(&mut answers, Refusal::Rejected).await, Bridge::id(1));
        assert_eq!(expect_refusal(&mut answers, Refusal::Layout).await, Bridge::id(2));
        assert_eq!(expect_refusal(&mut answers, Refusal::Order).await, Bridge::id(9));
        assert_eq!(expect_refusal(&mut answers, Refusal::Spool).await, other);
        assert_eq!(expect_refusal(&mut answers, Refusal::Frames).await, Bridge::id(3));
        let Some(Answer::Receipt { id, .. }) = answers.next().await.unwrap() else { panic!("no receipt") };
        assert_eq!(id, Bridge::id(4));

        // A kind that does not exist, an empty message, a second hello: each ends its connection.
        for (bytes, refusal) in [
            (vec![1, 0, 0, 0, 0x77], Refusal::Malformed),
            (vec![0, 0, 0, 0], Refusal::Malformed),
            (HELLO.to_message(), Refusal::Hello),
        ] {
            let (mut sender, mut answers) = server.connect(&client).await;
            sender.send_bytes(&bytes).await.unwrap();
            expect_refusal(&mut answers, refusal).await;
            assert_eq!(answers.next().await.unwrap(), None);
        }

        // A cell that the server does not know.
        let nobody = Hello { cell: 9, spool: 1 };
        let stranger = authority.client_for(9, &authority);
        let (mut sender, mut answers) = connect(server.address, NAME, stranger, nobody).await.unwrap();
        let id = BatchId { cell: 9, spool: 1, number: 0 };
        sender.send_bytes(&batch_message(&id, &bridge.superframe(0))).await.unwrap();
        assert_eq!(expect_refusal(&mut answers, Refusal::Cell).await, id);
        expect_service(&server, &client, 5).await;
    });
    let refused: Vec<_> = stats.refused.into_iter().collect();
    let expected = [
        ("hello", 1),
        ("layout", 1),
        ("malformed", 2),
        ("number-skipped", 1),
        ("other-spool", 1),
        ("oversize", 1),
        ("rejected", 1),
        ("too-many-frames", 1),
        ("unknown-cell", 1),
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_bridge_speaks_for_the_cell_in_its_certificate_and_for_no_other() {
    let stats = with_server(Limits::default(), async |server: Arc<Server>, authority: Arc<Authority>| {
        // It has the authority's trust, and the batch key of another cell; its certificate is for cell 8.
        let neighbour = authority.client_for(CELL + 1, &authority);
        let mut bridge = Bridge::new();
        let (mut sender, mut answers) = server.connect(&neighbour).await;
        // The server may have hung up before this is written.
        let _ = sender.send(&Bridge::id(0), &bridge.superframe(0)).await;
        let id = expect_refusal(&mut answers, Refusal::Certificate).await;
        assert_eq!((id.cell, id.spool), (CELL, SPOOL));
        assert_eq!(answers.next().await.unwrap(), None);
        expect_service(&server, &authority.client(&authority), 1).await;
    });
    assert_eq!((stats.connections, stats.connections_failed), (1, 1));
    assert_eq!(stats.refused.into_iter().collect::<Vec<_>>(), [("other-certificate", 1)]);
}

#[test]
fn failed_frames_are_counted_by_reason_in_the_receipt_and_in_the_counts() {
    let stats = with_server(Limits::default(), async |server: Arc<Server>, authority: Arc<Authority>| {
        let (mut sender, mut answers) = server.connect(&authority.client(&authority)).await;
        let mut bridge = Bridge::new();
        let mut forged = node_frame(0, 2);
        forged[15] ^= 0x80;
        let stranger = [&node_frame(0, 3)[..1], &[99], &node_frame(0, 3)[2..]].concat();
        let frames = [node_frame(0, 1), forged, stranger, node_frame(0, 1), vec![1, 2, 3], vec![]];
        sender.send(&Bridge::id(0), &bridge.seal(0, &frames)).await.unwrap();
        let Some(Answer::Receipt { sealed, .. }) = answers.next().await.unwrap() else {
            panic!("no receipt")
        };
        let receipt = bridge.open(0, sealed);
        let reasons = [(Fault::Layout, 2), (Fault::Node, 1), (Fault::Rejected, 1)];
        let reasons = reasons.map(|(fault, frames)| (fault.number(), frames)).into();
        assert_eq!((receipt.stored, receipt.duplicate, receipt.failed), (1, 1, reasons));
        assert_eq!(receipt.downlinks.len(), 1, "only a node with an authentic frame is answered");
    });
    let failed: Vec<_> = stats.frames_failed.into_iter().collect();
    assert_eq!(failed, [("layout", 2), ("rejected", 1), ("unknown-node", 1)]);
}

#[test]
fn a_bridge_too_many_is_refused_and_the_others_go_on() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    with_server(limits, async |server: Arc<Server>, authority: Arc<Authority>| {
        let client = authority.client(&authority);
        let (mut sender, mut answers) = server.connect(&client).await;
        let mut bridge = Bridge::new();
        sender.send(&Bridge::id(0), &bridge.superframe(0)).await.unwrap();
        assert!(matches!(answers.next().await.unwrap(), Some(Answer::Receipt { .. })));
        let (_sender, mut refused) = connect(server.address, NAME, client.clone(), HELLO).await.unwrap();
        expect_refusal(&mut refused, Refusal::Connections).await;
        assert_eq!(refused.next().await.unwrap(), None);
        sender.send(&Bridge::id(1), &bridge.superframe(1)).await.unwrap();
        assert!(matches!(answers.next().await.unwrap(), Some(Answer::Receipt { .. })));
    });
}

#[test]
fn who_has_not_said_hello_keeps_no_bridge_away() {
    let limits = Limits { connections_max: 2, handshakes_max: 3, ..Limits::default() };
    let stats = with_server(limits, async |server: Arc<Server>, authority: Arc<Authority>| {
        let client = authority.client(&authority);
        let (mut sender, mut answers) = server.connect(&client).await;
        let mut bridge = Bridge::new();
        sender.send(&Bridge::id(0), &bridge.superframe(0)).await.unwrap();
        assert!(matches!(answers.next().await.unwrap(), Some(Answer::Receipt { .. })));
        // Each holds its place for as long as a handshake may take, which is longer than this test.
        let mut silent = Vec::new();
        for _ in 0..20 {
            silent.push(tokio::net::TcpStream::connect(server.address).await.unwrap());
        }
        expect_service(&server, &client, 1).await;
        sender.send(&Bridge::id(1), &bridge.superframe(1)).await.unwrap();
        assert!(matches!(answers.next().await.unwrap(), Some(Answer::Receipt { .. })));
        // The oldest had to make room for the others.
        let mut end = [0; 1];
        assert_eq!(silent[0].read(&mut end).await.unwrap(), 0);
    });
    assert_eq!(stats.connections, 2);
    assert_eq!(stats.connections_failed, 20);
}

#[test]
fn a_store_can_be_read_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let authority = Authority::new();
    let limits = Limits {
        batch_frames_max: 8,
        batch_bytes_max: 8 << 10,
        group_bytes_max: 4096,
        segment_bytes_max: 64 << 10,
        sector_bytes: 512,
        ..Limits::default()
    };
    let server = Server::start(&authority, &store, limits);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut sender, mut answers) = server.connect(&authority.client(&authority)).await;
        let mut bridge = Bridge::new();
        let mut acknowledged = 0;
        for number in 0..300 {
            sender.send(&Bridge::id(number), &bridge.superframe(number)).await.unwrap();
            if number >= 4 {
                let answer = answers.next().await.unwrap();
                assert!(matches!(answer, Some(Answer::Receipt { .. })), "found {answer:?}");
                acknowledged += u64::from(NODES);
            }
            if number % 10 == 0 {
                // Four batches are on the way while this reads.
                let verified = verify(&store, store_master()).unwrap();
                assert_eq!((verified.corrupt, verified.missing), (vec![], vec![]));
                assert!(verified.records >= acknowledged, "{} of {acknowledged}", verified.records);
                let records = read(&store, store_master(), Filter::default()).unwrap();
                assert!(records.map(Result::unwrap).count() as u64 >= acknowledged);
            }
        }
        sender.finish().await.unwrap();
        while answers.next().await.unwrap().is_some() {}
    });
    assert_eq!(server.stop().frames_stored, 300 * u64::from(NODES));
    let verified = verify(&store, store_master()).unwrap();
    assert!(verified.segments > 3 && verified.torn == 0, "{verified:?}");
}
