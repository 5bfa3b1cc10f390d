//! The PDU: the one message between an application, the broker and the device.
//!
//! Owns the bytes, and the two tables of numbers that they carry: operations and statuses. Reading and
//! writing streams of PDUs is `stream`'s, meaning is the core's and the device's. Integers are little-endian.
//!
//! ```text
//!  0  1  version             2
//!  1  1  lane                table `Lane`; the request's in an answer
//!  2  2  operation           table `Operation`
//!  4  4  request             chosen by the application; no two unanswered ones of a connection are equal
//!  8  8  connection          0 from an application; the broker fills it in (the paper's CSN); never reused
//! 16  8  key                 handle of a key in the device, 0 = none
//! 24  2  status              table `Status`; 0 in a request
//! 26  2  parameter_bytes     at most 1024
//! 28  4  payload_bytes       at most 65 600
//! 32  4  time_ms             a request: it is of no use so long after it came, 0 = it always is;
//!                            an answer that is `Busy`: when to ask again; else 0
//! 36  4  epoch               an answer: how often the device has been lost; 0 in a request
//! 40  n  parameters
//!     m  payload
//!     4  CRC-32C of all of the above (RFC 3720 section 12.1), on the wire to the device only
//! ```
//!
//! Invariant: every parser here is total, and what one refuses has a name in [`Fault`].

use std::fmt;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::Fault;
use crate::limits::{
    CHALLENGE_BYTES_MAX, CRC_BYTES, GROUPS_MAX, HEADER_BYTES, KEY_BYTES_MAX, KEY_NAME_BYTES_MAX, LISTED_MAX,
    NONCE_BYTES, NONCE_BYTES_MAX, PARAMETER_BYTES_MAX, PAYLOAD_BYTES_MAX, PLAINTEXT_BYTES_MAX,
    PUBLIC_BYTES_MAX, SALT_BYTES, SEALED_BYTES_MAX, TAG_BYTES,
};
use crate::template::Algorithm;
use crate::wiped::{Wiped, append};

/// The version that is spoken here.
pub const VERSION: u8 = 2;

/// Length of a block of AES.
const BLOCK_BYTES: usize = 16;
/// Longest ciphertext of AES in a mode that pads.
const CIPHERTEXT_BYTES_MAX: u32 = PLAINTEXT_BYTES_MAX + BLOCK_BYTES as u32;
/// Longest digest or MAC: SHA-512's.
const DIGEST_BYTES_MAX: usize = 64;
/// Longest signature: RSA-3072's.
const SIGNATURE_BYTES_MAX: usize = 384;
/// Length of a secret shared by P-256 or X25519.
const SHARED_BYTES: usize = 32;
/// Longest statement about a key, see `engine/attest.rs`.
pub(crate) const STATEMENT_BYTES_MAX: usize =
    28 + CHALLENGE_BYTES_MAX as usize + crate::template::Attributes::BYTES_MAX + PUBLIC_BYTES_MAX + 32 + 64;

macro_rules! operations {
    ($($number:literal $operation:ident $name:literal $keyed:ident $repeat:literal
       $parameters:expr, $payload:expr; $meaning:literal)*) => {
        /// What can be asked of the device. Numbers are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Operation { $(#[doc = $meaning] $operation = $number,)* }

        impl Operation {
            /// All of them, in the order of the table.
            pub const ALL: &[Operation] = &[$(Operation::$operation),*];

            /// The operation of a number.
            pub const fn from_number(number: u16) -> Option<Operation> {
                match number { $($number => Some(Operation::$operation),)* _ => None }
            }

            /// The operation's line in the table.
            pub const fn row(self) -> Row {
                match self {
                    $(Operation::$operation => Row {
                        name: $name, keyed: Keyed::$keyed, may_repeat: $repeat,
                        parameter_bytes: $parameters, payload_bytes: $payload,
                    },)*
                }
            }
        }
    };
}

