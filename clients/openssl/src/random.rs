//! Random bytes of the device, for `RAND_bytes` where the configuration says `random = SELVEDGE-RAND`. It has no seed and no
//! state, so whoever wants to seed it is content.

use std::ffi::{c_int, c_uchar, c_uint, c_void};
use std::sync::Arc;

use broker::client::call::Random;

use crate::abi::{
    Algorithm, Dispatch, END, Failed, Param, Provider, each, free, guard, make, out, provider, trust,
};
use crate::digest::PART_BYTES;

/// What AES-256 wants, in bits.
const STRENGTH_BITS: usize = 256;
/// `EVP_RAND_STATE_UNINITIALISED` and `EVP_RAND_STATE_READY`.
const STATES: [usize; 2] = [0, 1];

struct Source {
    provider: Arc<Provider>,
    is_ready: bool,
}

unsafe extern "C" fn new(
    context: *const Provider,
    _parent: *mut c_void,
    _functions: *const Dispatch,
) -> *mut Source {
    make(|| Ok(Source { provider: trust!(provider(context))?, is_ready: false }))
}

unsafe extern "C" fn delete(this: *mut Source) {
    trust!(free(this));
}

unsafe extern "C" fn begin(
    this: *mut Source,
    _strength: c_uint,
    _resists: c_int,
    _text: *const c_uchar,
    _length: usize,
    _params: *const Param,
) -> c_int {
    guard(|| {
        trust!(out(this))?.is_ready = true;
        Ok(())
    })
}

unsafe extern "C" fn end(this: *mut Source) -> c_int {
    guard(|| {
        trust!(out(this))?.is_ready = false;
        Ok(())
    })
}

unsafe extern "C" fn generate(
    this: *mut Source,
    start: *mut u8,
    length: usize,
    strength: c_uint,
    _resists: c_int,
    _more: *const c_uchar,
    _more_bytes: usize,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        if strength as usize > STRENGTH_BITS || (start.is_null() && length > 0) {
            return Err(Failed);
        }
        let mut done = 0;
        while done < length {
            let count_bytes = (length - done).min(PART_BYTES) as u32;
            let random = this.provider.call(&Random { count_bytes })?;
            // SAFETY: OpenSSL says that there is so much room.
            unsafe { std::ptr::copy_nonoverlapping(random.as_ptr(), start.add(done), random.len()) };
            done += random.len();
        }
        Ok(())
    })
}

unsafe extern "C" fn reseed(
    _this: *mut Source,
    _resists: c_int,
    _seed: *const c_uchar,
    _seed_bytes: usize,
    _more: *const c_uchar,
    _more_bytes: usize,
) -> c_int {
    1
}

/// A source is asked by any thread at a time.
extern "C" fn lock(_this: *mut Source) -> c_int {
    1
}

extern "C" fn unlock(_this: *mut Source) {}

unsafe extern "C" fn get(this: *mut Source, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| match key {
            b"state" => param.set(STATES[usize::from(this.is_ready)]),
            b"strength" => param.set(STRENGTH_BITS),
            b"max_request" => param.set(PART_BYTES),
            _ => Ok(()),
        }))
    })
}

static GETTABLE: [Param; 4] =
    [Param::number(c"state"), Param::number(c"strength"), Param::number(c"max_request"), Param::END];

extern "C" fn gettable(_this: *const Source, _context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

static FUNCTIONS: [Dispatch; 12] = [
    Dispatch(1, new as *const c_void),
    Dispatch(2, delete as *const c_void),
    Dispatch(3, begin as *const c_void),
    Dispatch(4, end as *const c_void),
    Dispatch(5, generate as *const c_void),
    Dispatch(6, reseed as *const c_void),
    Dispatch(8, lock as *const c_void),
    Dispatch(9, lock as *const c_void),
    Dispatch(10, unlock as *const c_void),
    Dispatch(12, gettable as *const c_void),
    Dispatch(15, get as *const c_void),
    END,
];

/// The source.
pub static ALGORITHMS: [Algorithm; 2] = [Algorithm::new(c"SELVEDGE-RAND", &FUNCTIONS), Algorithm::END];
