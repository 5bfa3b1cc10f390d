//! The node frame: its bytes, its parser, and the five plaintexts it carries.
//!
//! ```text
//!  0  1  version (high nibble, 1) | suite (low nibble)
//!  1  4  node
//!  5  1  epoch of the node's key
//!  6  4  counter: bit 31 = direction (0 node to server, 1 server to node), bits 0 to 30 the count
//! 10  n  ciphertext
//!  .  t  tag, as long as the suite says
//!
//! uplink plaintext                                downlink plaintext
//!  0  1  kind 0x01, samples; bits 4 to 6           0  1  kind 0x81, acknowledge; 0x82, set the input as well;
//!        the ADC channel of all of them                  0x83, change the epoch as well
//!  1  4  grid index of the first sample            1  4  every uplink count below this one is stored
//!  5  1  number of samples s                             or will never be sent
//!  6 2s  samples, codes of 16 bits                and of kind 0x82
//! or                                               5  4  grid index of the first sample
//!  0  1  kind 0x02, waveform; channel as above     9  1  ADC channel, from that sample on
//!  1  8  grid index of the first sample          10  1  stride, from that sample on: each frame has every
//!  9  1  format (waveform), another than codes           so manieth sample of its superframe, from the first
//! 10  n  samples, to the end                      and of kind 0x83
//!                                                  5  1  epoch, later than the one this frame is sealed under
//!                                                  6 16  its key
//!                                                 22 16  its iv
//! ```
//! Integers are little-endian; bytes 0 to 9 are the associated data and the nonce follows from them (OSCORE's rule,
//! RFC 8613 section 5.2), so neither is sent twice. A node of a bus sends kind 0x01, a superframe's samples in a frame of at
//! most 256 bytes: how many they are tells the stride, which divides what it was provisioned with. A
//! data acquisition computer sends waveforms, in frames of at most 16 KiB.
//! `firmware/node/frame.h` and `firmware/node/downlink.h` draw the same bytes for the node.
//!
//! Under a legacy suite without a tag (`aes-128-cbc`) the plaintext is filled up to whole blocks, each byte behind it the number
//! of them, one at least (PKCS #7, RFC 5652 section 6.3). Nothing says that such a frame is its node's: header and samples are
//! what anybody may have made of them, and nothing is ever sent down under such a suite.
//!
//! Owns no key: [`open`] and [`seal`] take one. Leaves to `shard` which key that is.

use cipher::{Suite, TrafficKey};
use zeroize::Zeroizing;

use crate::error::Fault;
use crate::limits::{
    CHANGE_BYTES, CHANNEL_MAX, COUNT_MAX, FRAME_BYTES_MAX, FRAME_HEADER_BYTES, SAMPLES_HEADER_BYTES,
    SAMPLES_MAX, SETTING_BYTES, TAG_BYTES_MAX, WAVEFORM_BYTES_MAX, WAVEFORM_HEADER_BYTES,
};
use crate::waveform::{Format, Waveform};

/// The version of this layout.
pub const VERSION: u8 = 1;
/// Bit 31 of the counter: set in frames from the server to a node.
pub const DIRECTION_BIT: u32 = 1 << 31;
/// The lowest bit of a channel in a kind byte.
const CHANNEL_SHIFT: u32 = 4;
/// Kind byte of an uplink plaintext with samples of channel 0; the channel is added from bit 4 on.
pub const KIND_SAMPLES: u8 = 0x01;
/// Kind byte of an uplink plaintext with a waveform of channel 0; the channel is added from bit 4 on.
pub const KIND_WAVEFORM: u8 = 0x02;
/// Kind byte of a downlink plaintext that acknowledges.
pub const KIND_ACKNOWLEDGE: u8 = 0x81;
/// Kind byte of a downlink plaintext that sets the input as well.
pub const KIND_SETTING: u8 = 0x82;
/// Kind byte of a downlink plaintext that changes the epoch as well.
pub const KIND_CHANGE: u8 = 0x83;

/// The clear header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The suite that seals the frame.
    pub suite: Suite,
    /// The node it comes from or goes to.
    pub node: u32,
    /// Which of the node's keys.
    pub epoch: u8,
    /// Direction bit and count, as sent.
    pub counter: u32,
}

