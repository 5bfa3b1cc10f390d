//! Any calls of the OpenSSL provider, in any order, as bytes say: contexts of all its algorithms with any parameters,
//! buffers that are what they say or null, files and URIs of any bytes. It must answer each, and write nothing behind a
//! buffer's end. A seeded test and a fuzz target bring the bytes.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use broker::client::blocking::Client;
use broker::client::call::KeyGenerate;
use broker::template::{self, Template, Usages};

/// What lies behind every buffer.
const GUARD: [u8; 16] = [0xa5; 16];
const NAMES: [&std::ffi::CStr; 27] = [
    c"selvedge-key",
    c"key",
    c"digest",
    c"cipher",
    c"mode",
    c"salt",
    c"info",
    c"padding",
    c"keylen",
    c"ivlen",
    c"iv",
    c"tag",
    c"taglen",
    c"tlsaad",
    c"pad-mode",
    c"saltlen",
    c"mgf1-digest",
    c"algorithm-id",
    c"group",
    c"pub",
    c"n",
    c"e",
    c"raw-bytes",
    c"size",
    c"key-length",
    c"kdf-type",
    c"priv",
];
/// Values that get far.
const VALUES: [&[u8]; 8] =
    [b"sha256", b"SHA2-512", b"AES-256-CBC", b"EXPAND_ONLY", b"pss", b"prime256v1", b"secret", b"mac"];
const FILE: &[u8] =
    b"-----BEGIN SELVEDGE KEY URI-----\nDA9zZWx2ZWRnZTpmdXp6ZWQ=\n-----END SELVEDGE KEY URI-----\n";

#[repr(C)]
struct Dispatch(c_int, *const c_void);
// SAFETY: the pointers are to functions.
unsafe impl Sync for Dispatch {}

#[repr(C)]
struct Algorithm {
    names: *const c_char,
    properties: *const c_char,
    functions: *const Dispatch,
    description: *const c_char,
}

#[repr(C)]
struct Param {
    key: *const c_char,
    kind: c_uint,
    data: *mut c_void,
    size: usize,
    returned: usize,
}

/// A stream of OpenSSL's.
struct Stream<'a>(&'a [u8]);

unsafe extern "C" fn read(stream: *mut Stream<'_>, start: *mut u8, length: usize, done: *mut usize) -> c_int {
    // SAFETY: the provider gives the stream that it was given, and its own buffer.
    unsafe {
        let stream = &mut *stream;
        let (part, rest) = stream.0.split_at(length.min(stream.0.len()).min(7));
        std::ptr::copy_nonoverlapping(part.as_ptr(), start, part.len());
        stream.0 = rest;
        *done = part.len();
        c_int::from(!part.is_empty())
    }
}

unsafe extern "C" fn take(_params: *const Param, wants: *mut c_void) -> c_int {
    c_int::from(!wants.is_null())
}

/// Says where the broker is, and has it make the keys that are named here.
pub fn prepare(socket: &Path) {
    // SAFETY: nobody else reads or writes the environment meanwhile.
    unsafe { std::env::set_var("SELVEDGE_BROKER", socket) };
    let client = Client::new(socket);
    for (name, algorithm, usages) in [
        ("fuzzed", template::Algorithm::P256, Usages::SIGN),
        ("secret", template::Algorithm::Aes256, Usages::ENCRYPT.and(Usages::DECRYPT)),
        ("mac", template::Algorithm::Hmac, Usages::MAC),
    ] {
        let template = Template::new(algorithm, usages);
        let template = Template { is_persistent: true, name: name.into(), ..template };
        client.call(&KeyGenerate { template: &template }).expect("the device makes keys");
    }
}

/// The provider, loaded once. It finds its broker by the environment.
fn provider() -> (*const c_void, *const Dispatch) {
    static CORE: [Dispatch; 2] = [Dispatch(42, read as *const c_void), Dispatch(0, null())];
    static LOADED: OnceLock<(usize, usize)> = OnceLock::new();
    let (context, functions) = *LOADED.get_or_init(|| {
        let (mut functions, mut context) = (null(), null());
        // SAFETY: the table ends, and the others are places.
        let loaded = unsafe {
            selvedge_openssl::OSSL_provider_init(null(), CORE.as_ptr().cast(), &mut functions, &mut context)
        };
        assert_eq!(loaded, 1);
        (context as usize, functions as usize)
    });
    (context as *const c_void, functions as *const Dispatch)
}

