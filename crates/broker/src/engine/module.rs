//! Any PKCS#11 module as the crypto core: its keys never leave it, and what it cannot do is refused by name.
//!
//! Owns which mechanism an operation is, and the objects of keys. Whose a key is remains the business of
//! [`Keys`]: what a key was made with is kept in the token, as the id of its objects, `"selvedge" 8 | handle 8 |
//! attributes`. Objects that have no such id were made by others and are not seen.
//!
//! | operation | mechanism |
//! |---|---|
//! | `random` | `C_GenerateRandom` |
//! | `hash` | SHA-2 |
//! | `encrypt`, `decrypt` | AES-ECB, AES-CBC, AES-CBC-PAD |
//! | `seal`, `open` | AES-GCM, of keys whose nonces the caller makes |
//! | `mac`, `mac-verify` | HMAC, AES-CMAC |
//! | `sign` | ECDSA over P-256, RSA PKCS#1 v1.5 and PSS |
//! | `verify` | none: a public key is checked with here |
//! | `key-generate` | AES, generic secrets for HMAC, P-256, RSA |
//! | `key-import` | `C_CreateObject` of AES's and HMAC's |
//!
//! A mechanism that the token does not list, and every other operation, is [`Status::UnknownOperation`]. PKCS#1 v1.5
//! decryption is among them: a module's own errors would tell wrong padding from right.
//!
//! Invariant: after an error that is the token's and not the request's nothing more is asked of the session.

use std::collections::BTreeMap;
use std::sync::Arc;

use cipher::{OsRandomness, Randomness};
use cryptoki::context::Pkcs11;
use cryptoki::error::{Error as ModuleError, RvError};
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use cryptoki::slot::Slot;
use subtle::ConstantTimeEq;

use super::aead::Form;
use super::digest::{self, Hash};
use super::keys::{Algorithm, Asker, Attributes, Keys, NoncePolicy, Origin, Template, Usages};
use super::material::{Material, Secret};
use super::rsa::Padding;
use super::signature::{self, Scheme};
use super::{Engine, Host};
use crate::device::DeviceInfo;
use crate::limits::{DEVICE_NAME_BYTES_MAX, IN_FLIGHT_MAX, MAC_BYTES_MIN, PAYLOAD_BYTES_MAX, TAG_BYTES};
use crate::wire::{Connection, Draft, KeyHandle, Operation, Pdu, Status};

/// What the ids of our objects begin with.
const MARK: &[u8; 8] = b"selvedge";
/// P-256 as an object identifier in DER (RFC 5480 section 2.1.1.1).
const P256_OID: [u8; 10] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
/// Length of what ECDSA signs here: a number as long as the order.
const ORDER_BYTES: usize = 32;
/// 65,537.
const RSA_EXPONENT: [u8; 3] = [1, 0, 1];

/// A module's token, opened.
pub struct ModuleEngine {
    session: Session,
    mechanisms: Vec<MechanismType>,
    keys: Keys,
    objects: BTreeMap<KeyHandle, Objects>,
    askers: BTreeMap<Connection, Arc<Asker>>,
    name: String,
    boot: u64,
    lost: Option<String>,
}

/// A key's objects in the token: the one that does the work, and its public half.
struct Objects {
    secret: ObjectHandle,
    public: Option<ObjectHandle>,
    /// The connection that they die with.
    session: Option<Connection>,
}

/// Why an operation failed.
enum Failed {
    Status(Status),
    Module(ModuleError),
}

impl From<Status> for Failed {
    fn from(status: Status) -> Failed {
        Failed::Status(status)
    }
}

impl From<ModuleError> for Failed {
    fn from(error: ModuleError) -> Failed {
        Failed::Module(error)
    }
}

/// A request, looked at.
struct Turn<'a> {
    asker: Arc<Asker>,
    key: KeyHandle,
    parameters: &'a [u8],
    payload: &'a [u8],
}

