//! The public-key half of `firmware/crypto`, from limbs to RSA, ElGamal and elliptic curves: against GMP, operation by
//! operation and candidate by candidate; against official vectors; on this machine by two compilers and in the
//! sanitizers, and on RV32 under QEMU; and what it leaks.

#[path = "public_key/der.rs"]
mod der;
#[path = "public_key/layers.rs"]
mod layers;
#[path = "public_key/library.rs"]
mod library;
#[path = "public_key/official.rs"]
mod official;
mod piped;
#[path = "public_key/program.rs"]
mod program;
#[path = "public_key/request.rs"]
mod request;
mod seeded;
mod soak;

use std::process::Stdio;
use std::sync::LazyLock;

use program::{HOST, LEAVES, Program, is_installed};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use request::{Candidate, REFUSED, Request, Response, UNFIT, candidates, done, multiplications};
use seeded::{random_bytes, seeded};
use soak::is_soak;

const LIMB_BITS: [u8; 2] = [16, 32];

/// The library at -O2, with its plain leaves.
static NATIVE: LazyLock<Program> = LazyLock::new(|| Program::host("cc", &["-O2"], "mpn_c"));

/// GMP's answers; `None`, said aloud, where it is not installed.
static GMP: LazyLock<Option<Program>> = LazyLock::new(Program::gmp);

fn sanitizers() -> [&'static str; 4] {
    ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
}

/// Fails where two programs differ.
#[track_caller]
fn assert_same(name: &str, requests: &[Request], found: &[Response], expected: &[Response]) {
    for ((request, found), expected) in requests.iter().zip(found).zip(expected) {
        assert_eq!(found, expected, "{name}: {request:?}");
    }
}

/// A key of GMP's: n, d, p, q, d_p, d_q, of e = 65537.
fn key(gmp: &Program, bits: u32, rng: &mut ChaCha20Rng) -> Vec<Vec<u8>> {
    let operands = vec![bits.to_le_bytes().to_vec(), random_bytes(rng, 16)];
    let request = Request { operation: request::GENERATE, operands, ..Request::new("generate", 32) };
    done(&gmp.run(&[request])[0])
}

/// A message below every modulus of `bits` bits whose highest bit is set.
fn message(bits: u32, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut message = random_bytes(rng, bits as usize / 8);
    message[0] &= 0x7f;
    message
}

#[test]
fn every_operation_of_the_lower_layers_agrees_with_gmp_in_the_sanitizers() {
    let Some(gmp) = GMP.as_ref() else { return };
    let requests = layers::requests(&mut seeded(), 12);
    let expected = gmp.run(&requests);
    for leaves in LEAVES.into_iter().chain([HOST]) {
        let found = Program::host("cc", &sanitizers(), leaves).run(&requests);
        assert_same(leaves, &requests, &found, &expected);
    }
    let (asked, all) = (layers::operations(&requests), program::operations());
    let lower = all
        .iter()
        .take_while(|name| !name.starts_with("rsa_"))
        .filter(|name| !layers::LATER.contains(&&***name));
    assert_eq!(lower.filter(|name| !asked.contains(&&***name)).count(), 0, "{asked:?} are not all");
}

#[test]
fn every_operation_of_the_lower_layers_agrees_with_gmp_by_both_compilers() {
    let Some(gmp) = GMP.as_ref() else { return };
    let requests = layers::requests(&mut seeded(), 40);
    let expected = gmp.run(&requests);
    assert_same("cc", &requests, &NATIVE.run(&requests), &expected);
    if is_installed("clang", "public-key layers by clang") {
        for leaves in LEAVES {
            let found = Program::host("clang", &["-O2"], leaves).run(&requests);
            assert_same("clang", &requests, &found, &expected);
        }
    }
}

/// Private operations of `key`, one for each candidate, twice where tables are kept: the second finds them.
fn private_operations(
    key: &[Vec<u8>],
    input: &[u8],
    limb_bits: u8,
    candidates: impl Iterator<Item = Candidate>,
) -> Vec<Request> {
    let operands = [key, &[input.to_vec()]].concat();
    let request = |candidate: Candidate| Request {
        candidate,
        repeats: if candidate.caching == 0 { 1 } else { 2 },
        operands: operands.clone(),
        ..Request::new("rsa_private", limb_bits)
    };
    candidates.map(request).collect()
}