/// The function of a number in a table, as what it is.
fn function<F: Copy>(table: *const Dispatch, number: c_int) -> Option<F> {
    for index in 0.. {
        // SAFETY: a table ends with zero.
        let row = unsafe { &*table.add(index) };
        match row.0 {
            0 => return None,
            // SAFETY: the number says what it is; a function's pointer is as long as another.
            found if found == number => return Some(unsafe { std::mem::transmute_copy::<_, F>(&row.1) }),
            _ => {}
        }
    }
    None
}

/// What the input says next.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn bytes(&mut self) -> Vec<u8> {
        let count = match self.byte() {
            length @ 0..100 => usize::from(length % 20),
            length @ 100..200 => [16, 24, 32, 12][usize::from(length % 4)],
            _ => return VALUES[usize::from(self.byte()) % VALUES.len()].to_vec(),
        };
        let taken = count.min(self.0.len());
        let (bytes, rest) = self.0.split_at(taken);
        self.0 = rest;
        [bytes, &vec![7; count - taken]].concat()
    }

    fn params(&mut self) -> Params {
        let mut params = Params { list: Vec::new(), values: Vec::new() };
        for _ in 0..self.byte() % 3 {
            let key = NAMES[usize::from(self.byte()) % NAMES.len()].as_ptr();
            let kind = [1, 2, 4, 5, 6][usize::from(self.byte()) % 5];
            let mut value = match self.byte() % 4 {
                0 => u32::from(self.byte()).to_ne_bytes().to_vec(),
                _ => self.bytes(),
            };
            // Room for a pointer is not measured by its size.
            let size = if kind == 6 { 8 } else { value.len() };
            value.resize(size, 0);
            value.extend(GUARD);
            let data = if self.byte().is_multiple_of(8) { null_mut() } else { value.as_mut_ptr().cast() };
            params.list.push(Param { key, kind, data, size, returned: usize::MAX });
            params.values.push(value);
        }
        params.list.push(Param { key: null(), kind: 0, data: null_mut(), size: 0, returned: 0 });
        params
    }
}

struct Params {
    list: Vec<Param>,
    values: Vec<Vec<u8>>,
}

impl Params {
    fn start(&mut self) -> *mut Param {
        self.list.as_mut_ptr()
    }
}

impl Drop for Params {
    fn drop(&mut self) {
        assert!(self.values.iter().all(|value| value.ends_with(&GUARD)), "it wrote behind the end");
    }
}

/// A buffer with a guard behind it.
struct Place(Vec<u8>, usize);

impl Place {
    fn new(input: &mut Input<'_>) -> Place {
        let room = usize::from(input.byte());
        Place([&vec![0; room][..], &GUARD].concat(), room)
    }

    fn start(&mut self) -> *mut u8 {
        if self.1 == 0 { null_mut() } else { self.0.as_mut_ptr() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        assert!(self.0.ends_with(&GUARD), "it wrote behind the end");
    }
}

type Any = *mut c_void;
type New = unsafe extern "C" fn(*const c_void, *const c_char) -> Any;
type Of = unsafe extern "C" fn(Any) -> Any;
type WithParams = unsafe extern "C" fn(Any, *mut Param) -> c_int;
type Start = unsafe extern "C" fn(Any, *const u8, usize, *const u8, usize, *mut Param) -> c_int;
type StartSkey = unsafe extern "C" fn(Any, Any, *const u8, usize, *mut Param) -> c_int;
type Work = unsafe extern "C" fn(Any, *mut u8, *mut usize, usize, *const u8, usize) -> c_int;
type Finish = unsafe extern "C" fn(Any, *mut u8, *mut usize, usize) -> c_int;
type Update = unsafe extern "C" fn(Any, *const u8, usize) -> c_int;
type InitMac = unsafe extern "C" fn(Any, *const u8, usize, *mut Param) -> c_int;
type Init = unsafe extern "C" fn(Any, Any, *mut Param) -> c_int;
type Both = unsafe extern "C" fn(Any, Any) -> c_int;
type Check = unsafe extern "C" fn(Any, *const u8, usize, *const u8, usize) -> c_int;
type Derive = unsafe extern "C" fn(Any, *mut u8, usize, *mut Param) -> c_int;
type Import = unsafe extern "C" fn(Any, c_int, *mut Param) -> c_int;
type ImportSkey = unsafe extern "C" fn(*const c_void, c_int, *mut Param) -> Any;
type Generate = unsafe extern "C" fn(*const c_void, *mut Param) -> Any;
type Export =
    unsafe extern "C" fn(Any, c_int, unsafe extern "C" fn(*const Param, Any) -> c_int, Any) -> c_int;
type Compare = unsafe extern "C" fn(Any, Any, c_int) -> c_int;
type Decode = unsafe extern "C" fn(
    Any,
    *mut Stream<'_>,
    c_int,
    unsafe extern "C" fn(*const Param, Any) -> c_int,
    Any,
    Any,
    Any,
) -> c_int;
type Load =
    unsafe extern "C" fn(Any, unsafe extern "C" fn(*const Param, Any) -> c_int, Any, Any, Any) -> c_int;

/// Calls the function of this number in the table, if there is one there.
macro_rules! call {
    ($table:expr, $number:expr, $kind:ty, $($argument:expr),*) => {
        // SAFETY: every pointer is null, or to what is as long as is said.
        function::<$kind>($table, $number).map(|function| unsafe { function($($argument),*) })
    };
}

/// Everything that the bytes say.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    while !input.0.is_empty() {
        let operation =
            [1, 2, 2, 2, 3, 3, 4, 4, 10, 11, 12, 13, 15, 21, 21, 22][usize::from(input.byte()) % 16];
        let (context, functions) = provider();
        let query: unsafe extern "C" fn(*const c_void, c_int, *mut c_int) -> *const Algorithm =
            function(functions, 1027).expect("it answers queries");
        // SAFETY: its own context.
        let algorithms = unsafe { query(context, operation, &mut 0) };
        let mut tables = Vec::new();
        // SAFETY: the list ends.
        let next = |at: usize| unsafe { &*algorithms.add(at) };
        while !next(tables.len()).names.is_null() {
            let one = next(tables.len());
            assert!(one.description.is_null() && !one.properties.is_null());
            tables.push(one.functions);
        }
        let table = tables[usize::from(input.byte()) % tables.len()];
        match operation {
            15 => object(&mut input, table, context),
            21 => file(&mut input, table, context),
            22 => uri(&mut input, table, context),
            10 => pair(&mut input, table, context),
            _ => work(&mut input, operation, table, context),
        }
    }
}

