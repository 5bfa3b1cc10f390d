//! Requests and responses of `firmware/bench/explore.h`, and the candidates of `firmware/crypto/candidate.h`.

use std::collections::BTreeMap;

/// What GMP alone has, behind the list: see `gmp.c`.
pub const GENERATE: &str = "GENERATE";
/// The same.
pub const CHECK: &str = "CHECK";
/// `EXPLORE_UNFIT` of `explore.h`: operands of lengths that the operation does not take.
pub const UNFIT: u16 = 3;
/// `EXPLORE_REFUSED`: the library refused.
pub const REFUSED: u16 = 4;

/// `struct candidate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub multiplication: u8,
    pub method: u8,
    pub window_bits: u8,
    pub crt: u8,
    pub caching: u8,
    pub squaring: u8,
    pub karatsuba: u8,
}

impl Candidate {
    /// What a device would be given: constant time.
    pub fn shipped() -> Candidate {
        Candidate {
            multiplication: 4,
            method: 3,
            window_bits: 4,
            crt: 2,
            caching: 1,
            squaring: 1,
            karatsuba: 0,
        }
    }
}

/// How many ways to multiply residues there are.
pub fn multiplications() -> u16 {
    let lines = include_str!("../../../../firmware/crypto/multiplications.def").lines();
    lines.filter(|line| line.starts_with("MULTIPLICATION(")).count() as u16
}

/// All of them.
pub fn candidates() -> impl Iterator<Item = Candidate> {
    let methods =
        [(0, 1)].into_iter().chain((1..4).flat_map(|method| (1..6).map(move |window| (method, window))));
    let ways = multiplications();
    methods.flat_map(move |(method, window_bits)| {
        (0..ways * 3 * 3 * 2 * 2).map(move |rest| Candidate {
            multiplication: (rest % ways) as u8,
            method,
            window_bits,
            crt: (rest / ways % 3) as u8,
            caching: (rest / ways / 3 % 3) as u8,
            squaring: (rest / ways / 9 % 2) as u8,
            karatsuba: (rest / ways / 18) as u8,
        })
    })
}

/// One call of one operation.
#[derive(Clone, Debug)]
pub struct Request {
    pub operation: &'static str,
    pub limb_bits: u8,
    pub candidate: Candidate,
    pub choice: u8,
    pub repeats: u8,
    pub operands: Vec<Vec<u8>>,
}

impl Request {
    /// Without operands yet, once, for CIOS by single bits.
    pub fn new(operation: &'static str, limb_bits: u8) -> Request {
        let candidate = Candidate {
            multiplication: 4,
            method: 0,
            window_bits: 1,
            crt: 0,
            caching: 0,
            squaring: 0,
            karatsuba: 0,
        };
        Request { operation, limb_bits, candidate, choice: 0, repeats: 1, operands: Vec::new() }
    }

    /// As `explore.h` draws it; `numbers` are the operations'.
    pub fn bytes(&self, numbers: &BTreeMap<String, u16>) -> Vec<u8> {
        let number = match self.operation {
            GENERATE => numbers.len() as u16,
            CHECK => numbers.len() as u16 + 1,
            name => numbers[name],
        };
        let mut bytes = number.to_le_bytes().to_vec();
        let Candidate { multiplication, method, window_bits, crt, caching, squaring, karatsuba } =
            self.candidate;
        bytes.extend([
            self.limb_bits,
            multiplication,
            method,
            window_bits,
            crt,
            caching,
            squaring,
            karatsuba,
        ]);
        bytes.extend([self.choice, self.repeats, self.operands.len() as u8, 0, 0, 0]);
        for operand in &self.operands {
            bytes.extend((operand.len() as u32).to_le_bytes());
            bytes.extend(operand);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub operands: Vec<Vec<u8>>,
}

impl Response {
    /// From the bytes that `explore.h` draws.
    pub fn from_bytes(bytes: &[u8]) -> Response {
        let count = u16::from_le_bytes([bytes[2], bytes[3]]);
        let mut rest = &bytes[4..];
        let mut operands = Vec::new();
        for _ in 0..count {
            let length = u32::from_le_bytes(rest[..4].try_into().expect("four bytes")) as usize;
            operands.push(rest[4..4 + length].to_vec());
            rest = &rest[4 + length.next_multiple_of(4)..];
        }
        assert!(rest.is_empty(), "{} bytes behind a response", rest.len());
        Response { status: u16::from_le_bytes([bytes[0], bytes[1]]), operands }
    }
}

/// The results of what was done.
#[track_caller]
pub fn done(response: &Response) -> Vec<Vec<u8>> {
    assert_eq!(response.status, 0, "the operation was not done");
    response.operands.clone()
}