/// A frame cut into its parts; nothing of it is authentic yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The clear header.
    pub header: Header,
    /// The header as it lies in the frame: the associated data.
    pub associated_data: &'a [u8],
    /// The ciphertext.
    pub ciphertext: &'a [u8],
    /// The tag.
    pub tag: &'a [u8],
}

/// The plaintext of an uplink frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// Grid index of the first sample; below 2^32 for codes.
    pub first: u64,
    /// The channel that all of them were converted from.
    pub channel: u8,
    /// The samples.
    pub waveform: Waveform,
}

/// [`Samples`] where they lie in a plaintext.
pub(crate) struct Content<'a> {
    pub(crate) first: u64,
    pub(crate) channel: u8,
    pub(crate) format: Format,
    /// Whole samples.
    pub(crate) samples: &'a [u8],
}

/// Which input a node converts from a sample on, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Grid index of the sample; it is the first of a frame.
    pub first: u32,
    /// ADC channel.
    pub channel: u8,
    /// It takes every so manieth sample of its grid; at least 1.
    pub stride: u8,
}

impl Header {
    /// True for a frame from the server to a node.
    pub fn is_downlink(&self) -> bool {
        self.counter & DIRECTION_BIT != 0
    }

    /// The header as it is sent.
    ///
    /// # Panics
    /// When the suite is none of the node link's.
    pub fn to_bytes(&self) -> [u8; FRAME_HEADER_BYTES] {
        let suite = self.suite.row().node_number.expect("the suite is one of the node link's");
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[0] = VERSION << 4 | suite;
        bytes[1..5].copy_from_slice(&self.node.to_le_bytes());
        bytes[5] = self.epoch;
        bytes[6..10].copy_from_slice(&self.counter.to_le_bytes());
        bytes
    }
}

/// Cuts a frame into its parts.
///
/// # Errors
/// [`Fault::Layout`] or [`Fault::Suite`].
pub fn parse(bytes: &[u8]) -> Result<Frame<'_>, Fault> {
    let (associated_data, sealed) = bytes.split_at_checked(FRAME_HEADER_BYTES).ok_or(Fault::Layout)?;
    if bytes.len() > FRAME_BYTES_MAX || associated_data[0] >> 4 != VERSION {
        return Err(Fault::Layout);
    }
    let suite = Suite::from_node_number(associated_data[0] & 0x0f).ok_or(Fault::Suite)?;
    let ciphertext_bytes = sealed.len().checked_sub(suite.row().tag_bytes).ok_or(Fault::Layout)?;
    if !ciphertext_bytes.is_multiple_of(suite.row().block_bytes) {
        return Err(Fault::Layout);
    }
    let (ciphertext, tag) = sealed.split_at(ciphertext_bytes);
    let four = |at: usize| u32::from_le_bytes(associated_data[at..at + 4].try_into().expect("four bytes"));
    let header = Header { suite, node: four(1), epoch: associated_data[5], counter: four(6) };
    Ok(Frame { header, associated_data, ciphertext, tag })
}

/// Cuts a frame that [`parse`] took, and whose tag has so many bytes, into associated data, ciphertext and tag.
pub(crate) fn split_mut(bytes: &mut [u8], tag_bytes: usize) -> (&[u8], &mut [u8], &[u8]) {
    let (associated_data, sealed) = bytes.split_at_mut(FRAME_HEADER_BYTES);
    let (ciphertext, tag) = sealed.split_at_mut(sealed.len() - tag_bytes);
    (associated_data, ciphertext, tag)
}

/// Opens a frame. The plaintext is wiped when it is dropped.
///
/// # Errors
/// [`Fault::Rejected`], and then no plaintext was ever released. [`Fault::Content`] under a suite without a tag, when nothing
/// says where the plaintext ends.
pub fn open(key: &TrafficKey, frame: &Frame<'_>) -> Result<Zeroizing<Vec<u8>>, Fault> {
    let mut plaintext = Zeroizing::new(frame.ciphertext.to_vec());
    key.open(frame.header.counter, frame.associated_data, &mut plaintext, frame.tag)
        .map_err(|_| Fault::Rejected)?;
    let plaintext_bytes = unfilled(frame.header.suite, &plaintext)?.len();
    plaintext.truncate(plaintext_bytes);
    Ok(plaintext)
}

