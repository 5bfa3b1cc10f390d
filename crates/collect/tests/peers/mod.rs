//! Other people's AES behind safe functions: OpenSSL's and Intel's multi-buffer library, compiled into shared objects
//! from the C beside the bench and loaded when they are wanted. Whoever has them not is told why.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;

use libloading::Library;

/// Compiles `benches/aes/NAME.c` against a library and loads it.
fn load(name: &str, library: &str) -> Result<Library, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/aes").join(name).with_extension("c");
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let object = folder.path().join(name).with_extension("so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]).arg(&object).arg(source);
    let output = compiler.arg(format!("-l{library}")).output().map_err(|error| format!("cc: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(words.lines().find(|line| line.contains("error")).unwrap_or("cc refuses it").to_owned());
    }
    // SAFETY: the object was compiled above, from a file that has nothing that runs when it is loaded.
    unsafe { Library::new(&object) }.map_err(|error| error.to_string())
}

/// A function of a library, with the type that its C has.
macro_rules! function {
    ($library:expr, $name:literal, $type:ty) => {
        // SAFETY: the types are those of the C file that was compiled into the library.
        *unsafe { $library.get::<$type>($name) }.expect("the C file has it")
    };
}

/// OpenSSL.
pub struct OpenSsl(Library);

/// One of its contexts.
pub struct Context<'a> {
    library: &'a Library,
    context: *mut c_void,
}

impl OpenSsl {
    /// # Errors
    /// Why it cannot be had.
    pub fn load() -> Result<OpenSsl, String> {
        load("openssl", "crypto").map(OpenSsl)
    }

    /// A context for one of its ciphers, as `AES-128-CBC`.
    pub fn context(&self, name: &str, key: &[u8], is_encrypting: bool) -> Context<'_> {
        type Open = unsafe extern "C" fn(*const c_char, *const u8, c_int) -> *mut c_void;
        let open = function!(self.0, b"openssl_open", Open);
        let name = CString::new(name).expect("a name without zeros");
        // SAFETY: the name ends with a zero, and the key is as long as the cipher's.
        let context = unsafe { open(name.as_ptr(), key.as_ptr(), c_int::from(is_encrypting)) };
        assert!(!context.is_null(), "OpenSSL has no {name:?}");
        Context { library: &self.0, context }
    }
}

impl Context<'_> {
    /// Enciphers or deciphers in place.
    pub fn crypt(&self, iv: &[u8; 16], data: &mut [u8]) {
        type Crypt = unsafe extern "C" fn(*mut c_void, *const u8, *mut u8, c_int) -> c_int;
        let crypt = function!(self.library, b"openssl_crypt", Crypt);
        // SAFETY: the lengths are those of the slices.
        let is_good = unsafe { crypt(self.context, iv.as_ptr(), data.as_mut_ptr(), data.len() as c_int) };
        assert_eq!(is_good, 1, "OpenSSL refuses");
    }

    /// Seals in place with a CCM cipher.
    pub fn ccm(&self, key: &[u8], nonce: &[u8], associated: &[u8], data: &mut [u8], tag: &mut [u8]) {
        type Bytes = *const u8;
        type Ccm = unsafe extern "C" fn(
            *mut c_void,
            Bytes,
            Bytes,
            c_int,
            Bytes,
            c_int,
            *mut u8,
            c_int,
            *mut u8,
            c_int,
        ) -> c_int;
        let ccm = function!(self.library, b"openssl_ccm", Ccm);
        let length = |bytes: &[u8]| bytes.len() as c_int;
        let (nonce_bytes, associated_bytes, bytes) = (length(nonce), length(associated), length(data));
        let tag_bytes = length(tag);
        // SAFETY: the lengths are those of the slices, and the key's is the cipher's.
        let is_good = unsafe {
            ccm(
                self.context,
                key.as_ptr(),
                nonce.as_ptr(),
                nonce_bytes,
                associated.as_ptr(),
                associated_bytes,
                data.as_mut_ptr(),
                bytes,
                tag.as_mut_ptr(),
                tag_bytes,
            )
        };
        assert_eq!(is_good, 1, "OpenSSL refuses");
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let close = function!(self.library, b"openssl_close", unsafe extern "C" fn(*mut c_void));
        // SAFETY: the context is not used any more.
        unsafe { close(self.context) };
    }
}