impl ModuleEngine {
    /// Logs in to a token of an initialized module, and finds the keys that are ours.
    ///
    /// # Errors
    /// The module's.
    pub fn open(
        module: &Pkcs11,
        slot: Slot,
        pin: &cryptoki::types::AuthPin,
    ) -> Result<ModuleEngine, ModuleError> {
        let session = module.open_rw_session(slot)?;
        session.login(cryptoki::session::UserType::User, Some(pin))?;
        let token = module.get_token_info(slot)?;
        let mut name = format!("{} {}", token.manufacturer_id().trim(), token.label().trim());
        while name.len() > DEVICE_NAME_BYTES_MAX {
            name.pop();
        }
        let mut boot = [0; 8];
        OsRandomness.fill(&mut boot).map_err(|_| ModuleError::InvalidValue)?;
        let mut engine = ModuleEngine {
            mechanisms: module.get_mechanism_list(slot)?,
            session,
            keys: Keys::default(),
            objects: BTreeMap::new(),
            askers: BTreeMap::new(),
            name,
            boot: u64::from_le_bytes(boot),
            lost: None,
        };
        engine.find_keys()?;
        Ok(engine)
    }

    /// What went wrong in the token, after which it must be opened anew.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    fn find_keys(&mut self) -> Result<(), ModuleError> {
        for class in [ObjectClass::SECRET_KEY, ObjectClass::PRIVATE_KEY] {
            for secret in self.session.find_objects(&[Attribute::Token(true), Attribute::Class(class)])? {
                let ids = self.session.get_attributes(secret, &[AttributeType::Id])?;
                let [Attribute::Id(id)] = &ids[..] else { continue };
                let Some((handle, attributes)) = parse_id(id) else { continue };
                let id = id.clone();
                let public = self.public_object(&id)?;
                let algorithm = attributes.template.algorithm;
                let bytes = public.map(|public| self.public_bytes(public, algorithm)).transpose()?;
                let material = Material::Elsewhere(bytes.unwrap_or_default());
                if self.keys.adopt(handle, attributes, material) {
                    self.objects.insert(handle, Objects { secret, public, session: None });
                }
            }
        }
        Ok(())
    }

    fn public_object(&self, id: &[u8]) -> Result<Option<ObjectHandle>, ModuleError> {
        let wanted = [Attribute::Class(ObjectClass::PUBLIC_KEY), Attribute::Id(id.to_vec())];
        Ok(self.session.find_objects(&wanted)?.first().copied())
    }

    /// A public key in the form that the engine tells it in.
    fn public_bytes(&self, public: ObjectHandle, algorithm: Algorithm) -> Result<Vec<u8>, ModuleError> {
        let wanted: &[AttributeType] = match algorithm {
            Algorithm::P256 => &[AttributeType::EcPoint],
            _ => &[AttributeType::Modulus, AttributeType::PublicExponent],
        };
        match &self.session.get_attributes(public, wanted)?[..] {
            // A point in an octet string; some modules leave that out.
            [Attribute::EcPoint(point)] => {
                let point = point.as_slice();
                Ok(point.strip_prefix(&[0x04, 65]).unwrap_or(point).to_vec())
            }
            [Attribute::Modulus(modulus), Attribute::PublicExponent(exponent)] => {
                let mut numbers = der_integer(modulus);
                numbers.extend(der_integer(exponent));
                Ok(der(0x30, &numbers))
            }
            _ => Err(ModuleError::InvalidValue),
        }
    }

    /// The mechanism, if the token has it.
    fn listed<'a>(&self, mechanism: Mechanism<'a>) -> Result<Mechanism<'a>, Status> {
        let is_listed = self.mechanisms.contains(&mechanism.mechanism_type());
        if is_listed { Ok(mechanism) } else { Err(Status::UnknownOperation) }
    }

    /// A connection was closed, or all were.
    fn forget(&mut self, connection: Option<Connection>) {
        self.askers.retain(|known, _| connection.is_some_and(|connection| connection != *known));
        self.keys.forget_sessions(connection);
        let dies = |_: &KeyHandle, objects: &mut Objects| {
            objects.session.is_some_and(|session| connection.is_none_or(|connection| connection == session))
        };
        for (_, objects) in self.objects.extract_if(.., dies) {
            // What cannot be destroyed dies with the session that it is in.
            let _ = destroy(&self.session, &objects);
        }
    }

    fn answer(&mut self, request: &Pdu) -> Result<Pdu, Failed> {
        let head = request.head();
        let operation = request.operation().map_err(|_| Status::UnknownOperation)?;
        if head.status != 0 || !operation.takes(request) {
            return Err(Status::WrongParameters.into());
        }
        let draft = Draft::new(head.answer(Status::Done), &[], operation.answer_bytes_max(request));
        let mut draft = draft.expect("no parameters are within their limit");
        let known = self.askers.get(&head.connection).cloned();
        let asker = known.unwrap_or_else(|| Arc::new(Asker::stranger(head.connection)));
        let turn =
            Turn { asker, key: head.key, parameters: request.parameters(), payload: request.payload() };
        if let Some(key) = self.carry_out(operation, &turn, draft.buffer())? {
            draft.head().key = key;
        }
        Ok(draft.finish().map_err(|_| Status::DeviceFault)?)
    }

    /// Appends what the operation answers; a key if that is one.
    fn carry_out(
        &mut self,
        operation: Operation,
        turn: &Turn<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<KeyHandle>, Failed> {
        match operation {
            Operation::Info => out.extend(self.info().to_bytes()),
            Operation::Echo => out.extend_from_slice(turn.payload),
            Operation::FindKey => {
                let found = self.keys.find(&turn.asker, turn.payload);
                return found.map(Some).ok_or_else(|| Status::UnknownKey.into());
            }
            Operation::Random => self.random(turn, out)?,
            Operation::Hash => {
                let hash = digest::parse(turn.parameters)?;
                let mechanism = self.listed(hash_mechanism(hash))?;
                out.extend(self.session.digest(&mechanism, turn.payload)?);
            }
            Operation::Encrypt => self.encrypt(turn, out)?,
            Operation::Decrypt => self.decrypt(turn, out)?,
            Operation::Seal | Operation::Open => self.gcm(operation, turn, out)?,
            Operation::Mac => match turn.parameters {
                [number] => out.extend_from_slice(&self.mac(turn, Usages::MAC, *number)?),
                _ => return Err(Status::WrongParameters.into()),
            },
            Operation::MacVerify => self.mac_verify(turn)?,
            Operation::Sign => self.sign(turn, out)?,
            Operation::Verify => {
                let key = self.keys.get(&turn.asker, turn.key, Usages::VERIFY)?;
                signature::verify(&key, turn.parameters, turn.payload)?;
            }
            Operation::KeyGenerate => return self.generate(turn).map(Some),
            Operation::KeyImport => return self.import(turn).map(Some),
            Operation::KeyDestroy => {
                self.keys.own(&turn.asker, turn.key)?;
                let objects = self.objects.get(&turn.key).ok_or(Status::UnknownKey)?;
                // A token that refuses has the key still, and so have we.
                destroy(&self.session, objects)?;
                self.keys.remove(turn.key);
                self.objects.remove(&turn.key);
            }
            Operation::KeyList => {
                let after = turn.parameters.try_into().map_err(|_| Status::WrongParameters)?;
                for handle in self.keys.list(&turn.asker, KeyHandle(u64::from_le_bytes(after))) {
                    out.extend_from_slice(&handle.0.to_le_bytes());
                }
            }
            Operation::KeyAttributes => {
                out.extend(self.keys.see(&turn.asker, turn.key)?.attributes.to_bytes());
            }
            Operation::KeyPublic => {
                out.extend_from_slice(self.keys.see(&turn.asker, turn.key)?.material.public()?);
            }
            _ => return Err(Status::UnknownOperation.into()),
        }
        Ok(None)
    }

    /// A key that the asker uses for this: what it is a key of, and its object.
    fn key(&self, turn: &Turn<'_>, usage: Usages) -> Result<(Algorithm, ObjectHandle), Status> {
        let key = self.keys.get(&turn.asker, turn.key, usage)?;
        let objects = self.objects.get(&turn.key).ok_or(Status::UnknownKey)?;
        Ok((key.attributes.template.algorithm, objects.secret))
    }

    fn random(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Failed> {
        let count =
            turn.parameters.try_into().map(u32::from_le_bytes).map_err(|_| Status::WrongParameters)?;
        let from = out.len();
        out.resize(from + count as usize, 0);
        // Some tokens give no more at a time.
        for piece in out[from..].chunks_mut(RANDOM_BYTES) {
            self.session.generate_random_slice(piece)?;
        }
        Ok(())
    }

    fn cipher(&self, parameters: &[u8]) -> Result<Mechanism<'static>, Status> {
        const WRONG: Status = Status::WrongParameters;
        let (&[mode, 0, 0, 0], iv) = parameters.split_first_chunk::<4>().ok_or(WRONG)? else {
            return Err(WRONG);
        };
        self.listed(match (mode, <[u8; 16]>::try_from(iv)) {
            (1, _) if iv.is_empty() => Mechanism::AesEcb,
            (2, Ok(iv)) => Mechanism::AesCbc(iv),
            (3, Ok(iv)) => Mechanism::AesCbcPad(iv),
            // The crate has no CTR.
            (4, Ok(_)) => return Err(Status::UnknownOperation),
            _ => return Err(WRONG),
        })
    }

    fn encrypt(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Failed> {
        let (algorithm, key) = self.key(turn, Usages::ENCRYPT)?;
        of_aes(algorithm)?;
        let mechanism = self.cipher(turn.parameters)?;
        is_whole(&mechanism, turn.payload)?;
        if !turn.payload.is_empty() || matches!(mechanism, Mechanism::AesCbcPad(_)) {
            out.extend(self.session.encrypt(&mechanism, key, turn.payload)?);
        }
        Ok(())
    }

    fn decrypt(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Failed> {
        let (algorithm, key) = self.key(turn, Usages::DECRYPT)?;
        of_aes(algorithm)?;
        let mechanism = self.cipher(turn.parameters)?;
        is_whole(&mechanism, turn.payload)?;
        if matches!(mechanism, Mechanism::AesCbcPad(_)) && !turn.payload.len().is_multiple_of(16) {
            return Err(Status::WrongParameters.into());
        }
        if !turn.payload.is_empty() {
            let opened = self.session.decrypt(&mechanism, key, turn.payload).map(Secret::new);
            out.extend_from_slice(&opened.map_err(|error| self.rejected(error))?);
        }
        Ok(())
    }

    fn gcm(&self, operation: Operation, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Failed> {
        let usage = if operation == Operation::Seal { Usages::SEAL } else { Usages::OPEN };
        let (algorithm, key) = self.key(turn, usage)?;
        let form = Form::parse(turn.parameters, algorithm)?;
        let (nonce, associated_data) = form.as_gcm().ok_or(Status::UnknownOperation)?;
        // Every key here that seals is one whose nonces the caller makes.
        if nonce.is_empty() {
            return Err(Status::WrongParameters.into());
        }
        let mut nonce = nonce.to_vec();
        let parameters = GcmParams::new(&mut nonce, associated_data, (u64::from(TAG_BYTES) * 8).into())?;
        let mechanism = self.listed(Mechanism::AesGcm(parameters))?;
        if operation == Operation::Seal {
            out.extend(self.session.encrypt(&mechanism, key, turn.payload)?);
        } else {
            let opened = self.session.decrypt(&mechanism, key, turn.payload).map(Secret::new);
            out.extend_from_slice(&opened.map_err(|error| self.rejected(error))?);
        }
        Ok(())
    }

    fn mac(&self, turn: &Turn<'_>, usage: Usages, number: u8) -> Result<Secret, Failed> {
        let (algorithm, key) = self.key(turn, usage)?;
        let mechanism = match (algorithm, number) {
            (Algorithm::Aes128 | Algorithm::Aes192 | Algorithm::Aes256, 0) => Mechanism::AesCMac,
            (Algorithm::Hmac, number) => match Hash::from_number(number)? {
                Hash::Sha224 => Mechanism::Sha224Hmac,
                Hash::Sha256 => Mechanism::Sha256Hmac,
                Hash::Sha384 => Mechanism::Sha384Hmac,
                Hash::Sha512 => Mechanism::Sha512Hmac,
            },
            _ => return Err(Status::WrongParameters.into()),
        };
        Ok(Secret::new(self.session.sign(&self.listed(mechanism)?, key, turn.payload)?))
    }

    fn mac_verify(&self, turn: &Turn<'_>) -> Result<(), Failed> {
        let [number, expected @ ..] = turn.parameters else { return Err(Status::WrongParameters.into()) };
        let own = self.mac(turn, Usages::MAC_VERIFY, *number)?;
        if !(MAC_BYTES_MIN..=own.len()).contains(&expected.len()) {
            return Err(Status::WrongParameters.into());
        }
        let is_same = own[..expected.len()].ct_eq(expected);
        if bool::from(is_same) { Ok(()) } else { Err(Status::Rejected.into()) }
    }

    fn sign(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Failed> {
        let (algorithm, key) = self.key(turn, Usages::SIGN)?;
        let (scheme, is_digest, rest) = signature::parse(turn.parameters)?;
        if !rest.is_empty() {
            return Err(Status::WrongParameters.into());
        }
        let digest = |hash| signature::digest(hash, is_digest, turn.payload);
        let (mechanism, data) = match (scheme, algorithm) {
            (Scheme::Ecdsa(hash), Algorithm::P256) => {
                let digest = digest(hash)?;
                let used = digest.as_ref().len().min(ORDER_BYTES);
                let mut data = vec![0; ORDER_BYTES - used];
                data.extend_from_slice(&digest.as_ref()[..used]);
                (Mechanism::Ecdsa, data)
            }
            (Scheme::Rsa(padding, hash), Algorithm::Rsa2048 | Algorithm::Rsa3072) => {
                let (before, hash_alg, mgf) = rsa_hash(hash)?;
                let digest = digest(hash)?;
                match padding {
                    Padding::Pkcs1 => (Mechanism::RsaPkcs, [&before, digest.as_ref()].concat()),
                    Padding::Pss => {
                        let s_len = (digest.as_ref().len() as u64).into();
                        let parameters = PkcsPssParams { hash_alg, mgf, s_len };
                        (Mechanism::RsaPkcsPss(parameters), digest.as_ref().to_vec())
                    }
                }
            }
            (Scheme::RsaSha1, Algorithm::Rsa2048 | Algorithm::Rsa3072) if turn.payload.len() == 20 => {
                (Mechanism::RsaPkcs, [&SHA_1[..], turn.payload].concat())
            }
            _ => return Err(Status::WrongParameters.into()),
        };
        out.extend(self.session.sign(&self.listed(mechanism)?, key, &data)?);
        Ok(())
    }

    fn generate(&mut self, turn: &Turn<'_>) -> Result<KeyHandle, Failed> {
        let template = whole_template(turn.parameters)?;
        let (handle, attributes) = self.born(turn, template, Origin::Generated)?;
        let template = &attributes.template;
        let common = common(handle, &attributes);
        let objects = match template.algorithm {
            Algorithm::P256 => {
                let public = vec![Attribute::EcParams(P256_OID.to_vec())];
                self.generate_pair(&Mechanism::EccKeyPairGen, common, public)?
            }
            Algorithm::Rsa2048 | Algorithm::Rsa3072 => {
                let bits = if template.algorithm == Algorithm::Rsa2048 { 2048u64 } else { 3072 };
                let exponent = Attribute::PublicExponent(RSA_EXPONENT.to_vec());
                let public = vec![Attribute::ModulusBits(bits.into()), exponent];
                self.generate_pair(&Mechanism::RsaPkcsKeyPairGen, common, public)?
            }
            _ => {
                let length = template.derived_bytes().ok_or(Status::UnknownOperation)?;
                let mechanism = match template.algorithm {
                    Algorithm::Hmac => Mechanism::GenericSecretKeyGen,
                    _ => Mechanism::AesKeyGen,
                };
                let mut wanted = common;
                wanted.extend(secret_attributes(template));
                wanted.push(Attribute::ValueLen((length as u64).into()));
                let secret = self.session.generate_key(&self.listed(mechanism)?, &wanted)?;
                (secret, None)
            }
        };
        let public = match objects.1 {
            Some(object) => self.public_bytes(object, template.algorithm)?,
            None => Vec::new(),
        };
        self.keep(turn, handle, attributes, objects, public)
    }

    fn generate_pair(
        &self,
        mechanism: &Mechanism<'_>,
        common: Vec<Attribute>,
        mut public: Vec<Attribute>,
    ) -> Result<(ObjectHandle, Option<ObjectHandle>), Failed> {
        if !self.mechanisms.contains(&mechanism.mechanism_type()) {
            return Err(Status::UnknownOperation.into());
        }
        public.extend(common.iter().cloned());
        public.extend([Attribute::Private(false), Attribute::Verify(true)]);
        let mut secret = common;
        secret.extend(hidden());
        secret.push(Attribute::Sign(true));
        let (public, secret) = self.session.generate_key_pair(mechanism, &public, &secret)?;
        Ok((secret, Some(public)))
    }

    fn import(&mut self, turn: &Turn<'_>) -> Result<KeyHandle, Failed> {
        const WRONG: Status = Status::WrongParameters;
        let (&[form, 0, 0, 0], rest) = turn.parameters.split_first_chunk::<4>().ok_or(WRONG)? else {
            return Err(WRONG.into());
        };
        let template = whole_template(rest)?;
        let (handle, attributes) = self.born(turn, template, Origin::Imported)?;
        let template = &attributes.template;
        let kind = match (form, template.algorithm) {
            (0, Algorithm::Aes128 | Algorithm::Aes192 | Algorithm::Aes256) => KeyType::AES,
            (0, Algorithm::Hmac) => KeyType::GENERIC_SECRET,
            (0 | 1, _) => return Err(Status::UnknownOperation.into()),
            _ => return Err(WRONG.into()),
        };
        if template.derived_bytes() != Some(turn.payload.len()) {
            return Err(WRONG.into());
        }
        let mut wanted = common(handle, &attributes);
        wanted.extend(secret_attributes(template));
        wanted.extend([Attribute::Class(ObjectClass::SECRET_KEY), Attribute::KeyType(kind)]);
        wanted.push(Attribute::Value(turn.payload.to_vec()));
        let created = self.session.create_object(&wanted);
        // The library's copy is its own; ours is wiped.
        if let Some(Attribute::Value(value)) = wanted.last_mut() {
            crate::wiped::wipe(value);
        }
        self.keep(turn, handle, attributes, (created?, None), Vec::new())
    }

    /// What is fixed when a key is made here, if one can be.
    fn born(
        &self,
        turn: &Turn<'_>,
        template: Template,
        origin: Origin,
    ) -> Result<(KeyHandle, Attributes), Status> {
        let owner = self.keys.check_birth(&turn.asker, &template, origin, false)?;
        let seals = template.usages.0 & Usages::SEAL.and(Usages::OPEN).0 != 0;
        if !template.usages.within(USAGES) || (seals && !template.is_caller_nonce) {
            return Err(Status::UnknownOperation);
        }
        let policy = if template.is_caller_nonce { NoncePolicy::Caller } else { NoncePolicy::Device };
        let mut handle = [0; 8];
        OsRandomness.fill(&mut handle).map_err(|_| Status::DeviceFault)?;
        Ok((KeyHandle(u64::from_le_bytes(handle)), Attributes { origin, policy, owner, template }))
    }

    fn keep(
        &mut self,
        turn: &Turn<'_>,
        handle: KeyHandle,
        attributes: Attributes,
        (secret, public): (ObjectHandle, Option<ObjectHandle>),
        bytes: Vec<u8>,
    ) -> Result<KeyHandle, Failed> {
        let material = Material::Elsewhere(bytes);
        let Attributes { origin, template, .. } = attributes.clone();
        if template.is_persistent {
            if !self.keys.adopt(handle, attributes, material) {
                return Err(Status::DeviceFault.into());
            }
            self.objects.insert(handle, Objects { secret, public, session: None });
            return Ok(handle);
        }
        let (handle, key) = self.keys.bear(&turn.asker, template, origin, material)?;
        self.keys.insert(handle, key);
        self.objects.insert(handle, Objects { secret, public, session: Some(turn.asker.connection) });
        Ok(handle)
    }

    /// What a module says of a message that is not authentic, or not padded as it should be, differs between modules.
    fn rejected(&self, error: ModuleError) -> Failed {
        let is_tokens = |error: RvError| {
            use RvError::*;
            matches!(
                error,
                EncryptedDataInvalid
                    | EncryptedDataLenRange
                    | DataInvalid
                    | DataLenRange
                    | GeneralError
                    | FunctionFailed
                    | ArgumentsBad
            )
        };
        match error {
            ModuleError::Pkcs11(error, _) if is_tokens(error) && self.is_there() => Status::Rejected.into(),
            error => error.into(),
        }
    }

    /// Whether the token still does anything.
    fn is_there(&self) -> bool {
        self.session.generate_random_slice(&mut [0; 8]).is_ok()
    }

    /// The status that a failure is. One of the token's ends it.
    fn blame(&mut self, failed: Failed) -> Status {
        use RvError::*;
        let error = match failed {
            Failed::Status(status) => return status,
            Failed::Module(error) => error,
        };
        match &error {
            ModuleError::Pkcs11(
                MechanismInvalid
                | FunctionNotSupported
                | CurveNotSupported
                | KeySizeRange
                | MechanismParamInvalid,
                _,
            )
            | ModuleError::NotSupported
            | ModuleError::NullFunctionPointer => Status::UnknownOperation,
            ModuleError::Pkcs11(
                DataLenRange | DataInvalid | EncryptedDataLenRange | EncryptedDataInvalid,
                _,
            ) => Status::WrongParameters,
            ModuleError::Pkcs11(DeviceMemory, _) => Status::DeviceFull,
            _ if self.is_there() => Status::DeviceFault,
            _ => {
                self.lost = Some(error.to_string());
                Status::DeviceLost
            }
        }
    }
}

/// Random bytes that are asked for at a time.
const RANDOM_BYTES: usize = 1024;
/// What keys here can be for.
const USAGES: Usages = Usages::ENCRYPT
    .and(Usages::DECRYPT)
    .and(Usages::SEAL.and(Usages::OPEN))
    .and(Usages::MAC.and(Usages::MAC_VERIFY))
    .and(Usages::SIGN.and(Usages::VERIFY));

fn of_aes(algorithm: Algorithm) -> Result<(), Status> {
    match algorithm {
        Algorithm::Aes128 | Algorithm::Aes192 | Algorithm::Aes256 => Ok(()),
        _ => Err(Status::WrongPurpose),
    }
}

/// Only the padded mode takes a message that is not whole blocks.
fn is_whole(mechanism: &Mechanism<'_>, payload: &[u8]) -> Result<(), Status> {
    let is_padded = matches!(mechanism, Mechanism::AesCbcPad(_));
    if is_padded || payload.len().is_multiple_of(16) { Ok(()) } else { Err(Status::WrongParameters) }
}

fn whole_template(bytes: &[u8]) -> Result<Template, Status> {
    let (template, rest) = Template::parse(bytes)?;
    if rest.is_empty() { Ok(template) } else { Err(Status::WrongParameters) }
}

fn hash_mechanism(hash: Hash) -> Mechanism<'static> {
    match hash {
        Hash::Sha224 => Mechanism::Sha224,
        Hash::Sha256 => Mechanism::Sha256,
        Hash::Sha384 => Mechanism::Sha384,
        Hash::Sha512 => Mechanism::Sha512,
    }
}

/// What PKCS#1 v1.5 puts before a SHA-1 digest (RFC 8017 section 9.2, note 1).
const SHA_1: [u8; 15] = *b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14";

/// What PSS calls a hash, and what PKCS#1 v1.5 puts before its digest (RFC 8017 section 9.2, note 1).
fn rsa_hash(hash: Hash) -> Result<(Vec<u8>, MechanismType, PkcsMgfType), Status> {
    let (last, digest_bytes, mechanism, mgf) = match hash {
        Hash::Sha224 => return Err(Status::WrongParameters),
        Hash::Sha256 => (1, 32, MechanismType::SHA256, PkcsMgfType::MGF1_SHA256),
        Hash::Sha384 => (2, 48, MechanismType::SHA384, PkcsMgfType::MGF1_SHA384),
        Hash::Sha512 => (3, 64, MechanismType::SHA512, PkcsMgfType::MGF1_SHA512),
    };
    let mut before = vec![0x30, 17 + digest_bytes, 0x30, 0x0D, 0x06, 0x09];
    before.extend([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last, 0x05, 0x00, 0x04, digest_bytes]);
    Ok((before, mechanism, mgf))
}

fn id_of(handle: KeyHandle, attributes: &Attributes) -> Vec<u8> {
    [&MARK[..], &handle.0.to_le_bytes(), &attributes.to_bytes()].concat()
}

fn parse_id(id: &[u8]) -> Option<(KeyHandle, Attributes)> {
    let (handle, attributes) = id.strip_prefix(MARK)?.split_first_chunk::<8>()?;
    let attributes = Attributes::parse(attributes).ok()?;
    let handle = KeyHandle(u64::from_le_bytes(*handle));
    (handle != KeyHandle::NONE).then_some((handle, attributes))
}

/// What both halves of a key have.
fn common(handle: KeyHandle, attributes: &Attributes) -> Vec<Attribute> {
    vec![
        Attribute::Token(attributes.template.is_persistent),
        Attribute::Id(id_of(handle, attributes)),
        Attribute::Label(attributes.template.name.clone()),
    ]
}

/// What keeps a secret in the token.
fn hidden() -> [Attribute; 3] {
    [Attribute::Private(true), Attribute::Sensitive(true), Attribute::Extractable(false)]
}

fn secret_attributes(template: &Template) -> Vec<Attribute> {
    let may = |usages: Usages| template.usages.0 & usages.0 != 0;
    let mut attributes = hidden().to_vec();
    attributes.push(Attribute::Encrypt(may(Usages::ENCRYPT.and(Usages::SEAL))));
    attributes.push(Attribute::Decrypt(may(Usages::DECRYPT.and(Usages::OPEN))));
    attributes.push(Attribute::Sign(may(Usages::MAC.and(Usages::MAC_VERIFY))));
    attributes
}

fn destroy(session: &Session, objects: &Objects) -> Result<(), ModuleError> {
    session.destroy_object(objects.secret)?;
    if let Some(public) = objects.public {
        // Without its secret it is no key of ours, and not found again.
        let _ = session.destroy_object(public);
    }
    Ok(())
}

/// Something of DER (X.690 section 8.1).
fn der(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len() as u16;
    let [high, low] = length.to_be_bytes();
    let mut bytes = match length {
        0..0x80 => vec![tag, low],
        0x80..0x100 => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    bytes.extend_from_slice(contents);
    bytes
}

/// A number that is not negative.
fn der_integer(digits: &[u8]) -> Vec<u8> {
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    let mut contents = digits[leading..].to_vec();
    if contents.first().is_none_or(|first| *first >= 0x80) {
        contents.insert(0, 0);
    }
    der(0x02, &contents)
}

impl Engine for ModuleEngine {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            payload_bytes_max: PAYLOAD_BYTES_MAX,
            in_flight_max: IN_FLIGHT_MAX as u16,
            lanes: 1,
            boot: self.boot,
            name: self.name.clone(),
            store: "the token".to_owned(),
        }
    }

    fn opened(&mut self) {
        self.forget(None);
    }

    fn execute(&mut self, request: &Pdu) -> Option<Pdu> {
        if self.hears(request) {
            return None;
        }
        let answer = self.answer(request);
        Some(answer.unwrap_or_else(|failed| Pdu::empty(request.head().answer(self.blame(failed)))))
    }
}

impl Host for ModuleEngine {
    fn introduce(&mut self, connection: Connection, asker: Option<Asker>) {
        self.askers.extend(asker.map(|asker| (connection, Arc::new(asker))));
    }

    fn leave(&mut self, connection: Connection) {
        self.forget(Some(connection));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_x_690_writes_them() {
        assert_eq!(der_integer(&[1, 0, 1]), [2, 3, 1, 0, 1]);
        assert_eq!(der_integer(&[0, 0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(der_integer(&[0]), [2, 1, 0]);
        assert_eq!(der_integer(&[0x80; 200])[..4], [2, 0x81, 201, 0]);
        assert_eq!(der_integer(&[1; 384])[..4], [2, 0x82, 1, 0x80]);
    }

    #[test]
    fn what_a_key_was_made_with_is_read_from_its_id() {
        let template = Template { name: b"signing".to_vec(), ..Template::new(Algorithm::P256, Usages::SIGN) };
        let attributes =
            Attributes { origin: Origin::Generated, policy: NoncePolicy::Device, owner: 1000, template };
        let id = id_of(KeyHandle(7), &attributes);
        assert_eq!(parse_id(&id), Some((KeyHandle(7), attributes)));
        assert_eq!(parse_id(&id[..id.len() - 1]), None);
        assert_eq!(parse_id(&[&id[..], &[0]].concat()), None);
        assert_eq!(parse_id(b"selvedge"), None);
        assert_eq!(parse_id(&[1]), None);
    }
}