macro_rules! statuses {
    ($($number:literal $status:ident $name:literal $blame:ident $repeat:literal $meaning:literal)*) => {
        /// How a request ended. Numbers are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Status { $(#[doc = $meaning] $status = $number,)* }

        impl Status {
            /// All of them, in the order of the table.
            pub const ALL: &[Status] = &[$(Status::$status),*];

            /// The status of a number.
            pub const fn from_number(number: u16) -> Option<Status> {
                match number { $($number => Some(Status::$status),)* _ => None }
            }

            /// Its name in texts and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Status::$status => $name,)* }
            }

            /// What it says, as a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Status::$status => $meaning,)* }
            }

            /// Whose doing it is.
            pub const fn blame(self) -> Blame {
                match self { $(Status::$status => Blame::$blame,)* }
            }

            /// Whether the same request may succeed later. The device may have carried it out: whether that does harm
            /// says the operation's [`Row`].
            pub const fn may_repeat(self) -> bool {
                match self { $(Status::$status => $repeat,)* }
            }
        }
    };
}

#[rustfmt::skip]
operations! {
  // no  operation      name               key      twice  parameter bytes            payload bytes
    1    Info           "info"             Keyless  true   (0, 0),                    (0, 0);
         "Says what the device is; answers a [`DeviceInfo`](crate::info::DeviceInfo)."
    2    FindKey        "find-key"         Keyless  true   (0, 0),                    (1, KEY_NAME_BYTES_MAX);
         "Looks the key of a name up; the answer's key field is its handle."
    3    Random         "random"           Keyless  true   (4, 4),                    (0, 0);
         "Answers as many random bytes as the parameter, a u32, says."
    4    SealAes256Gcm  "seal-aes-256-gcm" Keyed    true   (0, PARAMETER_BYTES_MAX),  (0, PLAINTEXT_BYTES_MAX);
         "Seals the payload, parameters being the associated data; answers nonce, ciphertext, tag."
    5    OpenAes256Gcm  "open-aes-256-gcm" Keyed    true   (0, PARAMETER_BYTES_MAX),  (NONCE_BYTES + TAG_BYTES, SEALED_BYTES_MAX);
         "Opens nonce, ciphertext, tag, parameters being the associated data; answers the plaintext."
    6    Echo           "echo"             Keyless  true   (0, 0),                    (0, PAYLOAD_BYTES_MAX);
         "Answers the payload, as the device of the MECHA paper's benchmark does (section 4)."
    7    Encrypt        "encrypt"          Keyed    true   (4, 20),                   (0, PLAINTEXT_BYTES_MAX);
         "Encrypts the payload with AES in a mode without authentication; parameters are [`block`](crate::engine::block)'s."
    8    Decrypt        "decrypt"          Keyed    true   (4, 20),                   (0, CIPHERTEXT_BYTES_MAX);
         "The reverse of [`Encrypt`](Self::Encrypt)."
    9    Seal           "seal"             Keyed    true   (4, PARAMETER_BYTES_MAX),  (0, PLAINTEXT_BYTES_MAX);
         "Seals the payload with any AEAD; parameters and answer are [`aead`](crate::engine::aead)'s."
   10    Open           "open"             Keyed    true   (4, PARAMETER_BYTES_MAX),  (0, PAYLOAD_BYTES_MAX);
         "The reverse of [`Seal`](Self::Seal)."
   11    Hash           "hash"             Keyless  true   (1, 1),                    (0, PAYLOAD_BYTES_MAX);
         "Answers the digest of the payload; parameters are [`digest`](crate::engine::digest)'s, as for the next three."
   12    Mac            "mac"              Keyed    true   (1, 1),                    (0, PAYLOAD_BYTES_MAX);
         "Answers the MAC of the payload."
   13    MacVerify      "mac-verify"       Keyed    true   (1, 65),                   (0, PAYLOAD_BYTES_MAX);
         "Compares the MAC of the payload with the parameters'."
   14    Derive         "derive"           Keyed    false  (16, PARAMETER_BYTES_MAX), (0, PAYLOAD_BYTES_MAX);
         "Makes a key from a key with HKDF, the payload being the info; the answer's key field is its handle."
   15    Sign           "sign"             Keyed    true   (4, 4),                    (0, PAYLOAD_BYTES_MAX);
         "Answers the signature of the payload; parameters are [`signature`](crate::engine::signature)'s."
   16    Verify         "verify"           Keyed    true   (4, PARAMETER_BYTES_MAX),  (0, PAYLOAD_BYTES_MAX);
         "Checks the parameters' signature of the payload."
   17    Agree          "agree"            Keyed    false  (0, PARAMETER_BYTES_MAX),  (32, 65);
         "Answers the secret shared with the payload, a public key; or makes it a key, if the parameters say what for."
   18    RsaDecrypt     "rsa-decrypt"      Keyed    true   (4, PARAMETER_BYTES_MAX),  (256, 384);
         "Decrypts the payload; parameters are [`rsa`](crate::engine::rsa)'s."
   19    Begin          "begin"            Either   false  (2, 128),                  (0, 0);
         "Begins an operation in parts; parameters and answer are [`context`](crate::engine::context)'s, as for the next three."
   20    Update         "update"           Keyless  false  (8, 8),                    (0, PLAINTEXT_BYTES_MAX);
         "Gives it a part."
   21    Finish         "finish"           Keyless  false  (8, 8),                    (0, PLAINTEXT_BYTES_MAX);
         "Gives it its last part."
   22    Cancel         "cancel"           Keyless  true   (8, 8),                    (0, 0);
         "Forgets it."
   23    KeyGenerate    "key-generate"     Keyless  false  (12, 1024),                (0, 0);
         "Makes a key; parameters are [`keys`](crate::engine::keys)'s, as for all that follow; the answer's key field is its handle."
   24    KeyImport      "key-import"       Keyless  false  (16, 1024),                (1, KEY_BYTES_MAX as u32);
         "Takes the payload as a key; the answer's key field is its handle."
   25    KeyWrap        "key-wrap"         Keyed    true   (8, 8),                    (0, 0);
         "Answers the key that the parameters name, wrapped under this one (AES-KWP, RFC 5649)."
   26    KeyUnwrap      "key-unwrap"       Keyed    false  (12, 1024),                (16, KEY_BYTES_MAX as u32);
         "Takes the payload, a wrapped key, as a key; the answer's key field is its handle."
   27    KeyDestroy     "key-destroy"      Keyed    false  (0, 0),                    (0, 0);
         "Forgets a key."
   28    KeyList        "key-list"         Keyless  true   (8, 8),                    (0, 0);
         "Answers handles of keys that the user can use, in their order, from the one after the parameters'."
   29    KeyAttributes  "key-attributes"   Keyed    true   (0, 0),                    (0, 0);
         "Answers what was fixed when the key was made."
   30    KeyPublic      "key-public"       Keyed    true   (0, 0),                    (0, 0);
         "Answers the public half of a key."
   31    KeyAttest      "key-attest"       Keyed    true   (0, CHALLENGE_BYTES_MAX),  (0, 0);
         "Answers a signed statement about the key; it is [`attest`](crate::engine::attest)'s."
   32    Introduce      "introduce"        Keyless  true   (0, 0),                    (4, 4 + 4 * GROUPS_MAX as u32);
         "The broker says whose a connection is: the payload is the user's number and those of the groups. Has no answer."
   33    Leave          "leave"            Keyless  true   (0, 0),                    (0, 0);
         "The broker says that a connection was closed. Has no answer."
  // The broker's own, which no device is sent.
  256    Status         "status"           Keyless  true   (0, 0),                    (0, 0);
         "Says what the broker has done, to its operator; answers Prometheus' text format."
}

