//! Each operation that an application may ask for, as a type: what it takes, the request for it, and what it answers.
//!
//! Owns how parameters and answers are written and read on this side; sending and waiting is the clients'. A line of the
//! table of operations that no call here asks for is named by a test.

use zeroize::Zeroizing;

use crate::error::{Error, Fault};
use crate::info::DeviceInfo;
use crate::limits::PLAINTEXT_BYTES_MAX;
use crate::parameters::{Aead, Hash as HashKind, MacKind, Mode, RsaPadding, Scheme, Signed};
use crate::template::{Attributes, Template};
use crate::wiped::append;
use crate::wire::{Connection, KeyHandle, Operation, Pdu};

/// Bytes that are wiped.
pub type Secret = Zeroizing<Vec<u8>>;

/// Something to ask.
pub trait Call {
    /// What is answered.
    type Answer;

    /// The request.
    fn request(&self) -> Request<'_>;

    /// What the answer says, whose status is `Done`.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(&self, answer: &Pdu) -> Result<Self::Answer, Fault>;
}

/// A request without what its transport adds.
pub struct Request<'a> {
    /// What is asked.
    pub operation: Operation,
    /// Under which key.
    pub key: KeyHandle,
    /// The parameters.
    pub parameters: Vec<u8>,
    /// The payload.
    pub payload: &'a [u8],
    /// The connection that alone can ask it.
    pub only_on: Option<Connection>,
}

