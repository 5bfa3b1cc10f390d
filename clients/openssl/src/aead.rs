//! AES-GCM and AES-CCM, under a key of the device or under bytes that OpenSSL gives. A message comes as a whole, in one
//! update: the device releases nothing whose tag it has not compared, so a second part is refused by name, and who opens
//! gives the tag before the message. TLS 1.3 and CMS do so.
//!
//! Invariant: no message is ended well that was not sealed, or whose tag was not right.
//! Invariant: no nonce seals twice, unless the caller gives it twice; a copy's is that of what it was copied from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::client::call::{Open, Seal, Secret};
use broker::parameters::{Aead, Suite};
use broker::template::Usages;
use broker::wire::Status;

use crate::abi::{Done, Failed, Param, bytes, give, out, trust};
use crate::aes::{self, GCM, Message, Setting};
use crate::secret;

const TAG_BYTES: usize = 16;

/// A message that is sealed or opened. There is nothing of it at the device, so that it can be copied.
#[derive(Clone)]
pub struct Sealer {
    setting: Setting,
    suite: Suite,
    nonce_bytes: usize,
    nonce: Option<Vec<u8>>,
    tag_bytes: usize,
    tag: Option<Vec<u8>>,
    associated_data: Secret,
    /// The nonce was given, and no message came since.
    is_fresh: bool,
    /// A message came, and was sealed or found authentic.
    is_done: bool,
    /// Whether the nonce has sealed, here or in a copy.
    has_sealed: Arc<AtomicBool>,
}

impl Sealer {
    fn associate(&mut self, data: &[u8]) -> Done {
        if !self.is_fresh {
            return Err(self.setting.provider.refuse(Status::WholeOnly));
        }
        self.associated_data = Secret::new([&self.associated_data, data].concat());
        Ok(())
    }

    /// The whole message; what is left of it to say afterwards is the tag.
    fn whole(&mut self, message: &[u8]) -> Done<Secret> {
        self.is_done = false;
        if !self.is_fresh {
            return Err(self.setting.provider.refuse(Status::WholeOnly));
        }
        let key = self.setting.key.as_ref().ok_or(Failed)?.handle;
        let nonce = self.nonce.as_deref().ok_or(Failed)?;
        let tag_bytes = self.tag_bytes as u8;
        let aead = Aead { suite: self.suite, tag_bytes, nonce, associated_data: &self.associated_data };
        self.is_fresh = false;
        if self.setting.encrypts {
            if self.has_sealed.swap(true, Ordering::Relaxed) {
                return Err(self.setting.provider.refuse(Status::WrongParameters));
            }
            let mut sealed = self.setting.provider.call(&Seal { key, aead, plaintext: message })?;
            self.tag = Some(sealed.split_off(sealed.len().checked_sub(self.tag_bytes).ok_or(Failed)?));
            self.is_done = true;
            return Ok(Secret::new(sealed));
        }
        let tag = self.tag.take().filter(|tag| tag.len() == self.tag_bytes);
        let tag = tag.ok_or_else(|| self.setting.provider.refuse(Status::WholeOnly))?;
        let sealed = [message, &tag].concat();
        let message = self.setting.provider.call(&Open { key, aead, sealed: &sealed })?;
        self.is_done = true;
        Ok(message)
    }
}

impl aes::Context for Sealer {
    const USAGES: Usages = Usages::SEAL.and(Usages::OPEN);
    const IS_CALLER_NONCE: bool = true;
    const GETTABLE: &'static [Param] = &[
        Param::number(c"keylen"),
        Param::number(c"ivlen"),
        Param::number(c"taglen"),
        Param::octets(c"iv"),
        Param::octets(c"updated-iv"),
        Param::octets(c"tag"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::number(c"keylen"),
        Param::number(c"ivlen"),
        Param::octets(c"tag"),
        Param::text(secret::NAME),
        Param::END,
    ];