/// Intel's multi-buffer library.
#[allow(dead_code)] // the tests have no need of it
pub struct Ipsec(Library);

/// Streams with their keys.
#[allow(dead_code)] // as above
pub struct Streams<'a> {
    library: &'a Library,
    streams: *mut c_void,
    count: usize,
}

#[allow(dead_code)] // as above
impl Ipsec {
    /// # Errors
    /// Why it cannot be had.
    pub fn load() -> Result<Ipsec, String> {
        load("ipsec", "IPSec_MB").map(Ipsec)
    }

    /// Sets up a stream for each key.
    pub fn streams(&self, keys: &[&[u8]]) -> Streams<'_> {
        type Open = unsafe extern "C" fn(c_uint, *const u8, c_uint) -> *mut c_void;
        let open = function!(self.0, b"ipsec_open", Open);
        let flat = keys.concat();
        // SAFETY: there are so many keys, all of the first one's length.
        let streams = unsafe { open(keys.len() as c_uint, flat.as_ptr(), keys[0].len() as c_uint) };
        assert!(!streams.is_null(), "no memory");
        Streams { library: &self.0, streams, count: keys.len() }
    }
}

#[allow(dead_code)] // as above
impl Streams<'_> {
    /// CBC encryption of every stream, which begin `stride` bytes from each other.
    pub fn cbc(&self, iv: &[u8; 16], data: &mut [u8], stride: usize, bytes: usize) {
        type Cbc = unsafe extern "C" fn(*mut c_void, *const u8, *mut u8, c_uint, c_uint) -> c_int;
        let cbc = function!(self.library, b"ipsec_cbc", Cbc);
        assert!(data.len() >= (self.count - 1) * stride + bytes, "streams beyond their memory");
        // SAFETY: the data are long enough.
        let is_good =
            unsafe { cbc(self.streams, iv.as_ptr(), data.as_mut_ptr(), stride as c_uint, bytes as c_uint) };
        assert_eq!(is_good, 1, "the library refuses");
    }

    /// Seals every stream with CCM, tags of 8 bytes.
    pub fn ccm(
        &self,
        nonce: &[u8; 13],
        associated: &[u8],
        data: &mut [u8],
        stride: usize,
        bytes: usize,
        tags: &mut [[u8; 8]],
    ) {
        type Bytes = *const u8;
        type Ccm = unsafe extern "C" fn(
            *mut c_void,
            Bytes,
            Bytes,
            c_uint,
            *mut u8,
            c_uint,
            c_uint,
            *mut u8,
        ) -> c_int;
        let ccm = function!(self.library, b"ipsec_ccm", Ccm);
        assert!(
            data.len() >= (self.count - 1) * stride + bytes && tags.len() >= self.count,
            "too little memory"
        );
        let (stride, bytes) = (stride as c_uint, bytes as c_uint);
        let (aad, aad_bytes) = (associated.as_ptr(), associated.len() as c_uint);
        let (data, tags) = (data.as_mut_ptr(), tags.as_mut_ptr().cast());
        // SAFETY: the data and tags are long enough.
        let is_good = unsafe { ccm(self.streams, nonce.as_ptr(), aad, aad_bytes, data, stride, bytes, tags) };
        assert_eq!(is_good, 1, "the library refuses");
    }
}

impl Drop for Streams<'_> {
    fn drop(&mut self) {
        let close = function!(self.library, b"ipsec_close", unsafe extern "C" fn(*mut c_void));
        // SAFETY: the streams are not used any more.
        unsafe { close(self.streams) };
    }
}
