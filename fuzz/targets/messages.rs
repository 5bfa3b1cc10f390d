//! Looks for bytes on which a parser of what travels between node, bridge and server, or of what lies in a record,
//! panics, or of which it takes something that it would write otherwise: over TCP, in datagrams and through NATS.
#![no_main]

use collect::anchor::Anchor;
use collect::batch::{
    Answer, HEADER_BYTES, Malformed, Receipt, Request, batch_message, entries_from_bytes, entries_to_bytes,
};
use collect::frame::{Samples, parse};
use collect::limits::{FRAME_BYTES_MAX, SAMPLES_MAX};
use collect::nats::partition_of_frame;
use collect::record::Body;
use collect::waveform::Format;
use collect::{client, udp};
use libfuzzer_sys::fuzz_target;

/// Bytes of the length before a message.
const LENGTH_BYTES: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    match Request::parse(bytes) {
        Ok(Request::Hello(hello)) => assert_eq!(hello.to_message()[LENGTH_BYTES..], *bytes),
        Ok(Request::Batch(batch)) => {
            assert_eq!(batch_message(&batch.id, &batch.body[HEADER_BYTES..])[LENGTH_BYTES..], *bytes);
        }
        Err(_) => {}
    }
    if let Ok(answer) = Answer::parse(bytes) {
        assert_eq!(answer.to_message()[LENGTH_BYTES..], *bytes);
    }
    if let Ok(batch) = udp::parse(bytes) {
        assert!(bytes.starts_with(&batch_message(&batch.id, &batch.body[HEADER_BYTES..])));
    }
    if let Some(answer) = client::udp::parse(bytes) {
        assert_eq!(answer.to_message(), bytes);
    }
    // What is inside of those.
    if let Ok(receipt) = Receipt::parse(bytes)
        && receipt.downlinks.iter().all(|frame| frame.len() <= FRAME_BYTES_MAX)
    {
        assert_eq!(receipt.to_bytes(), bytes);
    }
    if let Ok(entries) = entries_from_bytes(bytes) {
        assert_eq!(entries_to_bytes(&entries), bytes);
        assert_eq!(entries_from_bytes(&bytes[..bytes.len() - 1]), Err(Malformed));
    }
    if let Ok(frame) = parse(bytes) {
        assert_eq!([&frame.header.to_bytes(), frame.ciphertext, frame.tag].concat(), bytes);
    }
    assert!(partition_of_frame(bytes, 16) < 16);
    if let Ok(samples) = Samples::parse(bytes)
        && (samples.waveform.format() != Format::CODES || samples.waveform.len() <= SAMPLES_MAX)
    {
        assert_eq!(*samples.to_bytes(), *bytes);
    }
    // What is kept.
    if let Some(body) = Body::parse(bytes) {
        assert_eq!(*body.to_bytes(), *bytes);
    }
    if let Some(anchor) = std::str::from_utf8(bytes).ok().and_then(Anchor::parse) {
        assert_eq!(Anchor::parse(&anchor.to_text()), Some(anchor));
    }
});