/// A context of a digest, a cipher, a MAC, a derivation, an exchange, a signature or a decryption.
fn work(input: &mut Input<'_>, operation: c_int, table: *const Dispatch, context: *const c_void) {
    // Numbers of: free, dup, get and set parameters.
    let [free, copy, get, set] = match operation {
        1 => [6, 7, 0, 0],
        2 => [7, 8, 10, 11],
        3 => [3, 2, 8, 9],
        4 => [3, 2, 10, 11],
        11 => [5, 6, 9, 7],
        13 => [6, 7, 8, 10],
        _ => [16, 17, 18, 20],
    };
    let mut this = call!(table, 1, New, context, null()).expect("it makes contexts");
    for _ in 0..input.byte() % 12 {
        let (mut params, mut place, bytes, iv) =
            (input.params(), Place::new(input), input.bytes(), input.bytes());
        let (start, room, list) = (place.start(), place.1, params.start());
        let (from, length, mut made) = (bytes.as_ptr(), bytes.len(), 0);
        let number = input.byte() % 7;
        match (operation, number) {
            (_, 0) => {
                let copy = call!(table, copy, Of, this).unwrap_or(null_mut());
                if !copy.is_null() {
                    call!(table, free, Of, std::mem::replace(&mut this, copy));
                }
            }
            (_, 1) => drop(call!(table, get, WithParams, this, list)),
            (_, 2) => drop(call!(table, set, WithParams, this, list)),
            (1, 3) => drop(call!(table, 2, WithParams, this, list)),
            (1, 4) => drop(call!(table, 4, Finish, this, start, &mut made, room)),
            (1, _) => drop(call!(table, 3, Update, this, from, length)),
            (2, 3 | 4) => {
                let number = c_int::from(number) - 1;
                call!(table, number, Start, this, from, length, iv.as_ptr(), iv.len(), list);
            }
            (2, 5) => drop(call!(table, 4, Work, this, start, &mut made, room, from, length)),
            (2, _) => drop(call!(table, 5, Finish, this, start, &mut made, room)),
            (3, 3) => drop(call!(table, 4, InitMac, this, from, length, list)),
            (3, 4) => drop(call!(table, 6, Finish, this, start, &mut made, room)),
            (3, _) => drop(call!(table, 5, Update, this, from, length)),
            (4, 3) => drop(call!(table, 4, Of, this)),
            (4, _) => drop(call!(table, 5, Derive, this, start, room, list)),
            (11, 3) => drop(call!(table, 2, Init, this, null_mut(), list)),
            (11, 4) => drop(call!(table, 4, Both, this, null_mut())),
            (11, _) => drop(call!(table, 3, Finish, this, start, &mut made, room)),
            (13, 3) => drop(call!(table, 4, Init, this, null_mut(), list)),
            (13, _) => drop(call!(table, 5, Work, this, start, &mut made, room, from, length)),
            (12, 3) if input.byte().is_multiple_of(2) => drop(call!(table, 4, Init, this, null_mut(), list)),
            (12, 6) if input.byte().is_multiple_of(2) => {
                call!(table, 5, Check, this, from, length, iv.as_ptr(), iv.len());
                call!(table, 14, Update, this, from, length);
            }
            // Without a key of the store's nothing is signed; it must be said so.
            (_, 3) => drop(call!(table, 2, Init, this, null_mut(), list)),
            (_, 4) => drop(call!(table, 9, Update, this, from, length)),
            (_, 5) => drop(call!(table, 10, Finish, this, start, &mut made, room)),
            (_, _) => drop(call!(table, 3, Work, this, start, &mut made, room, from, length)),
        }
        assert!(made <= room.max(length), "it says that it made more than there is room for");
    }
    call!(table, free, Of, this);
}