#[rustfmt::skip]
statuses! {
  // no  status             name                  blame        again  meaning
     0   Done               "done"                Nobody       false  "the operation was carried out"
     1   Malformed          "malformed"           Application  false  "the bytes are no request; the connection is closed"
     2   Oversize           "oversize"            Application  false  "the request is longer than the broker or the device takes"
     3   Version            "version"             Application  false  "the version is not spoken here; the connection is closed"
     4   UnknownOperation   "unknown-operation"   Application  false  "the operation's number is in no table"
     5   WrongParameters    "wrong-parameters"    Application  false  "the key, parameters or payload are not what the operation takes"
     6   UnknownKey         "unknown-key"         Application  false  "the device has no such key"
     7   Rejected           "rejected"            Application  false  "the message is not authentic under this key and associated data"
     8   DuplicateRequest   "duplicate-request"   Application  false  "the request id is not answered yet; the connection is closed"
     9   Busy               "busy"                Broker       true   "too many requests are waiting"
    10   ConnectionsFull    "connections-full"    Broker       true   "too many applications are connected"
    11   Stopping           "stopping"            Broker       true   "the broker is stopping"
    12   DeviceUnavailable  "device-unavailable"  Device       true   "the device is not open, and was not sent the request"
    13   DeviceLost         "device-lost"         Device       true   "the device was lost while it had the request"
    14   DeviceSilent       "device-silent"       Device       true   "the device did not answer in time"
    15   WireCorrupt        "wire-corrupt"        Device       true   "bytes were damaged between broker and device"
    16   DeviceFault        "device-fault"        Device       false  "the device could not carry the operation out"
    17   WrongPurpose       "wrong-purpose"       Application  false  "the key is not one for this operation"
    18   TooLate            "too-late"            Broker       false  "the request's time was over before its turn came"
    19   NameTaken          "name-taken"          Application  false  "the user has another key of this name"
    20   DeviceFull         "device-full"         Application  false  "the user has as many keys or begun operations as the device holds"
    21   UnknownContext     "unknown-context"     Application  false  "the connection has begun no such operation"
    22   WholeOnly          "whole-only"          Application  false  "the operation takes its message as a whole: nothing unauthentic is released"
    23   NotPermitted       "not-permitted"       Application  false  "it is the operator's to ask for that"
    24   UnknownUser        "unknown-user"        Application  false  "the kernel has no number for the application's user"
    25   StoreFull          "store-full"          Device       true   "the disk has no room for what the device must keep"
}

