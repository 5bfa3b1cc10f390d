//! Objects: a key's attributes as PKCS#11 names them, and templates of keys that are to be.
//!
//! A key's name in the device is its label, and its identifier in hexadecimal behind a `#`, if somebody gave it one:
//! `tls#01`. Without, the identifier is the key's handle. Both halves of a pair are one key of the device.

use broker::limits::KEY_NAME_BYTES_MAX;
use broker::template::{Algorithm, Origin, Template, Usages};
use cryptoki_sys::*;

use crate::abi::{Done, Given};
use crate::der;
use crate::module::{Known, Object};

/// An attribute's value, or why it has none.
pub type Value = Done<Vec<u8>>;

fn boolean(value: bool) -> Value {
    Ok(vec![if value { CK_TRUE } else { CK_FALSE }])
}

fn number(value: CK_ULONG) -> Value {
    Ok(value.to_ne_bytes().to_vec())
}

/// Label and identifier of a name.
fn split(name: &[u8]) -> (&[u8], Option<Vec<u8>>) {
    let at = name.iter().rposition(|byte| *byte == b'#');
    let Some((label, digits)) = at.map(|at| (&name[..at], &name[at + 1..])) else { return (name, None) };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = digits.iter().map(digit).collect();
    match digits {
        Some(digits) if !digits.is_empty() && digits.len().is_multiple_of(2) => {
            (label, Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
        }
        _ => (name, None),
    }
}

fn name(label: &[u8], id: &[u8]) -> Done<Vec<u8>> {
    let mut name = label.to_vec();
    if !id.is_empty() {
        name.push(b'#');
        id.iter().for_each(|byte| name.extend(format!("{byte:02x}").bytes()));
    }
    if name.len() > KEY_NAME_BYTES_MAX as usize { Err(CKR_ATTRIBUTE_VALUE_INVALID) } else { Ok(name) }
}

/// What PKCS#11 calls the algorithm.
fn key_type(algorithm: Algorithm) -> CK_KEY_TYPE {
    match algorithm {
        Algorithm::Aes128 | Algorithm::Aes192 | Algorithm::Aes256 => CKK_AES,
        Algorithm::Ascon128 => CKK_VENDOR_DEFINED,
        Algorithm::Hmac => CKK_GENERIC_SECRET,
        Algorithm::Hkdf => CKK_HKDF,
        Algorithm::P256 => CKK_EC,
        Algorithm::Ed25519 => CKK_EC_EDWARDS,
        Algorithm::X25519 => CKK_EC_MONTGOMERY,
        Algorithm::Rsa2048 | Algorithm::Rsa3072 => CKK_RSA,
    }
}

fn made_by(algorithm: Algorithm) -> CK_MECHANISM_TYPE {
    match algorithm {
        Algorithm::Aes128 | Algorithm::Aes192 | Algorithm::Aes256 => CKM_AES_KEY_GEN,
        Algorithm::Hmac => CKM_GENERIC_SECRET_KEY_GEN,
        Algorithm::Hkdf => CKM_HKDF_KEY_GEN,
        Algorithm::P256 => CKM_EC_KEY_PAIR_GEN,
        Algorithm::Ed25519 => CKM_EC_EDWARDS_KEY_PAIR_GEN,
        Algorithm::X25519 => CKM_EC_MONTGOMERY_KEY_PAIR_GEN,
        Algorithm::Rsa2048 | Algorithm::Rsa3072 => CKM_RSA_PKCS_KEY_PAIR_GEN,
        Algorithm::Ascon128 => CK_UNAVAILABLE_INFORMATION,
    }
}

/// The value of an object's attribute.
///
/// # Errors
/// `CKR_ATTRIBUTE_SENSITIVE` or `CKR_ATTRIBUTE_TYPE_INVALID`.
pub fn value(object: Object, known: &Known, kind: CK_ATTRIBUTE_TYPE) -> Value {
    let template = &known.attributes.template;
    let is_public = object.class == CKO_PUBLIC_KEY;
    let uses = |usages: Usages| boolean(template.usages.0 & usages.0 != 0);
    let own = |usages: Usages| if is_public { boolean(false) } else { uses(usages) };
    let (label, id) = split(&template.name);
    let is_local = known.attributes.origin == Origin::Generated;
    let is_wrappable = Usages::WRAPPABLE.within(template.usages);
    match kind {
        CKA_CLASS => number(object.class),
        CKA_KEY_TYPE => number(key_type(template.algorithm)),
        CKA_LABEL => Ok(label.to_vec()),
        CKA_ID => Ok(id.unwrap_or_else(|| known.key.0.to_be_bytes().to_vec())),
        CKA_UNIQUE_ID => Ok(format!("{:016x}/{}", known.key.0, object.class).into_bytes()),
        CKA_TOKEN => boolean(template.is_persistent),
        CKA_DESTROYABLE => boolean(true),
        // Whose a key is says the kernel, and not a PIN.
        CKA_PRIVATE | CKA_MODIFIABLE | CKA_COPYABLE | CKA_ALWAYS_AUTHENTICATE | CKA_TRUSTED => boolean(false),
        CKA_WRAP_WITH_TRUSTED => boolean(false),
        CKA_LOCAL => boolean(is_local),
        CKA_KEY_GEN_MECHANISM if is_local => number(made_by(template.algorithm)),
        CKA_KEY_GEN_MECHANISM => number(CK_UNAVAILABLE_INFORMATION),
        CKA_START_DATE | CKA_END_DATE | CKA_SUBJECT => Ok(Vec::new()),
        CKA_ENCRYPT => own(Usages::ENCRYPT),
        CKA_DECRYPT => own(Usages::DECRYPT),
        CKA_SIGN => own(Usages::SIGN.and(Usages::MAC)),
        CKA_VERIFY if object.class == CKO_PRIVATE_KEY => boolean(false),
        CKA_VERIFY => uses(Usages::VERIFY.and(Usages::MAC_VERIFY)),
        CKA_WRAP => own(Usages::WRAP),
        CKA_UNWRAP => own(Usages::UNWRAP),
        CKA_DERIVE => own(Usages::DERIVE.and(Usages::AGREE)),
        CKA_SIGN_RECOVER | CKA_VERIFY_RECOVER => boolean(false),
        CKA_SENSITIVE if !is_public => boolean(known.told.is_none()),
        // Of a key that came from outside both are false (PKCS#11 3.0, C_CreateObject and C_UnwrapKey).
        CKA_ALWAYS_SENSITIVE if !is_public => boolean(is_local),
        CKA_EXTRACTABLE if !is_public => boolean(is_wrappable || known.told.is_some()),
        CKA_NEVER_EXTRACTABLE if !is_public => boolean(is_local && !is_wrappable),
        CKA_VALUE if !is_public => {
            known.told.as_ref().map(|secret| secret.to_vec()).ok_or(CKR_ATTRIBUTE_SENSITIVE)
        }
        CKA_VALUE_LEN if object.class == CKO_SECRET_KEY => {
            number(template.algorithm.secret_bytes().unwrap_or(template.secret_bytes.into()) as CK_ULONG)
        }
        _ => public_value(template.algorithm, known.public.as_deref(), kind),
    }
}

fn public_value(algorithm: Algorithm, public: Option<&[u8]>, kind: CK_ATTRIBUTE_TYPE) -> Value {
    let public = public.ok_or(CKR_ATTRIBUTE_TYPE_INVALID)?;
    let numbers = || der::rsa_numbers(public).ok_or(CKR_ATTRIBUTE_TYPE_INVALID);
    match (key_type(algorithm), kind) {
        (CKK_RSA, CKA_MODULUS) => Ok(numbers()?.0.to_vec()),
        (CKK_RSA, CKA_PUBLIC_EXPONENT) => Ok(numbers()?.1.to_vec()),
        (CKK_RSA, CKA_MODULUS_BITS) => number(8 * numbers()?.0.len() as CK_ULONG),
        (CKK_RSA, CKA_PRIVATE_EXPONENT | CKA_PRIME_1 | CKA_PRIME_2 | CKA_EXPONENT_1) => {
            Err(CKR_ATTRIBUTE_SENSITIVE)
        }
        (CKK_RSA, CKA_EXPONENT_2 | CKA_COEFFICIENT) => Err(CKR_ATTRIBUTE_SENSITIVE),
        (CKK_EC, CKA_EC_PARAMS) => Ok(der::P256.to_vec()),
        (CKK_EC_EDWARDS, CKA_EC_PARAMS) => Ok(der::ED25519[0].to_vec()),
        (CKK_EC | CKK_EC_EDWARDS, CKA_EC_POINT) => Ok(der::octets(public)),
        _ => Err(CKR_ATTRIBUTE_TYPE_INVALID),
    }
}

/// Whether an object has all these attributes.
pub fn matches(object: Object, known: &Known, wanted: &[Given<'_>]) -> bool {
    wanted.iter().all(|given| value(object, known, given.kind).is_ok_and(|value| value == given.value))
}

/// A caller's template, looked at.
pub struct Wanted<'a>(pub Vec<Given<'a>>);

impl<'a> Wanted<'a> {
    /// The value of an attribute.
    pub fn bytes(&self, kind: CK_ATTRIBUTE_TYPE) -> Option<&'a [u8]> {
        self.0.iter().find(|given| given.kind == kind).map(|given| given.value)
    }

    /// The value of one that must be there.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE`.
    pub fn needed(&self, kind: CK_ATTRIBUTE_TYPE) -> Done<&'a [u8]> {
        self.bytes(kind).ok_or(CKR_TEMPLATE_INCOMPLETE)
    }

    /// A truth value, if it is given.
    ///
    /// # Errors
    /// `CKR_ATTRIBUTE_VALUE_INVALID`.
    pub fn boolean(&self, kind: CK_ATTRIBUTE_TYPE) -> Done<Option<bool>> {
        match self.bytes(kind) {
            None => Ok(None),
            Some([value]) => Ok(Some(*value != CK_FALSE)),
            Some(_) => Err(CKR_ATTRIBUTE_VALUE_INVALID),
        }
    }

    /// A number, if it is given.
    ///
    /// # Errors
    /// `CKR_ATTRIBUTE_VALUE_INVALID`.
    pub fn number(&self, kind: CK_ATTRIBUTE_TYPE) -> Done<Option<CK_ULONG>> {
        let number = |bytes: &[u8]| {
            bytes.try_into().map(CK_ULONG::from_ne_bytes).map_err(|_| CKR_ATTRIBUTE_VALUE_INVALID)
        };
        self.bytes(kind).map(number).transpose()
    }

    /// The usages that are asked for of these, or all of `other` if none of them is even mentioned.
    fn usages(&self, table: &[(CK_ATTRIBUTE_TYPE, Usages)], other: Usages) -> Done<Usages> {
        let mut usages = Usages::default();
        let mut is_mentioned = false;
        for (kind, usage) in table {
            let wanted = self.boolean(*kind)?;
            is_mentioned |= wanted.is_some();
            if wanted == Some(true) {
                usages = usages.and(*usage);
            }
        }
        Ok(if is_mentioned { usages } else { other })
    }

    /// The device's template for a key of this algorithm; `public` is the template of the public half, if there are two.
    ///
    /// # Errors
    /// What is wrong with an attribute.
    pub fn template(&self, algorithm: Algorithm, public: Option<&Wanted<'_>>) -> Done<Template> {
        use Algorithm::*;
        let both = |one: Usages, other| one.and(other);
        let (encrypts, decrypts) = (both(Usages::ENCRYPT, Usages::SEAL), both(Usages::DECRYPT, Usages::OPEN));
        let macs = [(CKA_SIGN, Usages::MAC), (CKA_VERIFY, Usages::MAC_VERIFY)];
        let agrees = both(Usages::AGREE, Usages::DERIVE);
        let signs = both(Usages::SIGN, Usages::VERIFY);
        let mut usages = match algorithm {
            Aes128 | Aes192 | Aes256 => {
                let others = [
                    (CKA_ENCRYPT, encrypts),
                    (CKA_DECRYPT, decrypts),
                    (CKA_WRAP, Usages::WRAP),
                    (CKA_UNWRAP, Usages::UNWRAP),
                ];
                self.usages(&[&others[..], &macs].concat(), both(encrypts, decrypts))?
            }
            Ascon128 => return Err(CKR_TEMPLATE_INCONSISTENT),
            Hmac => self.usages(&macs, both(Usages::MAC, Usages::MAC_VERIFY))?,
            Hkdf => Usages::DERIVE,
            P256 => self.usages(&[(CKA_SIGN, signs), (CKA_DERIVE, agrees)], signs)?,
            Ed25519 => signs,
            X25519 => agrees,
            Rsa2048 | Rsa3072 => {
                let table = [(CKA_SIGN, signs), (CKA_DECRYPT, Usages::DECRYPT)];
                self.usages(&table, both(signs, Usages::DECRYPT))?
            }
        };
        let is_caller_nonce =
            usages.0 & both(encrypts, decrypts).0 != 0 && algorithm.secret_bytes().is_some();
        if self.boolean(CKA_EXTRACTABLE)? == Some(true) {
            usages = usages.and(Usages::WRAPPABLE);
        }
        let text =
            |kind| self.bytes(kind).or(public.and_then(|public| public.bytes(kind))).unwrap_or_default();
        Ok(Template {
            is_persistent: self.boolean(CKA_TOKEN)?.unwrap_or(false),
            is_caller_nonce,
            name: name(text(CKA_LABEL), text(CKA_ID))?,
            ..Template::new(algorithm, usages)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_label_and_perhaps_an_identifier() {
        for (label, id) in [(&b"tls"[..], &[1, 0xab][..]), (b"", &[0]), (b"a#b", &[9]), (b"key", &[])] {
            let name = name(label, id).unwrap();
            assert_eq!(split(&name), (label, (!id.is_empty()).then(|| id.to_vec())));
        }
        assert_eq!(split(b"batch/7#x"), (&b"batch/7#x"[..], None));
        assert_eq!(name(&[b'x'; 60], &[1, 2]), Err(CKR_ATTRIBUTE_VALUE_INVALID));
    }
}