impl<'a> Request<'a> {
    fn new(operation: Operation, key: KeyHandle, parameters: Vec<u8>, payload: &'a [u8]) -> Request<'a> {
        Request { operation, key, parameters, payload, only_on: None }
    }

    fn keyless(operation: Operation, parameters: Vec<u8>, payload: &'a [u8]) -> Request<'a> {
        Request::new(operation, KeyHandle::NONE, parameters, payload)
    }

    /// Whether the wire takes the lengths.
    ///
    /// # Errors
    /// [`Error::TooLong`].
    pub fn check(&self) -> Result<(), Error> {
        let row = self.operation.row();
        check_bytes("parameters", self.parameters.len(), row.parameter_bytes.1)?;
        check_bytes("payload", self.payload.len(), row.payload_bytes.1)
    }
}

/// # Errors
/// [`Error::TooLong`].
pub(super) fn check_bytes(what: &'static str, found_bytes: usize, max_bytes: u32) -> Result<(), Error> {
    let max_bytes = max_bytes as usize;
    if found_bytes <= max_bytes { Ok(()) } else { Err(Error::TooLong { what, found_bytes, max_bytes }) }
}

fn bytes(answer: &Pdu) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    append(&mut bytes, answer.payload());
    Ok(bytes)
}

fn secret(answer: &Pdu) -> Result<Secret, Fault> {
    bytes(answer).map(Zeroizing::new)
}

fn nothing(answer: &Pdu) -> Result<(), Fault> {
    if answer.payload().is_empty() { Ok(()) } else { Err(Fault::Mismatch { field: "payload" }) }
}

fn key(answer: &Pdu) -> Result<KeyHandle, Fault> {
    match answer.head().key {
        KeyHandle::NONE => Err(Fault::Mismatch { field: "key" }),
        key => Ok(key),
    }
}

macro_rules! calls {
    ($(#[doc = $meaning:literal] $call:ident $(<$life:lifetime>)? {
        $($(#[doc = $field_meaning:literal])* $field:ident: $type:ty,)*
    } -> $answer:ty = $read:path; |$this:ident| $request:expr;)*) => {
        $(
            #[doc = $meaning]
            #[derive(Clone, Copy)]
            pub struct $call $(<$life>)? { $($(#[doc = $field_meaning])* pub $field: $type,)* }

            impl $(<$life>)? Call for $call $(<$life>)? {
                type Answer = $answer;

                fn request(&self) -> Request<'_> {
                    let $this = self;
                    $request
                }

                fn read(&self, answer: &Pdu) -> Result<$answer, Fault> {
                    $read(answer)
                }
            }
        )*
    };
}

calls! {
    /// What the device is.
    Info {} -> DeviceInfo = info;
        |_this| Request::keyless(Operation::Info, vec![], &[]);
    /// The handle of the key of a name. It stays valid when the device restarts.
    FindKey<'a> {
        /// The name.
        name: &'a [u8],
    } -> KeyHandle = key;
        |this| Request::keyless(Operation::FindKey, vec![], this.name);
    /// Seals with AES-256-GCM under a deployment's key: nonce, ciphertext, tag. The nonce is the device's.
    SealAes256Gcm<'a> {
        /// The key.
        key: KeyHandle,
        /// What is authenticated beside the message.
        associated_data: &'a [u8],
        /// The message.
        plaintext: &'a [u8],
    } -> Vec<u8> = bytes;
        |this| Request::new(Operation::SealAes256Gcm, this.key, this.associated_data.to_vec(), this.plaintext);
    /// Opens what [`SealAes256Gcm`] gave.
    OpenAes256Gcm<'a> {
        /// The key.
        key: KeyHandle,
        /// What is authenticated beside the message.
        associated_data: &'a [u8],
        /// Nonce, ciphertext, tag.
        sealed: &'a [u8],
    } -> Secret = secret;
        |this| Request::new(Operation::OpenAes256Gcm, this.key, this.associated_data.to_vec(), this.sealed);
    /// The payload again.
    Echo<'a> {
        /// What comes back.
        payload: &'a [u8],
    } -> Vec<u8> = bytes;
        |this| Request::keyless(Operation::Echo, vec![], this.payload);
    /// Encrypts with AES in a mode without authentication.
    Encrypt<'a> {
        /// The key.
        key: KeyHandle,
        /// The mode.
        mode: Mode,
        /// The message; nothing when it comes in parts.
        plaintext: &'a [u8],
    } -> Vec<u8> = bytes;
        |this| Request::new(Operation::Encrypt, this.key, this.mode.to_bytes(), this.plaintext);
    /// The reverse of [`Encrypt`].
    Decrypt<'a> {
        /// The key.
        key: KeyHandle,
        /// The mode.
        mode: Mode,
        /// What was encrypted; nothing when it comes in parts.
        ciphertext: &'a [u8],
    } -> Secret = secret;
        |this| Request::new(Operation::Decrypt, this.key, this.mode.to_bytes(), this.ciphertext);
    /// Seals with an AEAD: ciphertext and tag, and before them salt and nonce if the device makes them.
    Seal<'a> {
        /// The key.
        key: KeyHandle,
        /// How.
        aead: Aead<'a>,
        /// The message.
        plaintext: &'a [u8],
    } -> Vec<u8> = bytes;
        |this| Request::new(Operation::Seal, this.key, this.aead.to_bytes(), this.plaintext);
    /// Opens what [`Seal`] gave.
    Open<'a> {
        /// The key.
        key: KeyHandle,
        /// How.
        aead: Aead<'a>,
        /// What was sealed.
        sealed: &'a [u8],
    } -> Secret = secret;
        |this| Request::new(Operation::Open, this.key, this.aead.to_bytes(), this.sealed);
    /// The digest of a message.
    Hash<'a> {
        /// Which hash.
        hash: HashKind,
        /// The message; nothing when it comes in parts.
        message: &'a [u8],
    } -> Vec<u8> = bytes;
        |this| Request::keyless(Operation::Hash, vec![this.hash as u8], this.message);
    /// The MAC of a message.
    Mac<'a> {
        /// The key.
        key: KeyHandle,
        /// Which MAC.
        kind: MacKind,
        /// The message; nothing when it comes in parts.
        message: &'a [u8],
    } -> Vec<u8> = bytes;
        |this| Request::new(Operation::Mac, this.key, vec![this.kind.number()], this.message);
    /// Compares the MAC of a message. Refused as rejected when it is another.
    MacVerify<'a> {
        /// The key.
        key: KeyHandle,
        /// Which MAC.
        kind: MacKind,
        /// The MAC or its first bytes, at least 8.
        expected: &'a [u8],
        /// The message; nothing when it comes in parts.
        message: &'a [u8],
    } -> () = nothing;
        |this| Request::new(
            Operation::MacVerify, this.key, [&[this.kind.number()], this.expected].concat(), this.message);
    /// Makes a key from a key, with HKDF.
    Derive<'a> {
        /// The key.
        key: KeyHandle,
        /// HKDF's hash.
        hash: HashKind,
        /// What key it will be.
        template: &'a Template,
        /// The salt.
        salt: &'a [u8],
        /// The info.
        info: &'a [u8],
    } -> KeyHandle = key;
        |this| Request::new(
            Operation::Derive,
            this.key,
            [&[this.hash as u8, 0, 0, 0], &this.template.to_bytes()[..], this.salt].concat(),
            this.info,
        );
    /// The signature of a message.
    Sign<'a> {
        /// The key.
        key: KeyHandle,
        /// How.
        scheme: Scheme,
        /// Of what.
        signed: Signed<'a>,
    } -> Vec<u8> = bytes;
        |this| Request::new(
            Operation::Sign, this.key, this.scheme.to_bytes(this.signed).to_vec(), this.signed.bytes());
    /// Checks a signature. Refused as rejected when it is none.
    Verify<'a> {
        /// The key.
        key: KeyHandle,
        /// How it was signed.
        scheme: Scheme,
        /// What was.
        signed: Signed<'a>,
        /// The signature.
        signature: &'a [u8],
    } -> () = nothing;
        |this| Request::new(
            Operation::Verify,
            this.key,
            [&this.scheme.to_bytes(this.signed), this.signature].concat(),
            this.signed.bytes(),
        );
    /// The secret that a key shares with a public key.
    Agree<'a> {
        /// The key.
        key: KeyHandle,
        /// Somebody's public key.
        public: &'a [u8],
    } -> Secret = secret;
        |this| Request::new(Operation::Agree, this.key, vec![], this.public);
    /// The same as a key, which nobody sees.
    AgreeKey<'a> {
        /// The key.
        key: KeyHandle,
        /// Somebody's public key.
        public: &'a [u8],
        /// What key it will be: one for HKDF.
        template: &'a Template,
    } -> KeyHandle = key;
        |this| Request::new(Operation::Agree, this.key, this.template.to_bytes(), this.public);
    /// Decrypts with RSA.
    RsaDecrypt<'a> {
        /// The key.
        key: KeyHandle,
        /// How it was padded.
        padding: RsaPadding<'a>,
        /// What was encrypted.
        ciphertext: &'a [u8],
    } -> Secret = secret;
        |this| Request::new(Operation::RsaDecrypt, this.key, this.padding.to_bytes(), this.ciphertext);
    /// Gives a part to what was begun; answers what is ready.
    Update<'a> {
        /// What was begun.
        context: Context,
        /// The part.
        part: &'a [u8],
    } -> Secret = secret;
        |this| this.context.request(Operation::Update, this.part);
    /// Gives the last part to what was begun; answers the rest, or the digest.
    Finish<'a> {
        /// What was begun.
        context: Context,
        /// The part.
        part: &'a [u8],
    } -> Secret = secret;
        |this| this.context.request(Operation::Finish, this.part);
    /// Forgets what was begun.
    Cancel {
        /// What was begun.
        context: Context,
    } -> () = nothing;
        |this| this.context.request(Operation::Cancel, &[]);
    /// Makes a key.
    KeyGenerate<'a> {
        /// What key.
        template: &'a Template,
    } -> KeyHandle = key;
        |this| Request::keyless(Operation::KeyGenerate, this.template.to_bytes(), &[]);
    /// Gives the device a secret key. The form of each algorithm is drawn in `engine/material.rs`.
    KeyImport<'a> {
        /// What key.
        template: &'a Template,
        /// The key.
        secret: &'a [u8],
    } -> KeyHandle = key;
        |this| Request::keyless(
            Operation::KeyImport, [&[0, 0, 0, 0], &this.template.to_bytes()[..]].concat(), this.secret);
    /// Gives the device a public key.
    KeyImportPublic<'a> {
        /// What key.
        template: &'a Template,
        /// The key.
        public: &'a [u8],
    } -> KeyHandle = key;
        |this| Request::keyless(
            Operation::KeyImport, [&[1, 0, 0, 0], &this.template.to_bytes()[..]].concat(), this.public);
    /// A key, wrapped under another.
    KeyWrap {
        /// The wrapping key.
        key: KeyHandle,
        /// What is wrapped.
        wrapped: KeyHandle,
    } -> Vec<u8> = bytes;
        |this| Request::new(Operation::KeyWrap, this.key, this.wrapped.0.to_le_bytes().to_vec(), &[]);
    /// Gives the device a wrapped key.
    KeyUnwrap<'a> {
        /// The wrapping key.
        key: KeyHandle,
        /// What key it will be.
        template: &'a Template,
        /// The wrapped key.
        wrapped: &'a [u8],
    } -> KeyHandle = key;
        |this| Request::new(Operation::KeyUnwrap, this.key, this.template.to_bytes(), this.wrapped);
    /// Forgets a key.
    KeyDestroy {
        /// The key.
        key: KeyHandle,
    } -> () = nothing;
        |this| Request::new(Operation::KeyDestroy, this.key, vec![], &[]);
    /// Handles of keys that the user can use, in their order, from the one after this.
    KeyList {
        /// The last of the answer before, or none.
        after: KeyHandle,
    } -> Vec<KeyHandle> = handles;
        |this| Request::keyless(Operation::KeyList, this.after.0.to_le_bytes().to_vec(), &[]);
    /// What was fixed when a key was made.
    KeyAttributes {
        /// The key.
        key: KeyHandle,
    } -> Attributes = attributes;
        |this| Request::new(Operation::KeyAttributes, this.key, vec![], &[]);
    /// The public half of a key.
    KeyPublic {
        /// The key.
        key: KeyHandle,
    } -> Vec<u8> = bytes;
        |this| Request::new(Operation::KeyPublic, this.key, vec![], &[]);
    /// A signed statement about a key.
    KeyAttest<'a> {
        /// The key.
        key: KeyHandle,
        /// What makes the statement fresh.
        challenge: &'a [u8],
    } -> Vec<u8> = bytes;
        |this| Request::new(Operation::KeyAttest, this.key, this.challenge.to_vec(), &[]);
    /// What the broker has done, in Prometheus' text format. For its operator and root.
    Status {} -> String = text;
        |_this| Request::keyless(Operation::Status, vec![], &[]);
}