/// One candidate of so many is asked in a short run, drawn from the seed.
const SHORT: u32 = 8;

/// Fails where a candidate's answer is not GMP's: of some that are drawn, and in a long run of all.
fn candidates_at_512_bits_give_what_gmp_gives(limb_bits: u8) {
    let Some(gmp) = GMP.as_ref() else { return };
    let mut rng = seeded();
    let key = key(gmp, 512, &mut rng);
    let input = message(512, &mut rng);
    assert_eq!(candidates().count(), usize::from(multiplications()) * 16 * 3 * 3 * 2 * 2);
    let asked = candidates().filter(|_| is_soak() || rng.next_u32().is_multiple_of(SHORT));
    let requests = private_operations(&key, &input, limb_bits, asked);
    let expected = vec![gmp.run(&requests[..1]).remove(0); requests.len()];
    assert_same("a candidate", &requests, &NATIVE.run(&requests), &expected);
}

#[test]
fn candidates_at_512_bits_give_what_gmp_gives_in_limbs_of_16_bits() {
    candidates_at_512_bits_give_what_gmp_gives(16);
}

#[test]
fn candidates_at_512_bits_give_what_gmp_gives_in_limbs_of_32_bits() {
    candidates_at_512_bits_give_what_gmp_gives(32);
}

#[test]
fn a_sample_of_candidates_at_1024_to_3072_bits_gives_what_gmp_gives() {
    let Some(gmp) = GMP.as_ref() else { return };
    let mut rng = seeded();
    for (bits, count) in [(1024, 48), (1536, 16), (2048, 12), (3072, 6)] {
        let key = key(gmp, bits, &mut rng);
        let input = message(bits, &mut rng);
        for limb_bits in LIMB_BITS {
            let sample = candidates().filter(|_| rng.next_u32() as usize % 4608 < count);
            let requests =
                private_operations(&key, &input, limb_bits, sample.collect::<Vec<_>>().into_iter());
            assert_same("a sample", &requests, &NATIVE.run(&requests), &gmp.run(&requests));
        }
    }
}

#[test]
fn keys_that_are_generated_are_keys_and_the_same_in_both_radices() {
    let Some(gmp) = GMP.as_ref() else { return };
    let mut rng = seeded();
    for bits in [512_u16, 640, 1024] {
        let seed = random_bytes(&mut rng, 8);
        let operands = vec![seed, 65537_u32.to_le_bytes().to_vec(), bits.to_le_bytes().to_vec()];
        for candidate in
            [Candidate { squaring: 1, ..Candidate::shipped() }, candidates().next().expect("one")]
        {
            let request = |limb_bits| Request {
                candidate,
                operands: operands.clone(),
                ..Request::new("rsa_generate", limb_bits)
            };
            let keys = NATIVE.run(&LIMB_BITS.map(request));
            assert_eq!(keys[0], keys[1], "{bits} bits");
            let check =
                Request { operation: request::CHECK, operands: done(&keys[0]), ..Request::new("check", 32) };
            assert_eq!(done(&gmp.run(&[check])[0]), [[1]], "{bits} bits: {keys:?}");
            // Taken up, a key has the numbers that it was made with, where it has factors.
            let numbers = done(&keys[0]);
            let public = [numbers[0].clone(), 65537_u32.to_le_bytes().to_vec()];
            let group = [numbers[2].clone(), vec![3; numbers[2].len()]];
            let kept = if candidate.crt == 0 { 2 } else { 6 };
            for limb_bits in LIMB_BITS {
                let load = |operation, operands: &[Vec<u8>]| {
                    let request = Request {
                        candidate,
                        operands: operands.to_vec(),
                        ..Request::new(operation, limb_bits)
                    };
                    NATIVE.run(&[request]).remove(0)
                };
                assert_eq!(done(&load("rsa_private_load", &numbers)), numbers[..kept], "{bits} bits");
                let e = 65537_u32.to_be_bytes().to_vec();
                assert_eq!(done(&load("rsa_public_load", &public)), [public[0].clone(), e], "{bits} bits");
                assert_eq!(done(&load("elgamal_load", &group)), group, "{bits} bits");
                // Even moduli are none.
                let even = |operands: &[Vec<u8>]| {
                    let mut operands = operands.to_vec();
                    *operands[0].last_mut().expect("it has octets") &= 0xfe;
                    operands
                };
                for (operation, operands) in [
                    ("rsa_private_load", &numbers[..]),
                    ("rsa_public_load", &public),
                    ("elgamal_load", &group),
                ] {
                    assert_eq!(load(operation, &even(operands)).status, UNFIT, "{operation}");
                }
            }
        }
    }
}