/// A plaintext of whole blocks of its suite, as long as it was before it was filled up to them.
///
/// # Errors
/// [`Fault::Content`].
pub(crate) fn unfilled(suite: Suite, plaintext: &[u8]) -> Result<&[u8], Fault> {
    if suite.row().block_bytes == 1 {
        return Ok(plaintext);
    }
    let &count = plaintext.last().ok_or(Fault::Content)?;
    let whole = (1..=suite.row().block_bytes).contains(&count.into());
    let bytes = plaintext.len().checked_sub(count.into()).filter(|_| whole).ok_or(Fault::Content)?;
    let (plaintext, filled) = plaintext.split_at(bytes);
    if filled.iter().all(|&byte| byte == count) { Ok(plaintext) } else { Err(Fault::Content) }
}

/// Seals a plaintext into a frame. The caller never uses one counter twice under one key.
///
/// # Panics
/// When the frame would be longer than `FRAME_BYTES_MAX`, or `key` is of another suite than `header`.
pub fn seal(key: &TrafficKey, header: &Header, plaintext: &[u8]) -> Vec<u8> {
    assert_eq!(key.suite(), header.suite, "the key seals for another suite");
    let associated_data = header.to_bytes();
    let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + plaintext.len() + TAG_BYTES_MAX);
    frame.extend_from_slice(&associated_data);
    frame.extend_from_slice(plaintext);
    let block_bytes = header.suite.row().block_bytes;
    if block_bytes > 1 {
        let count = block_bytes - plaintext.len() % block_bytes;
        frame.resize(frame.len() + count, count as u8);
    }
    let tag = key.seal(header.counter, &associated_data, &mut frame[FRAME_HEADER_BYTES..]);
    frame.extend_from_slice(tag.as_ref());
    assert!(frame.len() <= FRAME_BYTES_MAX, "a frame of {} bytes is too long", frame.len());
    frame
}

impl<'a> Content<'a> {
    /// Reads an uplink plaintext.
    ///
    /// # Errors
    /// [`Fault::Content`].
    pub(crate) fn parse(plaintext: &'a [u8]) -> Result<Content<'a>, Fault> {
        let (kind, channel) = split_kind(*plaintext.first().ok_or(Fault::Content)?);
        let (first, format, samples) = match kind {
            KIND_SAMPLES => {
                let head_and_samples = plaintext.split_first_chunk::<SAMPLES_HEADER_BYTES>();
                let (&[_, a, b, c, d, count], samples) = head_and_samples.ok_or(Fault::Content)?;
                if samples.len() != 2 * usize::from(count) {
                    return Err(Fault::Content);
                }
                (u32::from_le_bytes([a, b, c, d]).into(), Format::CODES, samples)
            }
            KIND_WAVEFORM => {
                let head_and_samples = plaintext.split_first_chunk::<WAVEFORM_HEADER_BYTES>();
                let (&[_, ref first @ .., number], samples) = head_and_samples.ok_or(Fault::Content)?;
                let format = Format::from_number(number).filter(|&format| format != Format::CODES);
                (u64::from_le_bytes(*first), format.ok_or(Fault::Content)?, samples)
            }
            _ => return Err(Fault::Content),
        };
        let is_whole = samples.len().is_multiple_of(format.sample_bytes());
        if is_whole { Ok(Content { first, channel, format, samples }) } else { Err(Fault::Content) }
    }
}

impl Samples {
    /// Reads an uplink plaintext.
    ///
    /// # Errors
    /// [`Fault::Content`].
    pub fn parse(plaintext: &[u8]) -> Result<Samples, Fault> {
        let Content { first, channel, format, samples } = Content::parse(plaintext)?;
        let waveform = Waveform::new(format, samples.to_vec()).expect("whole samples");
        Ok(Samples { first, channel, waveform })
    }