/// Random bytes.
#[derive(Clone, Copy)]
pub struct Random {
    /// How many, at most [`PLAINTEXT_BYTES_MAX`].
    pub count_bytes: u32,
}

impl Call for Random {
    type Answer = Secret;

    fn request(&self) -> Request<'_> {
        // More than the device gives is refused by it.
        let count_bytes = self.count_bytes.min(PLAINTEXT_BYTES_MAX + 1);
        Request::keyless(Operation::Random, count_bytes.to_le_bytes().to_vec(), &[])
    }

    fn read(&self, answer: &Pdu) -> Result<Secret, Fault> {
        if answer.payload().len() != self.count_bytes as usize {
            return Err(Fault::Mismatch { field: "payload" });
        }
        secret(answer)
    }
}

/// Something that was begun, on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    connection: Connection,
    number: u64,
}

impl Context {
    fn request(self, operation: Operation, part: &[u8]) -> Request<'_> {
        let only_on = Some(self.connection);
        Request { only_on, ..Request::keyless(operation, self.number.to_le_bytes().to_vec(), part) }
    }
}

/// What can be done in parts: a cipher without authentication, a hash, a MAC.
pub trait InParts: Call {}
impl InParts for Encrypt<'_> {}
impl InParts for Decrypt<'_> {}
impl InParts for Hash<'_> {}
impl InParts for Mac<'_> {}
impl InParts for MacVerify<'_> {}

