//! HMAC and CMAC, under a key of the device or under bytes that OpenSSL gives.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use broker::parameters::{Hash, MacKind};
use broker::template::Usages;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, bytes, each, free, give, guard, make, out,
    provider, trust,
};
use crate::digest::{Digest, What, named};
use crate::secret::{self, Held};
use crate::skey::{Skey, taken};

struct Maker {
    provider: Arc<Provider>,
    kind: MacKind,
    key: Option<Arc<Held>>,
    digest: Option<Digest>,
}

impl Maker {
    fn take(&mut self, secret: &[u8]) -> Done {
        self.digest = None;
        self.key = Some(match self.kind {
            MacKind::Cmac => Held::aes(&self.provider, Usages::MAC, false, secret)?,
            MacKind::Hmac(_) => Held::hmac(&self.provider, secret)?,
        });
        Ok(())
    }

    /// # Safety
    /// The list is null or ends.
    unsafe fn set(&mut self, params: *mut Param) -> Done {
        trust!(each(params, |key, param| match key {
            b"digest" => match &mut self.kind {
                MacKind::Hmac(hash) => {
                    *hash = named(param.get_text().ok_or(Failed)?)?;
                    Ok(())
                }
                MacKind::Cmac => Ok(()),
            },
            // Which AES it is says the key's length.
            b"cipher" if self.kind == MacKind::Cmac => {
                let name = param.get_text().ok_or(Failed)?.to_ascii_uppercase();
                let is_it = name.starts_with(b"AES-") && name.ends_with(b"-CBC");
                if is_it { Ok(()) } else { Err(Failed) }
            }
            b"key" => self.take(param.bytes().ok_or(Failed)?),
            b"selvedge-key" => {
                self.digest = None;
                self.key = Some(Held::named(&self.provider, param)?);
                Ok(())
            }
            _ => Ok(()),
        }))
    }

    fn begin(&mut self) -> Done {
        let key = self.key.clone().ok_or(Failed)?;
        self.digest = Some(Digest::new(self.provider.clone(), What::Mac(key, self.kind)));
        Ok(())
    }

    fn mac_bytes(&self) -> usize {
        match self.kind {
            MacKind::Cmac => 16,
            MacKind::Hmac(hash) => hash.digest_bytes(),
        }
    }

    fn block_bytes(&self) -> usize {
        match self.kind {
            MacKind::Cmac => 16,
            MacKind::Hmac(Hash::Sha224 | Hash::Sha256) => 64,
            MacKind::Hmac(_) => 128,
        }
    }
}

unsafe extern "C" fn new<const IS_HMAC: bool>(context: *const Provider) -> *mut Maker {
    make(|| {
        let provider = trust!(provider(context))?;
        let kind = if IS_HMAC { MacKind::Hmac(Hash::Sha256) } else { MacKind::Cmac };
        Ok(Maker { provider, kind, key: None, digest: None })
    })
}

unsafe extern "C" fn delete(this: *mut Maker) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Maker) -> *mut Maker {
    make(|| {
        let this = trust!(out(this))?;
        let digest = this.digest.as_ref().map(Digest::copy).transpose()?;
        Ok(Maker { provider: this.provider.clone(), kind: this.kind, key: this.key.clone(), digest })
    })
}

unsafe extern "C" fn init(this: *mut Maker, key: *const u8, key_bytes: usize, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(this.set(params))?;
        if !key.is_null() {
            this.take(trust!(bytes(key, key_bytes))?)?;
        }
        this.begin()
    })
}

/// Since OpenSSL 3.5.
unsafe extern "C" fn init_skey(this: *mut Maker, key: *mut Skey, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(this.set(params))?;
        match trust!(taken(key))? {
            Skey::Given(key) => this.take(key)?,
            Skey::Held(key, _) => this.key = Some(key.clone()),
        }
        this.begin()
    })
}

unsafe extern "C" fn update(this: *mut Maker, part: *const u8, part_bytes: usize) -> c_int {
    guard(|| trust!(out(this))?.digest.as_mut().ok_or(Failed)?.update(trust!(bytes(part, part_bytes))?))
}

unsafe extern "C" fn finish(this: *mut Maker, start: *mut u8, length: *mut usize, room: usize) -> c_int {
    guard(|| {
        let mac = trust!(out(this))?.digest.take().ok_or(Failed)?.finish()?;
        trust!(give(&mac, start, length, room))
    })
}

unsafe extern "C" fn get(this: *mut Maker, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| match key {
            b"size" => param.set(this.mac_bytes()),
            b"block-size" => param.set(this.block_bytes()),
            _ => Ok(()),
        }))
    })
}

unsafe extern "C" fn set(this: *mut Maker, params: *mut Param) -> c_int {
    guard(|| trust!(trust!(out(this))?.set(params)))
}

static GETTABLE: [Param; 3] = [Param::number(c"size"), Param::number(c"block-size"), Param::END];
static SETTABLE: [Param; 5] = [
    Param::text(c"digest"),
    Param::text(c"cipher"),
    Param::octets(c"key"),
    Param::text(secret::NAME),
    Param::END,
];

extern "C" fn gettable(_this: *const Maker, _context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

extern "C" fn settable(_this: *const Maker, _context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

const fn functions<const IS_HMAC: bool>() -> [Dispatch; 12] {
    [
        Dispatch(1, new::<IS_HMAC> as *const c_void),
        Dispatch(2, copy as *const c_void),
        Dispatch(3, delete as *const c_void),
        Dispatch(4, init as *const c_void),
        Dispatch(5, update as *const c_void),
        Dispatch(6, finish as *const c_void),
        Dispatch(8, get as *const c_void),
        Dispatch(9, set as *const c_void),
        Dispatch(11, gettable as *const c_void),
        Dispatch(12, settable as *const c_void),
        Dispatch(13, init_skey as *const c_void),
        END,
    ]
}

static HMAC: [Dispatch; 12] = functions::<true>();
static CMAC: [Dispatch; 12] = functions::<false>();

/// The MACs, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 3] =
    [Algorithm::new(c"HMAC", &HMAC), Algorithm::new(c"CMAC", &CMAC), Algorithm::END];