    fn new(setting: Setting) -> Sealer {
        let is_gcm = setting.line.mode == GCM;
        Sealer {
            suite: if is_gcm { Suite::Gcm } else { Suite::Ccm },
            nonce_bytes: setting.line.iv_bytes,
            nonce: None,
            // What OpenSSL's own have, if nobody says otherwise.
            tag_bytes: if is_gcm { TAG_BYTES } else { 12 },
            tag: None,
            associated_data: Secret::default(),
            is_fresh: false,
            is_done: false,
            has_sealed: Arc::default(),
            setting,
        }
    }

    fn copy(&self) -> Done<Sealer> {
        Ok(self.clone())
    }

    fn setting(&mut self) -> &mut Setting {
        &mut self.setting
    }

    fn start(&mut self, nonce: Option<&[u8]>) -> Done {
        self.associated_data = Secret::default();
        self.is_done = false;
        if self.setting.encrypts {
            self.tag = None;
        }
        if let Some(nonce) = nonce {
            self.nonce_bytes = nonce.len();
            self.nonce = Some(nonce.to_vec());
            self.is_fresh = true;
            self.has_sealed = Arc::default();
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], param: &Param) -> Done {
        match (key, param.bytes()) {
            (b"ivlen", _) => {
                let nonce_bytes = param.get().and_then(|length| usize::try_from(length).ok());
                let is_known = match (self.suite, nonce_bytes) {
                    (Suite::Ccm, Some(length)) => matches!(length, 7 | 12 | 13),
                    (_, length) => length == Some(12),
                };
                if !is_known {
                    return Err(self.setting.provider.refuse(Status::WrongParameters));
                }
                if nonce_bytes != Some(self.nonce_bytes) {
                    self.nonce = None;
                    self.is_fresh = false;
                }
                self.nonce_bytes = nonce_bytes.unwrap_or_default();
                Ok(())
            }
            // Who seals says with it how long the tag will be; so may who opens.
            (b"tag", tag) => {
                let tag_bytes = param.size();
                let is_known = match self.suite {
                    Suite::Ccm => matches!(tag_bytes, 4 | 8 | 12 | 16),
                    _ => tag_bytes == TAG_BYTES,
                };
                if !is_known {
                    return Err(self.setting.provider.refuse(Status::WrongParameters));
                }
                self.tag_bytes = tag_bytes;
                self.tag = tag.map(<[u8]>::to_vec).filter(|_| !self.setting.encrypts);
                Ok(())
            }
            // TLS 1.2 has the cipher make nonces.
            (b"tlsaad" | b"tlsivfixed" | b"tlsivgen" | b"tlsivinv", _) => {
                Err(self.setting.provider.refuse(Status::UnknownOperation))
            }
            _ => Ok(()),
        }
    }

    fn get(&self, key: &[u8], param: &mut Param) -> Done {
        match key {
            b"ivlen" => param.set(self.nonce_bytes),
            b"taglen" => param.set(self.tag_bytes),
            b"iv" | b"updated-iv" => param.set_octets(self.nonce.as_ref().ok_or(Failed)?),
            b"tag" => {
                let tag = self.tag.as_ref().filter(|_| self.setting.encrypts).ok_or(Failed)?;
                let asked_bytes = param.size().min(tag.len());
                param.set_octets(&tag[..asked_bytes])
            }
            _ => Ok(()),
        }
    }

    unsafe fn update(&mut self, message: Message) -> Done {
        let length = trust!(out(message.length))?;
        *length = 0;
        match (message.start.is_null(), message.from.is_null()) {
            // CCM is told the length before, which the message says as well.
            (true, true) => Ok(()),
            (true, false) => {
                *length = message.bytes;
                self.associate(trust!(bytes(message.from, message.bytes))?)
            }
            (false, _) if message.bytes == 0 => Ok(()),
            (false, _) if message.room < message.bytes => Err(Failed),
            (false, _) => {
                let made = self.whole(trust!(bytes(message.from, message.bytes))?)?;
                trust!(give(&made, message.start, length, message.room))
            }
        }
    }

    unsafe fn finish(&mut self, message: Message) -> Done {
        *trust!(out(message.length))? = 0;
        if self.is_fresh {
            self.whole(&[])?;
        }
        // Programs take this, and not what the update said, for the word on the tag.
        if self.is_done { Ok(()) } else { Err(Failed) }
    }
}
