//! SHA-2, and what a digest and a MAC have in common: what fits one request is gathered and asked for at once, and can be
//! copied until then, as TLS wants it; what is longer is begun at the device, and cannot.
//!
//! Invariant: what missed a part of its message makes no digest and no MAC.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use broker::client::call::{Begin, Cancel, Context, Finish, Hash, Mac, Secret, Update};
use broker::limits::PLAINTEXT_BYTES_MAX;
use broker::parameters::{Hash as Kind, MacKind};
use broker::wire::Status;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, bytes, each, free, give, guard, make, out,
    provider, trust,
};
use crate::secret::Held;

/// What one request takes.
pub const PART_BYTES: usize = PLAINTEXT_BYTES_MAX as usize;

/// What is made of a message.
#[derive(Clone)]
pub enum What {
    /// Its digest.
    Hash(Kind),
    /// Its MAC.
    Mac(Arc<Held>, MacKind),
}

/// A digest or a MAC that is under way.
pub struct Digest {
    provider: Arc<Provider>,
    what: What,
    gathered: Secret,
    context: Option<Context>,
    /// A part was not taken. Many programs do not look at what an update says.
    is_broken: bool,
}

impl Digest {
    /// One of nothing yet.
    pub fn new(provider: Arc<Provider>, what: What) -> Digest {
        Digest { provider, what, gathered: Secret::default(), context: None, is_broken: false }
    }

    fn begin(&self) -> Done<Context> {
        match &self.what {
            What::Hash(hash) => self.provider.call(&Begin(Hash { hash: *hash, message: &[] })),
            What::Mac(key, kind) => {
                self.provider.call(&Begin(Mac { key: key.handle, kind: *kind, message: &[] }))
            }
        }
    }

    fn whole(&self, message: &[u8]) -> Done<Vec<u8>> {
        match &self.what {
            What::Hash(hash) => self.provider.call(&Hash { hash: *hash, message }),
            What::Mac(key, kind) => self.provider.call(&Mac { key: key.handle, kind: *kind, message }),
        }
    }

    /// Takes a part.
    pub fn update(&mut self, part: &[u8]) -> Done {
        let taken = if self.is_broken { Err(Failed) } else { self.take(part) };
        self.is_broken = taken.is_err();
        taken
    }

    fn take(&mut self, part: &[u8]) -> Done {
        if self.context.is_none() && self.gathered.len() + part.len() <= PART_BYTES {
            self.gather(part);
            return Ok(());
        }
        let context = match self.context {
            Some(context) => context,
            None => *self.context.insert(self.begin()?),
        };
        let gathered = std::mem::take(&mut self.gathered);
        for part in gathered.chunks(PART_BYTES).chain(part.chunks(PART_BYTES)) {
            self.provider.call(&Update { context, part })?;
        }
        Ok(())
    }

    fn gather(&mut self, part: &[u8]) {
        let bytes = self.gathered.len() + part.len();
        if bytes > self.gathered.capacity() {
            // A vector that grows by itself leaves copies behind.
            let mut grown = Secret::new(Vec::with_capacity(bytes.max(2 * self.gathered.capacity())));
            grown.extend_from_slice(&self.gathered);
            self.gathered = grown;
        }
        self.gathered.extend_from_slice(part);
    }

    /// The digest, or the MAC.
    pub fn finish(&mut self) -> Done<Vec<u8>> {
        if self.is_broken {
            return Err(Failed);
        }
        match self.context.take() {
            Some(context) => Ok(self.provider.call(&Finish { context, part: &[] })?.to_vec()),
            None => {
                let message = std::mem::take(&mut self.gathered);
                self.whole(&message)
            }
        }
    }

    /// The same once more, if it is not at the device.
    pub fn copy(&self) -> Done<Digest> {
        if self.context.is_some() {
            return Err(self.provider.refuse(Status::WholeOnly));
        }
        let (provider, what) = (self.provider.clone(), self.what.clone());
        Ok(Digest {
            provider,
            what,
            gathered: self.gathered.clone(),
            context: None,
            is_broken: self.is_broken,
        })
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        if let Some(context) = self.context.take() {
            // It may be gone with its connection already.
            let _ = self.provider.call(&Cancel { context });
        }
    }
}