/// A secret key, and a cipher of AES-256 under it.
fn object(input: &mut Input<'_>, table: *const Dispatch, context: *const c_void) {
    let mut params = input.params();
    // A key with a name would stay.
    let is_named = params.list.iter().any(|param| param.key == NAMES[0].as_ptr());
    let key = match input.byte().is_multiple_of(4) && !is_named {
        true => call!(table, 4, Generate, context, params.start()),
        false => call!(table, 2, ImportSkey, context, 3, params.start()),
    };
    let key = key.unwrap_or(null_mut());
    call!(table, 5, Of, key);
    let query: unsafe extern "C" fn(*const c_void, c_int, *mut c_int) -> *const Algorithm =
        function(provider().1, 1027).expect("it answers queries");
    // SAFETY: its own context; there are as many ciphers.
    let cipher = unsafe { &*query(context, 2, &mut 0).add(usize::from(input.byte()) % 15) }.functions;
    let this = call!(cipher, 1, New, context, null()).expect("it makes contexts");
    let (iv, mut params) = (input.bytes(), input.params());
    call!(cipher, 19, StartSkey, this, key, iv.as_ptr(), iv.len(), params.start());
    call!(table, 1, Of, key);
    let (bytes, mut place, mut made) = (input.bytes(), Place::new(input), 0);
    call!(cipher, 4, Work, this, place.start(), &mut made, place.1, bytes.as_ptr(), bytes.len());
    call!(cipher, 7, Of, this);
}

/// A file, which may name a key.
fn file(input: &mut Input<'_>, table: *const Dispatch, context: *const c_void) {
    let mut file = match input.byte() % 3 {
        0 => input.bytes(),
        1 => FILE.to_vec(),
        _ => b"\x0c\x0fselvedge:fuzzed".to_vec(),
    };
    for _ in 0..input.byte() % 4 {
        let (place, byte) = (usize::from(input.byte()), input.byte());
        if let Some(changed) = file.get_mut(place) {
            *changed = byte;
        }
    }
    file.truncate(usize::from(input.byte()).max(1));
    let this = call!(table, 1, New, context, null()).expect("it makes contexts");
    let wants = if input.byte().is_multiple_of(2) { null_mut() } else { this };
    call!(table, 11, Decode, this, &mut Stream(&file), 0, take, wants, null_mut(), null_mut());
    call!(table, 2, Of, this);
}

/// A URI, which may be one of a key.
fn uri(input: &mut Input<'_>, table: *const Dispatch, context: *const c_void) {
    let scheme: &[u8] = if input.byte().is_multiple_of(4) { b"" } else { b"selvedge:" };
    let mut uri = [scheme, &input.bytes()].concat();
    uri.retain(|byte| *byte != 0);
    let uri = CString::new(uri).expect("there is no zero");
    let this = call!(table, 1, New, context, uri.as_ptr()).unwrap_or(null_mut());
    let wants = if input.byte().is_multiple_of(2) { null_mut() } else { this };
    call!(table, 5, Load, this, take, wants, null_mut(), null_mut());
    call!(table, 5, Load, this, take, wants, null_mut(), null_mut());
    call!(table, 6, Of, this);
    call!(table, 7, Of, this);
}

/// The public half of anybody's pair.
fn pair(input: &mut Input<'_>, table: *const Dispatch, context: *const c_void) {
    let pairs = [(); 2].map(|()| call!(table, 1, New, context, null()).expect("it makes pairs"));
    for this in pairs {
        call!(table, 40, Import, this, 0x86, input.params().start());
        call!(table, 11, WithParams, this, input.params().start());
        call!(table, 42, Export, this, c_int::from(input.byte()), take, this);
        call!(table, 21, Import, this, c_int::from(input.byte()), null_mut());
    }
    call!(table, 23, Compare, pairs[0], pairs[1], 0);
    for this in pairs {
        call!(table, 10, Of, this);
    }
}