/// Which requests go before which: a lane goes before those behind it, until one of theirs has waited for
/// [`AGE_MAX`](crate::limits::AGE_MAX).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Lane {
    /// What somebody waits for at this moment.
    Urgent = 0,
    /// What no lane is named for.
    #[default]
    Normal = 1,
    /// What may take its time.
    Bulk = 2,
}

impl Lane {
    /// All of them, the most urgent first.
    pub const ALL: [Lane; 3] = [Lane::Urgent, Lane::Normal, Lane::Bulk];

    /// The lane of a number.
    pub const fn from_number(number: u8) -> Option<Lane> {
        match number {
            0 => Some(Lane::Urgent),
            1 => Some(Lane::Normal),
            2 => Some(Lane::Bulk),
            _ => None,
        }
    }
}

/// Whose doing a status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// All went well.
    Nobody,
    /// The request.
    Application,
    /// A limit of the broker.
    Broker,
    /// The device or the wire to it.
    Device,
}

/// Whether an operation works under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyed {
    /// The key field must name a key.
    Keyed,
    /// The key field must be 0.
    Keyless,
    /// That depends on the parameters.
    Either,
}

/// A line of the table of operations: which requests are well-formed.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name in texts and reports.
    pub name: &'static str,
    /// Whether there is a key.
    pub keyed: Keyed,
    /// Whether it does no harm to carry it out twice, which the broker does when the device is lost meanwhile.
    pub may_repeat: bool,
    /// Fewest and most bytes of parameters.
    pub parameter_bytes: (u32, u32),
    /// Fewest and most bytes of payload.
    pub payload_bytes: (u32, u32),
}