const fn kind(number: u8) -> Kind {
    match Kind::from_number(number) {
        Ok(kind) => kind,
        Err(_) => panic!("no hash has this number"),
    }
}

unsafe extern "C" fn new<const HASH: u8>(context: *const Provider) -> *mut Digest {
    make(|| Ok(Digest::new(trust!(provider(context))?, What::Hash(kind(HASH)))))
}

unsafe extern "C" fn init(this: *mut Digest, _params: *const Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        *this = Digest::new(this.provider.clone(), this.what.clone());
        Ok(())
    })
}

unsafe extern "C" fn update(this: *mut Digest, part: *const u8, length: usize) -> c_int {
    guard(|| trust!(out(this))?.update(trust!(bytes(part, length))?))
}

unsafe extern "C" fn finish(this: *mut Digest, start: *mut u8, length: *mut usize, room: usize) -> c_int {
    guard(|| trust!(give(&trust!(out(this))?.finish()?, start, length, room)))
}

unsafe extern "C" fn delete(this: *mut Digest) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Digest) -> *mut Digest {
    make(|| trust!(out(this))?.copy())
}

unsafe extern "C" fn get<const HASH: u8>(params: *mut Param) -> c_int {
    let block_bytes = if HASH > 2 { 128 } else { 64 };
    guard(|| {
        trust!(each(params, |key, param| match key {
            b"size" => param.set(kind(HASH).digest_bytes()),
            b"blocksize" => param.set(block_bytes),
            b"xof" => param.set(0),
            b"algid-absent" => param.set(1),
            _ => Ok(()),
        }))
    })
}

/// The hash of one of OpenSSL's names.
pub fn named(name: &[u8]) -> Done<Kind> {
    let name = name.to_ascii_uppercase();
    let is = |names: [&str; 3]| names.iter().any(|one| one.as_bytes() == name);
    match () {
        () if is(["SHA2-224", "SHA-224", "SHA224"]) => Ok(Kind::Sha224),
        () if is(["SHA2-256", "SHA-256", "SHA256"]) => Ok(Kind::Sha256),
        () if is(["SHA2-384", "SHA-384", "SHA384"]) => Ok(Kind::Sha384),
        () if is(["SHA2-512", "SHA-512", "SHA512"]) => Ok(Kind::Sha512),
        () => Err(Failed),
    }
}

static GETTABLE: [Param; 5] = [
    Param::number(c"size"),
    Param::number(c"blocksize"),
    Param::number(c"xof"),
    Param::number(c"algid-absent"),
    Param::END,
];

extern "C" fn gettable(_context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

const fn functions<const HASH: u8>() -> [Dispatch; 9] {
    [
        Dispatch(1, new::<HASH> as *const c_void),
        Dispatch(2, init as *const c_void),
        Dispatch(3, update as *const c_void),
        Dispatch(4, finish as *const c_void),
        Dispatch(6, delete as *const c_void),
        Dispatch(7, copy as *const c_void),
        Dispatch(8, get::<HASH> as *const c_void),
        Dispatch(11, gettable as *const c_void),
        END,
    ]
}

static SHA_224: [Dispatch; 9] = functions::<1>();
static SHA_256: [Dispatch; 9] = functions::<2>();
static SHA_384: [Dispatch; 9] = functions::<3>();
static SHA_512: [Dispatch; 9] = functions::<4>();

/// The digests, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 5] = [
    Algorithm::new(c"SHA2-224:SHA-224:SHA224:2.16.840.1.101.3.4.2.4", &SHA_224),
    Algorithm::new(c"SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1", &SHA_256),
    Algorithm::new(c"SHA2-384:SHA-384:SHA384:2.16.840.1.101.3.4.2.2", &SHA_384),
    Algorithm::new(c"SHA2-512:SHA-512:SHA512:2.16.840.1.101.3.4.2.3", &SHA_512),
    Algorithm::END,
];
