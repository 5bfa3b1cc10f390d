//! Traffic keys of nodes, set up for many messages at once, and with them the frames of any nodes: opened where they lie,
//! and sealed. One message after the other would leave most of a core idle, as AES-CCM and Ascon are chains
//! ([`mod@aes`], [`mod@ascon`]).
//!
//! Leaves to `shard` and to the collector which key that is, and for how long it is kept.

use cipher::nonces::node_nonce;
use cipher::{Key, Suite, TrafficKey};
use zeroize::Zeroize;

use crate::aes::{self, BLOCK_BYTES, Backend, Block, block, ccm};
use crate::ascon;
use crate::frame::{self, Header};
use crate::limits::{FRAME_BYTES_MAX, FRAME_HEADER_BYTES, TAG_BYTES_MAX};

/// Bytes of a nonce of AES-CCM, and of a tag.
const CCM_NONCE_BYTES: usize = Suite::Aes128Ccm.row().nonce_bytes;
const CCM_TAG_BYTES: usize = Suite::Aes128Ccm.row().tag_bytes;
/// A nonce of Ascon; AES-CCM takes the first bytes of it.
type Nonce = [u8; 16];

/// A node's key of an epoch, set up for a backend.
#[derive(Debug)]
pub(crate) struct Traffic {
    iv: Key<16>,
    cipher: Cipher,
}

#[derive(Debug)]
enum Cipher {
    Ascon(Key<16>),
    Ccm(aes::Key),
    Cbc(aes::Key),
}

impl Traffic {
    /// Sets a key up.
    ///
    /// # Panics
    /// When its suite is none of the node link's.
    pub(crate) fn new(backend: Backend, key: &TrafficKey) -> Traffic {
        let cipher = match key.suite() {
            Suite::AsconAead128 => Cipher::Ascon(key.key().clone()),
            Suite::Aes128Ccm => Cipher::Ccm(aes::Key::new(backend, key.key().expose())),
            Suite::Aes128Cbc => Cipher::Cbc(aes::Key::new(backend, key.key().expose())),
            Suite::Aes256Gcm => unreachable!("a ring admits nodes of the node link's suites"),
        };
        Traffic { iv: key.iv().clone(), cipher }
    }

    fn nonce(&self, header: &Header) -> Nonce {
        node_nonce(self.iv.expose(), header.node, header.epoch, header.counter)
    }
}

/// Messages by their cipher, and where among all of them each stood.
#[derive(Default)]
struct Sorted<'a> {
    by_ascon: Vec<ascon::Message<'a>>,
    ascon_places: Vec<usize>,
    by_ccm: Vec<ccm::Message<'a>>,
    ccm_places: Vec<usize>,
    /// Key, nonce and ciphertext; none of them is ever wrong.
    by_cbc: Vec<(&'a aes::Key, Block, &'a mut [u8])>,
}

impl<'a> Sorted<'a> {
    fn add(
        &mut self,
        place: usize,
        (traffic, nonce): &'a (&Traffic, Nonce),
        associated_data: &'a [u8],
        data: &'a mut [u8],
        found: &[u8],
    ) {
        let mut tag: Block = [0; BLOCK_BYTES];
        tag[..found.len()].copy_from_slice(found);
        match &traffic.cipher {
            Cipher::Ascon(key) => {
                let message =
                    ascon::Message { key: key.expose(), nonce: *nonce, aad: associated_data, data, tag };
                self.by_ascon.push(message);
                self.ascon_places.push(place);
            }
            Cipher::Ccm(key) => {
                let (nonce, tag_bytes) = (&nonce[..CCM_NONCE_BYTES], CCM_TAG_BYTES);
                self.by_ccm.push(ccm::Message { key, nonce, associated_data, data, tag, tag_bytes });
                self.ccm_places.push(place);
            }
            Cipher::Cbc(key) => self.by_cbc.push((key, *nonce, data)),
        }
    }
}

/// Decrypts messages without a tag where they lie: the blocks of each in all lanes, from the vector that is its nonce,
/// encrypted.
fn decrypt_cbc(backend: Backend, messages: &mut [(&aes::Key, Block, &mut [u8])]) {
    for (key, vector, data) in messages {
        block::ecb_encrypt(backend, key, vector);
        block::cbc_decrypt(backend, key, vector, data);
        vector.zeroize();
    }
}

/// Opens frames that [`frame::parse`] took where they lie, those that have a key; a frame whose tag is wrong is zeros then.
/// Returns the places of the wrong ones. One without a tag is never wrong, and may hold anything.
pub(crate) fn open_all<'f>(
    backend: Backend,
    frames: impl Iterator<Item = &'f mut [u8]>,
    keys: &[Option<(&Traffic, Header)>],
) -> Vec<usize> {
    let keyed = keys.iter().map(|key| key.map(|(traffic, header)| (traffic, traffic.nonce(&header))));
    let keyed: Vec<Option<(&Traffic, Nonce)>> = keyed.collect();
    let mut sorted = Sorted::default();
    for (place, (frame, keyed)) in frames.zip(&keyed).enumerate() {
        let Some(keyed) = keyed else { continue };
        let tag_bytes = match keyed.0.cipher {
            Cipher::Ascon(_) => TAG_BYTES_MAX,
            Cipher::Ccm(_) => CCM_TAG_BYTES,
            Cipher::Cbc(_) => 0,
        };
        let (associated_data, data, tag) = frame::split_mut(frame, tag_bytes);
        sorted.add(place, keyed, associated_data, data, tag);
    }
    let ascon_rights = ascon::open(&mut sorted.by_ascon);
    decrypt_cbc(backend, &mut sorted.by_cbc);
    let ccm_rights = ccm::open(backend, &mut sorted.by_ccm).into_iter().map(|verdict| verdict.is_ok());
    let verdicts = ascon_rights.into_iter().zip(sorted.ascon_places).chain(ccm_rights.zip(sorted.ccm_places));
    verdicts.filter_map(|(is_right, place)| (!is_right).then_some(place)).collect()
}