impl Operation {
    /// The number on the wire.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The name in texts and reports.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether `request` has the key, parameters and payload that the operation takes.
    pub fn takes(self, request: &Pdu) -> bool {
        let row = self.row();
        let key = match row.keyed {
            Keyed::Keyed => request.head().key != KeyHandle::NONE,
            Keyed::Keyless => request.head().key == KeyHandle::NONE,
            Keyed::Either => true,
        };
        let within = |bytes: usize, (min, max): (u32, u32)| (min as usize..=max as usize).contains(&bytes);
        key && within(request.parameters().len(), row.parameter_bytes)
            && within(request.payload().len(), row.payload_bytes)
            && (self != Operation::Random || random_bytes(request) <= Some(PLAINTEXT_BYTES_MAX))
    }

    /// Whether it looks for primes: nobody knows how long that takes, and it is a thousand times as long as anything else.
    pub fn looks_for_primes(self, request: &Pdu) -> bool {
        let rsa = [Algorithm::Rsa2048, Algorithm::Rsa3072].map(|algorithm| algorithm as u8);
        self == Operation::KeyGenerate
            && request.parameters().first().is_some_and(|algorithm| rsa.contains(algorithm))
    }

    /// Whether only the broker may ask it. Such a request is not answered.
    pub const fn is_brokers(self) -> bool {
        matches!(self, Operation::Introduce | Operation::Leave)
    }

    /// Whether the key field of the answer is another key than the request's: one that was found, or made.
    pub const fn answers_a_key(self) -> bool {
        matches!(
            self,
            Operation::FindKey
                | Operation::Derive
                | Operation::Agree
                | Operation::KeyGenerate
                | Operation::KeyImport
                | Operation::KeyUnwrap
        )
    }

    /// Longest payload of the answer to `request`, which the operation must [take](Self::takes).
    pub fn answer_bytes_max(self, request: &Pdu) -> usize {
        let payload_bytes = request.payload().len();
        match self {
            Operation::Info => crate::info::DeviceInfo::BYTES_MAX,
            Operation::FindKey => 0,
            Operation::Random => random_bytes(request).unwrap_or(0) as usize,
            Operation::SealAes256Gcm => payload_bytes + (NONCE_BYTES + TAG_BYTES) as usize,
            Operation::Status => crate::limits::STATUS_BYTES_MAX,
            Operation::Echo | Operation::Open | Operation::Decrypt | Operation::RsaDecrypt => payload_bytes,
            Operation::Encrypt | Operation::Update => payload_bytes + BLOCK_BYTES,
            Operation::Seal => payload_bytes + (SALT_BYTES + NONCE_BYTES_MAX + TAG_BYTES) as usize,
            Operation::Hash | Operation::Mac => DIGEST_BYTES_MAX,
            Operation::Finish => (payload_bytes + 2 * BLOCK_BYTES).max(DIGEST_BYTES_MAX),
            Operation::Sign => SIGNATURE_BYTES_MAX,
            Operation::Agree => SHARED_BYTES,
            Operation::Begin => size_of::<u64>(),
            Operation::KeyWrap => KEY_BYTES_MAX,
            Operation::KeyList => LISTED_MAX * size_of::<u64>(),
            Operation::KeyAttributes => crate::template::Attributes::BYTES_MAX,
            Operation::KeyPublic => PUBLIC_BYTES_MAX,
            Operation::KeyAttest => STATEMENT_BYTES_MAX,
            Operation::MacVerify
            | Operation::Verify
            | Operation::Derive
            | Operation::Cancel
            | Operation::KeyGenerate
            | Operation::KeyImport
            | Operation::KeyUnwrap
            | Operation::KeyDestroy
            | Operation::Introduce
            | Operation::Leave => 0,
            Operation::OpenAes256Gcm => payload_bytes.saturating_sub((NONCE_BYTES + TAG_BYTES) as usize),
        }
    }
}

/// How many bytes a [`Operation::Random`] asks for; `None` if the parameters are not four bytes.
pub fn random_bytes(request: &Pdu) -> Option<u32> {
    request.parameters().try_into().ok().map(u32::from_le_bytes)
}

