//! AES-ECB, AES-CBC and AES-CTR, under a key of the device or under bytes that OpenSSL gives. What is under way is at the
//! device, and cannot be copied; what has not begun can.
//!
//! Invariant: what missed a part of its message goes on with no other and has no end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::client::call::{Begin, Cancel, Context, Decrypt, Encrypt, Finish, Secret, Update};
use broker::parameters::Mode;
use broker::template::Usages;
use broker::wire::Status;

use crate::abi::{Done, Failed, Param, bytes, give, trust};
use crate::aes::{self, CBC, CTR, ECB, Message, Setting};
use crate::digest::PART_BYTES;
use crate::secret;

const BLOCK_BYTES: usize = 16;

/// A cipher that is under way.
pub struct Cipher {
    setting: Setting,
    iv: [u8; BLOCK_BYTES],
    is_padded: bool,
    context: Option<Context>,
    /// A part was not taken, or its result was not. Many programs do not look at what an update says.
    is_broken: bool,
    /// A counter was begun with the IV, here or in a copy, which must not be met again: OpenSSL's own goes on counting.
    is_spent: Arc<AtomicBool>,
}

impl Cipher {
    /// What is made of a part of the message.
    fn take(&mut self, part: &[u8]) -> Done<Secret> {
        if self.is_broken {
            return Err(Failed);
        }
        let context = self.context()?;
        let mut made = Secret::new(Vec::with_capacity(part.len() + BLOCK_BYTES));
        for part in part.chunks(PART_BYTES) {
            made.extend_from_slice(&self.setting.provider.call(&Update { context, part })?);
        }
        Ok(made)
    }

    fn context(&mut self) -> Done<Context> {
        if let Some(context) = self.context {
            return Ok(context);
        }
        let Setting { provider, line, key, encrypts } = &self.setting;
        if line.mode == CTR && self.is_spent.swap(true, Ordering::Relaxed) {
            return Err(provider.refuse(Status::WrongParameters));
        }
        let key = key.as_ref().ok_or(Failed)?.handle;
        let mode = match (line.mode, self.is_padded) {
            (ECB, false) => Mode::Ecb,
            (CBC, false) => Mode::Cbc(self.iv),
            (CBC, true) => Mode::CbcPadded(self.iv),
            (CTR, _) => Mode::Ctr(self.iv),
            _ => return Err(Failed), // the device pads no ECB
        };
        let context = match encrypts {
            true => provider.call(&Begin(Encrypt { key, mode, plaintext: &[] }))?,
            false => provider.call(&Begin(Decrypt { key, mode, ciphertext: &[] }))?,
        };
        Ok(*self.context.insert(context))
    }
}

impl aes::Context for Cipher {
    const USAGES: Usages = Usages::ENCRYPT.and(Usages::DECRYPT);
    const IS_CALLER_NONCE: bool = false;
    const GETTABLE: &'static [Param] = &[
        Param::number(c"keylen"),
        Param::number(c"ivlen"),
        Param::number(c"padding"),
        Param::number(c"num"),
        Param::octets(c"iv"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] =
        &[Param::number(c"padding"), Param::number(c"keylen"), Param::text(secret::NAME), Param::END];

    fn new(setting: Setting) -> Cipher {
        let (is_padded, is_broken, is_spent) = (setting.line.mode != CTR, false, Arc::default());
        Cipher { setting, iv: [0; BLOCK_BYTES], is_padded, context: None, is_broken, is_spent }
    }

    /// If it is not at the device.
    fn copy(&self) -> Done<Cipher> {
        let Cipher { setting, iv, is_padded, context, is_broken, is_spent } = self;
        if context.is_some() {
            return Err(setting.provider.refuse(Status::WholeOnly));
        }
        let (setting, is_spent) = (setting.clone(), is_spent.clone());
        Ok(Cipher { setting, iv: *iv, is_padded: *is_padded, context: None, is_broken: *is_broken, is_spent })
    }

    fn setting(&mut self) -> &mut Setting {
        &mut self.setting
    }

    fn start(&mut self, iv: Option<&[u8]>) -> Done {
        self.cancel();
        self.is_broken = false;
        if let Some(iv) = iv {
            self.iv = iv.try_into().map_err(|_| Failed)?;
            self.is_spent = Arc::default();
        }
        Ok(())
    }

    fn cancel(&mut self) {
        if let Some(context) = self.context.take() {
            // It may be gone with its connection already.
            let _ = self.setting.provider.call(&Cancel { context });
        }
    }

    fn set(&mut self, key: &[u8], param: &Param) -> Done {
        if key == b"padding" && self.setting.line.mode != CTR {
            self.is_padded = param.get().ok_or(Failed)? != 0;
        }
        Ok(())
    }

    fn get(&self, key: &[u8], param: &mut Param) -> Done {
        match key {
            b"ivlen" => param.set(self.setting.line.iv_bytes),
            b"padding" => param.set(self.is_padded.into()),
            b"num" => param.set(0),
            b"iv" => param.set_octets(&self.iv),
            _ => Ok(()),
        }
    }

    unsafe fn update(&mut self, message: Message) -> Done {
        let part = trust!(bytes(message.from, message.bytes))?;
        let made = self.take(part);
        let given = made.and_then(|made| trust!(give(&made, message.start, message.length, message.room)));
        if given.is_err() {
            self.cancel();
            self.is_broken = true;
        }
        given
    }

    unsafe fn finish(&mut self, message: Message) -> Done {
        if self.is_broken {
            return Err(Failed);
        }
        let context = self.context()?;
        self.context = None;
        let made = self.setting.provider.call(&Finish { context, part: &[] })?;
        trust!(give(&made, message.start, message.length, message.room))
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        aes::Context::cancel(self);
    }
}