#[test]
fn what_is_encrypted_is_padded_as_pkcs1_has_it_and_comes_back() {
    let Some(gmp) = GMP.as_ref() else { return };
    let mut rng = seeded();
    let key = key(gmp, 768, &mut rng);
    let e = 65537_u32.to_le_bytes().to_vec();
    for (length, limb_bits) in
        [0, 1, 40, 84, 85, 86].into_iter().flat_map(|length| LIMB_BITS.map(|bits| (length, bits)))
    {
        let message = random_bytes(&mut rng, length);
        let operands = vec![key[0].clone(), e.clone(), message.clone(), random_bytes(&mut rng, 8)];
        let request = Request { operands, ..Request::new("rsa_encrypt", limb_bits) };
        let encrypted = NATIVE.run(&[request]).remove(0);
        if length > 96 - 11 {
            assert_eq!(encrypted.status, REFUSED);
            continue;
        }
        let operands = [&key[..], &done(&encrypted)].concat();
        let raw = Request { operands: operands.clone(), ..Request::new("rsa_private", limb_bits) };
        let padded = done(&gmp.run(&[raw])[0]).remove(0);
        let end = 96 - length;
        assert_eq!((&padded[..2], padded[end - 1], &padded[end..]), (&[0, 2][..], 0, &message[..]));
        assert!(padded[2..end - 1].iter().all(|byte| *byte != 0));
        let request = Request { operands, ..Request::new("rsa_decrypt", limb_bits) };
        assert_eq!(done(&NATIVE.run(&[request])[0]), [message]);
    }
}

#[test]
fn elgamal_agrees_with_gmp_and_its_messages_come_back() {
    let Some(gmp) = GMP.as_ref() else { return };
    let mut rng = seeded();
    for bits in [512, 1024] {
        // A prime of GMP's: half of a key of twice its length.
        let prime = key(gmp, 2 * bits, &mut rng).remove(2);
        let number = |small: u8| [vec![0; bits as usize / 8 - 1], vec![small]].concat();
        let group = [prime.clone(), number(5)];
        for (candidate, limb_bits) in sample(&mut rng, 24).into_iter().zip(LIMB_BITS.into_iter().cycle()) {
            let request = |operation, more: &[&[u8]]| Request {
                candidate,
                repeats: 2,
                operands: group.iter().cloned().chain(more.iter().map(|operand| operand.to_vec())).collect(),
                ..Request::new(operation, limb_bits)
            };
            let run = |request: Request| done(&NATIVE.run(&[request])[0]);
            let keys = run(request("elgamal_generate", &[&random_bytes(&mut rng, 8)]));
            let power = Request {
                operands: [prime.clone(), number(5), keys[0].clone()].map(reversed).to_vec(),
                ..Request::new("modexp", 32)
            };
            assert_eq!(done(&gmp.run(&[power])[0]), [reversed(keys[1].clone())]);
            let message = message(bits, &mut rng);
            let sent = run(request("elgamal_encrypt", &[&keys[1], &message, &random_bytes(&mut rng, 8)]));
            let opening = request("elgamal_decrypt", &[&keys[0], &sent[0], &sent[1]]);
            assert_eq!(done(&gmp.run(std::slice::from_ref(&opening))[0]), [&message[..]]);
            assert_eq!(run(opening), [message]);
        }
    }
}

fn reversed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.reverse();
    bytes
}

/// So many candidates at random.
fn sample(rng: &mut ChaCha20Rng, count: usize) -> Vec<Candidate> {
    let all: Vec<_> = candidates().collect();
    (0..count).map(|_| all[rng.next_u32() as usize % all.len()]).collect()
}