impl Status {
    /// The number on the wire.
    pub const fn number(self) -> u16 {
        self as u16
    }
}

impl From<Fault> for Status {
    /// What an application is told whose bytes have this fault.
    fn from(fault: Fault) -> Status {
        match fault {
            Fault::Version { .. } => Status::Version,
            Fault::Oversize { .. } => Status::Oversize,
            Fault::NotZero { .. }
            | Fault::Length { .. }
            | Fault::Crc
            | Fault::Unknown { .. }
            | Fault::Frame { .. }
            | Fault::Mismatch { .. } => Status::Malformed,
        }
    }
}

/// A connection's number. Never used twice by one broker; 0 is the broker itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Connection(pub u64);

impl Connection {
    /// The broker itself, as the asker of its own requests to the device.
    pub const BROKER: Connection = Connection(0);
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A key in the device.
///
/// Invariant: a handle names one key for ever, or no key: a handle that was found before the device restarted cannot
/// name another key afterwards. That of a key which a deployment provides follows from its name, see
/// [`KeyHandle::of`]; that of one which the device makes is drawn at random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHandle(pub u64);

impl KeyHandle {
    /// No key.
    pub const NONE: KeyHandle = KeyHandle(0);
}

/// The fixed fields of a PDU that have a meaning; the rest follows from the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// In which lane it waits.
    pub lane: Lane,
    /// Number of the operation.
    pub operation: u16,
    /// The application's number of the request.
    pub request: u32,
    /// Who asks.
    pub connection: Connection,
    /// Under which key.
    pub key: KeyHandle,
    /// Number of the status.
    pub status: u16,
    /// Of a request, how long it is of use, and 0 when it always is; of an answer that is busy, when to ask again.
    pub time_ms: u32,
    /// Of an answer, how often the device has been lost since the broker's start.
    pub epoch: u32,
}

impl Head {
    /// The head of a new request, as an application sends it.
    pub const fn request(operation: Operation, request: u32, key: KeyHandle) -> Head {
        Head {
            lane: Lane::Normal,
            operation: operation.number(),
            request,
            connection: Connection::BROKER,
            key,
            status: 0,
            time_ms: 0,
            epoch: 0,
        }
    }

    /// The head of the answer to this one.
    pub const fn answer(self, status: Status) -> Head {
        Head { status: status.number(), time_ms: 0, ..self }
    }
}

/// The drawing at the top, as the compiler sees it.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    version: u8,
    lane: u8,
    operation: U16,
    request: U32,
    connection: U64,
    key: U64,
    status: U16,
    parameter_bytes: U16,
    payload_bytes: U32,
    time_ms: U32,
    epoch: U32,
}

const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

impl Header {
    fn of(bytes: &[u8]) -> &Header {
        Header::ref_from_prefix(bytes).expect("the caller has a whole header").0
    }

    fn head(&self) -> Head {
        Head {
            lane: Lane::from_number(self.lane).unwrap_or_default(),
            operation: self.operation.get(),
            request: self.request.get(),
            connection: Connection(self.connection.get()),
            key: KeyHandle(self.key.get()),
            status: self.status.get(),
            time_ms: self.time_ms.get(),
            epoch: self.epoch.get(),
        }
    }

    /// Length of the whole PDU, once the fields that decide it are right.
    fn pdu_bytes(&self) -> Result<usize, Fault> {
        let (parameter_bytes, payload_bytes) =
            (u32::from(self.parameter_bytes.get()), self.payload_bytes.get());
        if self.version != VERSION {
            return Err(Fault::Version { found: self.version });
        }
        if Lane::from_number(self.lane).is_none() {
            return Err(Fault::Unknown { field: "lane", found: self.lane.into() });
        }
        check_bytes("parameters", parameter_bytes as usize, PARAMETER_BYTES_MAX)?;
        check_bytes("payload", payload_bytes as usize, PAYLOAD_BYTES_MAX)?;
        Ok(HEADER_BYTES + parameter_bytes as usize + payload_bytes as usize)
    }
}