    /// The uplink plaintext, as a node writes it: codes as kind 0x01, everything else as kind 0x02.
    ///
    /// # Panics
    /// When there are more than `SAMPLES_MAX` codes or `WAVEFORM_BYTES_MAX` bytes of others, when the first code's index
    /// has more than 32 bits, or when there is no such channel.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let samples = self.waveform.bytes();
        let mut bytes = Zeroizing::new(Vec::with_capacity(WAVEFORM_HEADER_BYTES + samples.len()));
        if self.waveform.format() == Format::CODES {
            assert!(self.waveform.len() <= SAMPLES_MAX, "{} codes do not fit a frame", self.waveform.len());
            bytes.push(kind_with(KIND_SAMPLES, self.channel));
            let first = u32::try_from(self.first).expect("the index of a code has 32 bits");
            bytes.extend_from_slice(&first.to_le_bytes());
            bytes.push(self.waveform.len() as u8);
        } else {
            assert!(samples.len() <= WAVEFORM_BYTES_MAX, "{} bytes do not fit a frame", samples.len());
            bytes.push(kind_with(KIND_WAVEFORM, self.channel));
            bytes.extend_from_slice(&self.first.to_le_bytes());
            bytes.push(self.waveform.format().number());
        }
        bytes.extend_from_slice(samples);
        bytes
    }
}

/// A kind byte and the channel in it.
pub(crate) fn split_kind(byte: u8) -> (u8, u8) {
    (byte & !(CHANNEL_MAX << CHANNEL_SHIFT), byte >> CHANNEL_SHIFT & CHANNEL_MAX)
}

/// `kind` with `channel` in it.
pub(crate) fn kind_with(kind: u8, channel: u8) -> u8 {
    assert!(channel <= CHANNEL_MAX, "a converter has no input {channel}");
    kind | channel << CHANNEL_SHIFT
}

/// The plaintext of an acknowledgement: every uplink count below `count` is stored or will never be sent.
pub fn acknowledgement(count: u32) -> [u8; 5] {
    assert!(count <= COUNT_MAX + 1, "an acknowledged count has 31 bits");
    let [a, b, c, d] = count.to_le_bytes();
    [KIND_ACKNOWLEDGE, a, b, c, d]
}

/// The downlink plaintext that acknowledges as well, and tells a node what it converts from a sample on.
pub fn setting(count: u32, setting: Setting) -> [u8; SETTING_BYTES] {
    let mut plaintext = [0; SETTING_BYTES];
    plaintext[..5].copy_from_slice(&acknowledgement(count));
    plaintext[0] = KIND_SETTING;
    plaintext[5..9].copy_from_slice(&setting.first.to_le_bytes());
    plaintext[9] = setting.channel;
    plaintext[10] = setting.stride;
    plaintext
}