#[test]
fn official_vectors_of_rsa_and_curves_hold_in_both_radices() {
    for (request, expected) in official::all() {
        let found = NATIVE.run(std::slice::from_ref(&request)).remove(0);
        assert!(expected.is_met_by(&found), "{request:?}: found {found:?}, expected {expected:?}");
    }
}

#[test]
fn curves_agree_with_a_crypto_library_on_random_keys() {
    library::against_a_library(&NATIVE, &mut seeded());
}

#[test]
fn requests_that_make_no_sense_are_refused_by_name() {
    let good = Request { operands: vec![vec![1; 8], vec![2; 8]], ..Request::new("mpn_add_n", 32) };
    let numbers = program::numbers();
    let bytes = good.bytes(&numbers);
    let status = |bytes: &[u8]| NATIVE.run_bytes(&[bytes.to_vec()])[0].status;
    assert_eq!(status(&bytes), 0);
    let changed = |at: usize, to: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = to;
        status(&bytes)
    };
    let (unknown, malformed) = (1, 2);
    assert_eq!([changed(1, 0xff), changed(2, 0), changed(2, 24), changed(3, 8), changed(5, 6)], [unknown; 5]);
    assert_eq!(
        [changed(11, 0), changed(12, 1), changed(12, 9), changed(14, 1), changed(16, 9)],
        [malformed; 5]
    );
    assert_eq!(status(&bytes[..bytes.len() - 1]), malformed);
    assert_eq!(status(&bytes[..15]), malformed);
    for operands in
        [vec![vec![1; 8]], vec![vec![1; 8], vec![2; 4]], vec![vec![1; 7], vec![2; 7]], vec![vec![], vec![]]]
    {
        assert_eq!(status(&Request { operands, ..good.clone() }.bytes(&numbers)), UNFIT);
    }
}

#[test]
fn wrong_keys_and_inputs_are_refused() {
    let Some(gmp) = GMP.as_ref() else { return };
    let mut rng = seeded();
    let key = key(gmp, 512, &mut rng);
    let input = message(512, &mut rng);
    let run = |operands: Vec<Vec<u8>>, crt| {
        let candidate = Candidate { crt, ..Candidate::shipped() };
        NATIVE.run(&[Request { candidate, operands, ..Request::new("rsa_private", 32) }])[0].status
    };
    let with = |place: usize, operand: Vec<u8>| {
        let mut operands = [&key[..], std::slice::from_ref(&input)].concat();
        operands[place] = operand;
        operands
    };
    assert_eq!(run(with(6, input.clone()), 2), 0);
    assert_eq!(run(with(6, key[0].clone()), 2), REFUSED, "an input that is the modulus");
    assert_eq!(run(with(6, vec![0xff; 64]), 2), REFUSED, "an input above the modulus");
    assert_eq!(run(with(3, key[2].clone()), 2), UNFIT, "both primes are the same");
    assert_eq!(run(with(3, vec![0x7f; 32]), 2), UNFIT, "a prime that is too short");
    assert_eq!(run(with(3, vec![0x7f; 32]), 0), 0, "which nobody reads without a CRT");
    assert_eq!(run(with(1, vec![1; 65]), 0), UNFIT, "an exponent that is too long");
    assert_eq!(run(with(0, vec![0x80; 64]), 0), UNFIT, "an even modulus");
}

#[test]
fn the_least_modulus_of_a_length_is_refused_where_its_reciprocal_has_no_room() {
    for limb_bits in LIMB_BITS {
        let least = layers::least(usize::from(limb_bits) / 8, 4);
        let status = |multiplication: u8, modulus: &[u8]| {
            let candidate = Candidate { multiplication, ..Candidate::shipped() };
            let operands = vec![modulus.to_vec()];
            let request = Request { candidate, operands, ..Request::new("modmul_setup", limb_bits) };
            NATIVE.run(&[request])[0].status
        };
        // By division, limb by limb, and Barrett's; Montgomery's want an odd one.
        assert_eq!([0, 1, 2, 4].map(|multiplication| status(multiplication, &least)), [0, 0, UNFIT, UNFIT]);
        let next = [&[1], &least[1..]].concat();
        assert_eq!([0, 1, 2, 4].map(|multiplication| status(multiplication, &next)), [0; 4]);
    }
}