/// Length of the PDU, without a checksum, that begins with this header; and its head in either case.
pub(crate) fn announced_bytes(header: &[u8]) -> (Head, Result<usize, Fault>) {
    let header = Header::of(header);
    (header.head(), header.pdu_bytes())
}

pub(crate) fn check_bytes(field: &'static str, found_bytes: usize, max_bytes: u32) -> Result<(), Fault> {
    if found_bytes <= max_bytes as usize {
        return Ok(());
    }
    let found_bytes = u32::try_from(found_bytes).unwrap_or(u32::MAX);
    Err(Fault::Oversize { field, found_bytes, max_bytes })
}

/// One message. Its bytes are wiped when it is dropped, since the payload may be a plaintext.
///
/// Invariant: the bytes are a header that passed its checks and exactly the parts that it announces.
pub struct Pdu {
    bytes: Wiped,
}

impl Pdu {
    /// A PDU of these parts.
    ///
    /// # Errors
    /// [`Fault::Oversize`].
    pub fn new(head: Head, parameters: &[u8], payload: &[u8]) -> Result<Pdu, Fault> {
        check_bytes("payload", payload.len(), PAYLOAD_BYTES_MAX)?;
        let mut draft = Draft::new(head, parameters, payload.len())?;
        append(draft.buffer(), payload);
        draft.finish()
    }

    /// What of a PDU goes before its payload, for who writes the payload from where it lies.
    ///
    /// # Errors
    /// [`Fault::Oversize`].
    pub(crate) fn front(head: Head, parameters: &[u8], payload_bytes: usize) -> Result<Wiped, Fault> {
        let Draft { mut bytes, head, payload_start } = Draft::new(head, parameters, 0)?;
        write_header(&mut bytes, head, payload_start, payload_bytes)?;
        Ok(bytes)
    }

    /// A PDU without parameters or payload, such as a refusal.
    pub fn empty(head: Head) -> Pdu {
        Pdu::new(head, &[], &[]).expect("nothing is within every limit")
    }

    /// Takes `bytes` as one whole PDU.
    ///
    /// # Errors
    /// What is wrong with them; they are wiped.
    pub fn parse(bytes: Vec<u8>) -> Result<Pdu, Fault> {
        let bytes = Wiped::new(bytes);
        if bytes.len() < HEADER_BYTES {
            return Err(Fault::Length { found_bytes: bytes.len(), expected_bytes: HEADER_BYTES });
        }
        let expected_bytes = Header::of(&bytes).pdu_bytes()?;
        if bytes.len() != expected_bytes {
            return Err(Fault::Length { found_bytes: bytes.len(), expected_bytes });
        }
        Ok(Pdu { bytes })
    }

    /// The fixed fields.
    pub fn head(&self) -> Head {
        Header::of(&self.bytes).head()
    }

    /// The operation, if its number is in the table.
    ///
    /// # Errors
    /// [`Fault::Unknown`].
    pub fn operation(&self) -> Result<Operation, Fault> {
        let found = self.head().operation;
        Operation::from_number(found).ok_or(Fault::Unknown { field: "operation", found })
    }

    /// The status, if its number is in the table.
    ///
    /// # Errors
    /// [`Fault::Unknown`].
    pub fn status(&self) -> Result<Status, Fault> {
        let found = self.head().status;
        Status::from_number(found).ok_or(Fault::Unknown { field: "status", found })
    }

    /// The parameters.
    pub fn parameters(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..self.payload_start()]
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.payload_start()..]
    }

    /// All of it, as it is written on a socket.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What follows the bytes on the wire to the device.
    pub fn crc(&self) -> [u8; CRC_BYTES] {
        crc32c::crc32c(&self.bytes).to_le_bytes()
    }

    /// `bytes` is a header that passed [`announced_bytes`], and as many bytes as that said.
    pub(crate) fn of_announced(bytes: Wiped) -> Pdu {
        Pdu { bytes }
    }

    /// Prefixes the number of the connection that the request came from.
    pub(crate) fn assign(&mut self, connection: Connection) {
        self.header().connection.set(connection.0);
    }

    /// Says in an answer how often the device has been lost.
    pub(crate) fn stamp(&mut self, epoch: u32) {
        self.header().epoch.set(epoch);
    }

    fn header(&mut self) -> &mut Header {
        Header::mut_from_prefix(&mut self.bytes).expect("a PDU has a header").0
    }

    fn payload_start(&self) -> usize {
        HEADER_BYTES + usize::from(Header::of(&self.bytes).parameter_bytes.get())
    }
}