/// The downlink plaintext that acknowledges as well, and tells a node to go on under `next`. It is wiped when it is
/// dropped.
pub fn change(count: u32, next: &TrafficKey) -> Zeroizing<[u8; CHANGE_BYTES]> {
    let mut plaintext = Zeroizing::new([0; CHANGE_BYTES]);
    plaintext[..5].copy_from_slice(&acknowledgement(count));
    (plaintext[0], plaintext[5]) = (KIND_CHANGE, next.epoch());
    plaintext[6..22].copy_from_slice(next.key().expose());
    plaintext[22..].copy_from_slice(next.iv().expose());
    plaintext
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::waveform::Kind;
    use cipher::{Key, NodeMaster};
    use proptest::prelude::*;

    pub(crate) fn key(node: u32, epoch: u8, suite: Suite) -> TrafficKey {
        NodeMaster::from(Key::copied_from(&[7; 32])).traffic_key(node, epoch, suite)
    }

    pub(crate) fn any_header() -> impl Strategy<Value = Header> {
        let suite = prop_oneof![Just(Suite::AsconAead128), Just(Suite::Aes128Ccm)];
        (suite, any::<u32>(), any::<u8>(), any::<u32>()).prop_map(|(suite, node, epoch, counter)| Header {
            suite,
            node,
            epoch,
            counter,
        })
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = Samples::parse(&bytes);
        }

        /// A frame with a valid first byte reaches the deeper checks more often than random bytes do.
        #[test]
        fn what_parses_is_the_whole_frame(
            suite in prop_oneof![1u8..=2, Just(13)], rest in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            let bytes: Vec<u8> = std::iter::once(VERSION << 4 | suite).chain(rest).collect();
            if let Ok(frame) = parse(&bytes) {
                let again = [frame.associated_data, frame.ciphertext, frame.tag].concat();
                prop_assert_eq!(&again, &bytes);
                prop_assert_eq!(&frame.header.to_bytes()[..], frame.associated_data);
            } else {
                let is_short = match suite {
                    13 => bytes.len() < FRAME_HEADER_BYTES || !(bytes.len() - FRAME_HEADER_BYTES).is_multiple_of(16),
                    suite => bytes.len() < FRAME_HEADER_BYTES + if suite == 1 { 16 } else { 8 },
                };
                prop_assert!(is_short || bytes.len() > FRAME_BYTES_MAX);
            }
        }

        #[test]
        fn a_sealed_frame_opens_and_a_changed_one_does_not(
            header in any_header(),
            first in any::<u32>(),
            channel in 0..=CHANNEL_MAX,
            bytes in prop::collection::vec(any::<u8>(), 0..=28),
            format in prop::sample::select(Format::all().collect::<Vec<_>>()),
            flip in any::<prop::sample::Index>(),
        ) {
            let key = key(header.node, header.epoch, header.suite);
            let waveform = Waveform::new(format, bytes.repeat(8)).unwrap();
            let sent = Samples { first: first.into(), channel, waveform };
            let bytes = seal(&key, &header, &sent.to_bytes());
            let frame = parse(&bytes).unwrap();
            prop_assert_eq!(frame.header, header);
            prop_assert_eq!(Samples::parse(&open(&key, &frame).unwrap()).unwrap(), sent);
            // Any bit after the version and suite: those name the layout, the rest is authenticated.
            let mut changed = bytes.clone();
            let bit = 8 + flip.index(8 * (bytes.len() - 1));
            changed[bit / 8] ^= 1 << (bit % 8);
            let frame = parse(&changed).unwrap();
            prop_assert_eq!(open(&key, &frame).unwrap_err(), Fault::Rejected);
        }
    }

    proptest! {
        /// Of a legacy suite whatever is changed behind the first blocks is taken, and what is cut off is not.
        #[test]
        fn a_frame_without_a_tag_opens_and_a_changed_one_may(
            (node, epoch, counter, first) in any::<(u32, u8, u32, u64)>(),
            bytes in prop::collection::vec(any::<u8>(), 5..=28),
            flip in any::<prop::sample::Index>(),
        ) {
            let key = key(node, epoch, Suite::Aes128Cbc);
            let header = Header { suite: Suite::Aes128Cbc, node, epoch, counter };
            let format = Format { kind: Kind::F32, is_big_endian: false };
            let waveform = Waveform::new(format, bytes.repeat(8)).unwrap();
            let sent = Samples { first, channel: 3, waveform };
            let bytes = seal(&key, &header, &sent.to_bytes());
            let filled = bytes.len() - FRAME_HEADER_BYTES;
            prop_assert_eq!(filled, (sent.to_bytes().len() + 1).next_multiple_of(16));
            prop_assert_eq!(Samples::parse(&open(&key, &parse(&bytes).unwrap()).unwrap()).unwrap(), sent.clone());
            // The first block, and the last, say how the frame is to be read.
            let mut changed = bytes.clone();
            let bit = 8 * (FRAME_HEADER_BYTES + 16) + flip.index(8 * (filled - 48));
            changed[bit / 8] ^= 1 << (bit % 8);
            let opened = Samples::parse(&open(&key, &parse(&changed).unwrap()).unwrap()).unwrap();
            prop_assert_eq!((opened.first, opened.channel), (sent.first, sent.channel));
            prop_assert_ne!(opened.waveform, sent.waveform);
            prop_assert_eq!(parse(&bytes[..bytes.len() - 1]), Err(Fault::Layout));
        }
    }

    #[test]
    fn what_was_filled_up_says_so_in_each_byte() {
        let unfilled = |plaintext: &[u8]| unfilled(Suite::Aes128Cbc, plaintext).map(<[u8]>::len);
        assert_eq!(unfilled(&[[7; 13], [3; 13]].concat()[..16]), Ok(13));
        assert_eq!(unfilled(&[16; 16]), Ok(0));
        for wrong in [&[][..], &[0; 16], &[17; 32], &[7, 2, 3, 3], &[3, 3]] {
            assert_eq!(unfilled(wrong), Err(Fault::Content), "{wrong:?}");
        }
        assert_eq!(super::unfilled(Suite::Aes128Ccm, &[1, 2, 9]), Ok(&[1, 2, 9][..]));
    }

    #[test]
    fn offsets_are_the_drawn_ones() {
        let header = Header { suite: Suite::AsconAead128, node: 0x0403_0201, epoch: 5, counter: 0x8908_0706 };
        assert_eq!(header.to_bytes(), [0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x89]);
        assert!(header.is_downlink());
        let waveform = Waveform::of_codes(&[0x0605, 0x0807]);
        let samples = Samples { first: 0x0403_0201, channel: 7, waveform };
        assert_eq!(samples.to_bytes()[..], [0x71, 1, 2, 3, 4, 2, 5, 6, 7, 8]);
        let format = Format { kind: Kind::I32, is_big_endian: true };
        let waveform = Waveform::new(format, vec![9, 10, 11, 12]).unwrap();
        let samples = Samples { first: 0x0807_0605_0403_0201, channel: 1, waveform };
        assert_eq!(samples.to_bytes()[..], [0x12, 1, 2, 3, 4, 5, 6, 7, 8, 0x82, 9, 10, 11, 12]);
        assert_eq!(acknowledgement(0x0403_0201), [0x81, 1, 2, 3, 4]);
        let set = Setting { first: 0x0807_0605, channel: 3, stride: 2 };
        assert_eq!(setting(0x0403_0201, set), [0x82, 1, 2, 3, 4, 5, 6, 7, 8, 3, 2]);
        let next = key(5, 9, Suite::AsconAead128);
        let change = change(0x0403_0201, &next);
        assert_eq!((&change[..6], change.len()), (&[0x83, 1, 2, 3, 4, 9][..], 38));
        assert_eq!((&change[6..22], &change[22..]), (&next.key().expose()[..], &next.iv().expose()[..]));
    }

    #[test]
    fn a_frame_says_why_it_is_none() {
        assert_eq!(parse(&[0x11; 9]), Err(Fault::Layout), "shorter than a header");
        assert_eq!(parse(&[0x11; 25]), Err(Fault::Layout), "no room for the tag");
        assert_eq!(parse(&[0x11; FRAME_BYTES_MAX + 1]), Err(Fault::Layout), "longer than the limit");
        assert_eq!(parse(&[0x21; 40]), Err(Fault::Layout), "another version");
        assert_eq!(parse(&[0x1e; 40]), Err(Fault::Suite), "a suite that does not exist");
        assert_eq!(Samples::parse(&[1, 0, 0, 0, 0, 1, 9]), Err(Fault::Content), "half a sample");
        for kind in (0..=255).filter(|kind| kind & 0x8f != 1) {
            assert_eq!(Samples::parse(&[kind, 0, 0, 0, 0, 0]), Err(Fault::Content), "another kind");
        }
        let waveform = |format, bytes: usize| {
            let plaintext = [&[KIND_WAVEFORM, 0, 0, 0, 0, 0, 0, 0, 0, format], &vec![0; bytes][..]].concat();
            Samples::parse(&plaintext).map(|samples| samples.waveform.len())
        };
        assert_eq!((waveform(4, 16), waveform(0x84, 0)), (Ok(2), Ok(0)));
        assert_eq!(waveform(4, 15), Err(Fault::Content), "part of a sample");
        assert_eq!(waveform(5, 0), Err(Fault::Content), "a format that does not exist");
        assert_eq!(waveform(0, 2), Err(Fault::Content), "codes have a kind of their own");
    }
}
