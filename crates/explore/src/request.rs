//! Requests and responses: what the native library and an RV32 image are asked, the same bytes for both.
//!
//! Owns the bytes as `firmware/bench/explore.h` draws them. What an operation does and takes stands in
//! `firmware/bench/operations.def`; operations go by its names, whose numbers `native` knows.

use crate::candidate::{Candidate, Radix};
use crate::error::Error;
use crate::native;

/// The longest request in bytes, `EXPLORE_REQUEST_BYTES_MAX`.
pub const REQUEST_BYTES_MAX: usize = 8192;
/// The longest response in bytes, `EXPLORE_RESPONSE_BYTES_MAX`.
pub const RESPONSE_BYTES_MAX: usize = 8192;
/// What stands where a candidate would: one that exists, since an operation of limbs looks at it.
const NO_CANDIDATE: [u8; 7] = [0, 0, 1, 0, 0, 0, 0];
const REQUEST_HEADER_BYTES: usize = 16;
const RESPONSE_HEADER_BYTES: usize = 4;

/// One call of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its name in `operations.def`.
    pub operation: &'static str,
    /// Limbs, where it is made of them.
    pub radix: Option<Radix>,
    /// What of it is used is the operation's.
    pub candidate: Option<Candidate>,
    /// What else is chosen, as `operations.def` says.
    pub choice: u8,
    /// How often it is done on the same state; the last time counts.
    pub repeats: u8,
    /// Its operands.
    pub operands: Vec<Vec<u8>>,
}

impl Request {
    /// An operation that is done once.
    pub fn new(operation: &'static str, radix: Option<Radix>, operands: Vec<Vec<u8>>) -> Request {
        Request { operation, radix, candidate: None, choice: 0, repeats: 1, operands }
    }

    /// The same by a candidate, and in its radix.
    pub fn by(self, candidate: Candidate) -> Request {
        Request { radix: Some(candidate.radix), candidate: Some(candidate), ..self }
    }

    /// The same, warm: what is kept from one operation to the next is there.
    pub fn warm(self) -> Request {
        Request { repeats: 2, ..self }
    }

    /// The request as it is sent.
    ///
    /// # Panics
    /// When there is no such operation, or its operands are longer than a request.
    pub fn bytes(&self) -> Vec<u8> {
        let number = native::operation_number(self.operation);
        let number = number.unwrap_or_else(|| panic!("operations.def has no `{}`", self.operation));
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.push(self.radix.map_or(0, Radix::limb_bits));
        bytes.extend(self.candidate.as_ref().map_or(NO_CANDIDATE, Candidate::octets));
        bytes.extend([self.choice, self.repeats]);
        bytes.extend(u16::try_from(self.operands.len()).expect("there are few operands").to_le_bytes());
        bytes.extend([0, 0]);
        debug_assert_eq!(bytes.len(), REQUEST_HEADER_BYTES);
        for operand in &self.operands {
            bytes.extend(u32::try_from(operand.len()).expect("an operand fits a request").to_le_bytes());
            bytes.extend(operand);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        assert!(bytes.len() <= REQUEST_BYTES_MAX, "`{}` asks with {} bytes", self.operation, bytes.len());
        bytes
    }
}

/// What an operation answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// What it computed.
    pub operands: Vec<Vec<u8>>,
}

impl Response {
    /// Reads a response of `operation`.
    ///
    /// # Errors
    /// The library refused.
    ///
    /// # Panics
    /// When the bytes are no response: they come from our own library.
    pub fn read(operation: &'static str, bytes: &[u8]) -> Result<Response, Error> {
        Response::take(operation, bytes).map(|(response, _)| response)
    }

    /// The same; and what is behind it.
    ///
    /// # Errors
    /// The library refused.
    ///
    /// # Panics
    /// As above.
    pub fn take<'a>(operation: &'static str, bytes: &'a [u8]) -> Result<(Response, &'a [u8]), Error> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let status = u16_at(0);
        if status != 0 {
            return Err(Error::Refused { operation, status });
        }
        let mut operands = Vec::new();
        let mut at = RESPONSE_HEADER_BYTES;
        for _ in 0..u16_at(2) {
            let length = u32_at(at) as usize;
            operands.push(bytes[at + 4..at + 4 + length].to_vec());
            at = (at + 4 + length).next_multiple_of(4);
        }
        Ok((Response { operands }, &bytes[at..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_lies_as_it_is_drawn() {
        let candidate: Candidate = "fips/sliding-4/garner/tables/32+squaring".parse().expect("it is one");
        let request =
            Request::new("modexp", None, vec![vec![1, 2, 3, 4], vec![5], vec![]]).by(candidate).warm();
        let bytes = request.bytes();
        let number = native::operation_number("modexp").expect("there is modexp").to_le_bytes();
        assert_eq!(bytes[..16], [number[0], number[1], 32, 6, 2, 4, 2, 2, 1, 0, 0, 2, 3, 0, 0, 0]);
        assert_eq!(bytes[16..], [4, 0, 0, 0, 1, 2, 3, 4, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_the_library_refuses_is_an_error() {
        let bytes = [3, 0, 0, 0];
        assert_eq!(Response::read("modexp", &bytes), Err(Error::Refused { operation: "modexp", status: 3 }));
    }
}