impl fmt::Debug for Pdu {
    /// Prints lengths instead of contents: a payload may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pdu({:?}, {} + {} bytes)", self.head(), self.parameters().len(), self.payload().len())
    }
}

/// A PDU whose payload is being written into its final place, so that no copy of it stays behind.
pub struct Draft {
    bytes: Wiped,
    head: Head,
    payload_start: usize,
}

impl Draft {
    /// A draft with room for `payload_bytes` of payload.
    ///
    /// # Errors
    /// [`Fault::Oversize`] for the parameters.
    pub fn new(head: Head, parameters: &[u8], payload_bytes: usize) -> Result<Draft, Fault> {
        check_bytes("parameters", parameters.len(), PARAMETER_BYTES_MAX)?;
        let payload_start = HEADER_BYTES + parameters.len();
        let room_bytes = payload_bytes.min(PAYLOAD_BYTES_MAX as usize);
        let mut bytes = Wiped::new(Vec::with_capacity(payload_start + room_bytes));
        bytes.extend_from_slice(&[0; HEADER_BYTES]);
        bytes.extend_from_slice(parameters);
        Ok(Draft { bytes, head, payload_start })
    }

    /// The fixed fields, which may still change.
    pub fn head(&mut self) -> &mut Head {
        &mut self.head
    }

    /// The buffer, whose end is the end of the payload; what is there when the draft is new must stay.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Where in the [`buffer`](Self::buffer) the payload starts.
    pub fn payload_start(&self) -> usize {
        self.payload_start
    }

    /// The PDU.
    ///
    /// # Errors
    /// [`Fault::Oversize`] for the payload.
    pub fn finish(self) -> Result<Pdu, Fault> {
        let Draft { mut bytes, head, payload_start } = self;
        let payload_bytes =
            bytes.len().checked_sub(payload_start).expect("a draft does not shrink below its header");
        write_header(&mut bytes, head, payload_start, payload_bytes)?;
        Ok(Pdu { bytes })
    }
}

fn write_header(
    bytes: &mut [u8],
    head: Head,
    payload_start: usize,
    payload_bytes: usize,
) -> Result<(), Fault> {
    check_bytes("payload", payload_bytes, PAYLOAD_BYTES_MAX)?;
    let header = Header {
        version: VERSION,
        lane: head.lane as u8,
        operation: head.operation.into(),
        request: head.request.into(),
        connection: head.connection.0.into(),
        key: head.key.0.into(),
        status: head.status.into(),
        parameter_bytes: U16::new((payload_start - HEADER_BYTES) as u16),
        payload_bytes: U32::new(payload_bytes as u32),
        time_ms: head.time_ms.into(),
        epoch: head.epoch.into(),
    };
    bytes[..HEADER_BYTES].copy_from_slice(header.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_and_its_payload_are_the_pdu() {
        let head = Head::request(Operation::Seal, 7, KeyHandle(9));
        for payload_bytes in [0, 1, PAYLOAD_BYTES_MAX as usize] {
            let payload = vec![3; payload_bytes];
            let front = Pdu::front(head, b"parameters", payload_bytes).unwrap();
            let whole = Pdu::new(head, b"parameters", &payload).unwrap();
            assert!([&front, &payload[..]].concat() == whole.bytes());
        }
        let long = Pdu::front(head, &[], PAYLOAD_BYTES_MAX as usize + 1).map(drop);
        assert!(matches!(long, Err(Fault::Oversize { field: "payload", .. })), "{long:?}");
    }
}