/// The same requests of every layer, for other programs to answer.
fn some_of_everything() -> Vec<Request> {
    let mut rng = seeded();
    let mut requests = layers::requests(&mut rng, 3);
    requests.extend(official::all().into_iter().map(|(request, _)| request).step_by(29));
    if let Some(gmp) = GMP.as_ref() {
        let key = key(gmp, 512, &mut rng);
        let input = message(512, &mut rng);
        for limb_bits in LIMB_BITS {
            let sample = sample(&mut rng, 24);
            requests.extend(private_operations(&key, &input, limb_bits, sample.into_iter()));
        }
    }
    for limb_bits in LIMB_BITS {
        let operands =
            vec![random_bytes(&mut rng, 8), 3_u32.to_le_bytes().to_vec(), 512_u16.to_le_bytes().to_vec()];
        let candidate = Candidate::shipped();
        requests.push(Request { candidate, operands, ..Request::new("rsa_generate", limb_bits) });
    }
    requests
}

#[test]
fn rv32_answers_what_this_machine_answers_with_every_kind_of_leaves() {
    if !is_installed("riscv64-unknown-elf-gcc", "public keys on RV32")
        || !is_installed("qemu-riscv32", "public keys on RV32")
    {
        return;
    }
    let requests = some_of_everything();
    let expected = NATIVE.run(&requests);
    for (level, leaves) in [("-O2", "mpn_c"), ("-O2", "mpn_unrolled"), ("-O2", "mpn_rv32"), ("-Os", "mpn_c")]
    {
        let found = Program::rv32(level, leaves).run(&requests);
        assert_same(&format!("RV32 {level} {leaves}"), &requests, &found, &expected);
    }
}

/// What valgrind is told to end with when it found an error.
const TAINTED: i32 = 77;

#[test]
fn only_the_methods_that_say_so_touch_the_same_addresses_whatever_the_secrets_are() {
    let Some(gmp) = GMP.as_ref() else { return };
    if !is_installed("valgrind", "public keys under valgrind") {
        return;
    }
    let mut rng = seeded();
    let program = Program::tainted(TAINTED);
    let key = key(gmp, 512, &mut rng);
    let input = message(512, &mut rng);
    let verdict = |requests: &[Request], words| program.try_run(requests, words).map(|answers| answers.len());
    for limb_bits in LIMB_BITS {
        let private = |candidate| private_operations(&key, &input, limb_bits, [candidate].into_iter());
        let choices = [(0, 0, 3), (2, 0, 1), (2, 1, 5)];
        let silent = (2..8).flat_map(|multiplication| {
            choices.map(|(crt, caching, window_bits)| Candidate {
                multiplication,
                crt,
                caching,
                window_bits,
                squaring: caching,
                ..Candidate::shipped()
            })
        });
        // Barrett's constants are a quotient, which takes the time it takes: not with a secret modulus.
        let (silent, barrett): (Vec<_>, Vec<_>) =
            silent.partition(|candidate| candidate.multiplication != 2 || candidate.crt == 0);
        let mut requests = private_operations(&key, &input, limb_bits, silent.into_iter());
        requests.extend(library::secret_operations(&mut rng, limb_bits));
        // In the group of one of the key's primes.
        let number = |rng: &mut ChaCha20Rng| message(256, rng);
        let generator = [vec![0; 31], vec![5]].concat();
        let operands = vec![key[2].clone(), generator, number(&mut rng), number(&mut rng), number(&mut rng)];
        let candidate = Candidate::shipped();
        requests.push(Request { candidate, operands, ..Request::new("elgamal_decrypt", limb_bits) });
        assert_eq!(verdict(&requests, Stdio::inherit()), Ok(requests.len()));
        for candidate in [
            barrett[0],
            Candidate { method: 0, window_bits: 1, ..Candidate::shipped() },
            Candidate { method: 2, ..Candidate::shipped() },
            Candidate { multiplication: 0, ..Candidate::shipped() },
            Candidate { crt: 1, ..Candidate::shipped() },
        ] {
            assert_eq!(verdict(&private(candidate), Stdio::null()), Err(Some(TAINTED)), "{candidate:?}");
        }
    }
}