/// A frame that is still to be sealed.
#[derive(Clone, Copy)]
pub(crate) struct Unsealed<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) header: Header,
    pub(crate) plaintext: &'a [u8],
}

/// Seals frames of any nodes, as [`frame::seal`] does each.
///
/// # Panics
/// When a frame would be longer than `FRAME_BYTES_MAX`, or its suite has no tag.
pub(crate) fn seal_all(backend: Backend, unsealed: &[Unsealed<'_>]) -> Vec<Vec<u8>> {
    let keyed: Vec<(&Traffic, Nonce)> = unsealed
        .iter()
        .map(|unsealed| (unsealed.traffic, unsealed.traffic.nonce(&unsealed.header)))
        .collect();
    let begin = |unsealed: &Unsealed<'_>| {
        // Never too few: plaintext that moved to other memory would be left where it was.
        let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + unsealed.plaintext.len() + TAG_BYTES_MAX);
        frame.extend_from_slice(&unsealed.header.to_bytes());
        frame.extend_from_slice(unsealed.plaintext);
        frame
    };
    let mut frames: Vec<Vec<u8>> = unsealed.iter().map(begin).collect();
    let mut sorted = Sorted::default();
    for (place, (frame, keyed)) in frames.iter_mut().zip(&keyed).enumerate() {
        let (associated_data, data) = frame.split_at_mut(FRAME_HEADER_BYTES);
        sorted.add(place, keyed, associated_data, data, &[]);
    }
    assert!(sorted.by_cbc.is_empty(), "nothing is sent down without a tag");
    ascon::seal(&mut sorted.by_ascon);
    ccm::seal(backend, &mut sorted.by_ccm);
    let ascon_tags = sorted.by_ascon.iter().map(|message| (message.tag, TAG_BYTES_MAX));
    let ccm_tags = sorted.by_ccm.iter().map(|message| (message.tag, message.tag_bytes));
    let places = sorted.ascon_places.iter().chain(&sorted.ccm_places);
    let tags: Vec<(usize, (Block, usize))> = places.copied().zip(ascon_tags.chain(ccm_tags)).collect();
    for (place, (tag, tag_bytes)) in tags {
        frames[place].extend_from_slice(&tag[..tag_bytes]);
    }
    let longest = frames.iter().map(Vec::len).max().unwrap_or(0);
    assert!(longest <= FRAME_BYTES_MAX, "a frame of {longest} bytes is too long");
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::{any_header, key};
    use proptest::prelude::*;

    #[test]
    fn what_a_message_without_a_tag_is_decrypted_from_is_kept_nowhere_but_in_the_message() {
        for backend in Backend::all() {
            let key = aes::Key::new(backend, &[7; 16]);
            let mut data = [[1; 48], [2; 48]];
            let mut messages: Vec<_> =
                data.iter_mut().map(|data| (&key, [9; BLOCK_BYTES], &mut data[..])).collect();
            decrypt_cbc(backend, &mut messages);
            assert!(messages.iter().all(|(_, vector, _)| *vector == [0; BLOCK_BYTES]), "{backend:?}");
        }
    }

    proptest! {
        #[test]
        fn frames_that_are_sealed_at_once_are_those_that_are_sealed_alone_and_open_at_once(
            headers in prop::collection::vec((any_header(), prop::collection::vec(any::<u8>(), 1..40)), 0..40),
            forged in any::<prop::sample::Index>(),
        ) {
            let keys: Vec<_> = headers.iter().map(|(header, _)| key(header.node, header.epoch, header.suite)).collect();
            for backend in Backend::all() {
                let traffics: Vec<_> = keys.iter().map(|key| Traffic::new(backend, key)).collect();
                let unsealed: Vec<_> = (headers.iter().zip(&traffics))
                    .map(|((header, plaintext), traffic)| Unsealed { traffic, header: *header, plaintext })
                    .collect();
                let mut frames = seal_all(backend, &unsealed);
                let parts = headers.iter().zip(&keys);
                let alone: Vec<_> =
                    parts.map(|((header, plaintext), key)| frame::seal(key, header, plaintext)).collect();
                prop_assert_eq!(&frames, &alone);
                if frames.is_empty() {
                    continue;
                }
                // One is forged, and one has no key.
                let forged = forged.index(frames.len());
                let without = (forged + 1) % frames.len();
                *frames[forged].last_mut().expect("a tag") ^= 1;
                let mut given: Vec<_> =
                    unsealed.iter().map(|unsealed| Some((unsealed.traffic, unsealed.header))).collect();
                if without != forged {
                    given[without] = None;
                }
                let wrong = open_all(backend, frames.iter_mut().map(Vec::as_mut_slice), &given);
                prop_assert_eq!(wrong, [forged]);
                for (place, (frame, (_, plaintext))) in frames.iter().zip(&headers).enumerate() {
                    let data = &frame[FRAME_HEADER_BYTES..][..plaintext.len()];
                    match place {
                        place if place == forged => prop_assert!(data.iter().all(|&byte| byte == 0)),
                        place if place == without => prop_assert_eq!(frame, &alone[place]),
                        _ => prop_assert_eq!(data, &plaintext[..]),
                    }
                }
            }
        }
    }
}