/// Begins a call whose message comes in parts.
#[derive(Clone, Copy)]
pub struct Begin<C>(
    /// The call, without its message.
    pub C,
);

impl<C: InParts> Call for Begin<C> {
    type Answer = Context;

    fn request(&self) -> Request<'_> {
        let whole = self.0.request();
        let parameters = [&whole.operation.number().to_le_bytes(), &whole.parameters[..]].concat();
        Request::new(Operation::Begin, whole.key, parameters, &[])
    }

    fn read(&self, answer: &Pdu) -> Result<Context, Fault> {
        let number = answer.payload().try_into().map_err(|_| Fault::Mismatch { field: "payload" })?;
        Ok(Context { connection: answer.head().connection, number: u64::from_le_bytes(number) })
    }
}

fn info(answer: &Pdu) -> Result<DeviceInfo, Fault> {
    DeviceInfo::parse(answer.payload())
}

fn handles(answer: &Pdu) -> Result<Vec<KeyHandle>, Fault> {
    let (handles, rest) = answer.payload().as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Fault::Mismatch { field: "payload" });
    }
    Ok(handles.iter().map(|bytes| KeyHandle(u64::from_le_bytes(*bytes))).collect())
}

fn attributes(answer: &Pdu) -> Result<Attributes, Fault> {
    Attributes::parse(answer.payload()).map_err(|_| Fault::Mismatch { field: "payload" })
}

fn text(answer: &Pdu) -> Result<String, Fault> {
    String::from_utf8(answer.payload().to_vec()).map_err(|_| Fault::Mismatch { field: "payload" })
}
