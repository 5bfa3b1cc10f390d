//! A PKCS#11 module as the device, on a thread of its own: a module's calls wait, and some for long.
//!
//! The module is loaded into the broker's process once, and initialized at each opening: that brings back a token that was
//! pulled out, or a TPM whose service was started anew. The PIN is read from its file then, and is nowhere else.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::types::AuthPin;
use zeroize::Zeroizing;

use super::Connect;
use crate::engine::{Engine, ModuleEngine};
use crate::limits::READ_BYTES;
use crate::stream::{Decoder, Framing};
use crate::wiped::{Wiped, wipe};

/// The token of this label behind a module.
pub struct ModuleDevice {
    place: Place,
    /// Locked while the module is initialized.
    module: Arc<Mutex<Option<Pkcs11>>>,
    /// What ended the last opening, if the broker did not.
    fault: Arc<Mutex<Option<String>>>,
}

#[derive(Clone)]
struct Place {
    module: PathBuf,
    token: String,
    pin_file: PathBuf,
}

impl ModuleDevice {
    /// The token `token` behind the shared library `module`, with the PIN that is the first line of `pin_file`, which
    /// nobody but its owner may read.
    pub fn new(module: PathBuf, token: String, pin_file: PathBuf) -> ModuleDevice {
        let place = Place { module, token, pin_file };
        ModuleDevice { place, module: Arc::default(), fault: Arc::default() }
    }
}

impl Connect for ModuleDevice {
    fn connect(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (place, module, fault) = (self.place.clone(), self.module.clone(), self.fault.clone());
        thread::Builder::new().name("pkcs11".into()).spawn(move || {
            let told = serve(theirs, &place, &module).err();
            *fault.lock().unwrap_or_else(PoisonError::into_inner) = told;
        })?;
        Ok(ours.into())
    }

    fn name(&self) -> String {
        let Place { module, token, .. } = &self.place;
        match &*self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(fault) => format!("{}, token {token} ({fault})", module.display()),
            None => format!("{}, token {token}", module.display()),
        }
    }
}

/// Is the device until the broker or the token ends. The broker sees that when another opening has a chance: `stream` is
/// closed last. The error is for the operator.
fn serve(stream: UnixStream, place: &Place, module: &Mutex<Option<Pkcs11>>) -> Result<(), String> {
    // A call that never returns costs one thread, and not one for each attempt.
    let mut module = match module.try_lock() {
        Ok(module) => module,
        Err(TryLockError::WouldBlock) => return Err("an earlier call has not returned".to_owned()),
        Err(TryLockError::Poisoned(poisoned)) => {
            // A thread that panicked has not finalized it.
            let module = poisoned.into_inner();
            if let Some(loaded) = &*module {
                let _ = loaded.clone().finalize();
            }
            module
        }
    };
    let loaded = match &mut *module {
        Some(loaded) => loaded.clone(),
        none => none.insert(Pkcs11::new(&place.module).map_err(|error| error.to_string())?).clone(),
    };
    let locking = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
    loaded.initialize(locking).map_err(|error| error.to_string())?;
    let served = open(&loaded, place).and_then(|mut engine| answer_all(&stream, &mut engine));
    let finalized = loaded.finalize().map_err(|error| error.to_string());
    served.and(finalized)
}

fn open(module: &Pkcs11, place: &Place) -> Result<ModuleEngine, String> {
    let pin = pin(&place.pin_file)?;
    let slots = module.get_slots_with_token().map_err(|error| error.to_string())?;
    let is_it = |slot| module.get_token_info(slot).is_ok_and(|token| token.label().trim() == place.token);
    let slot = slots.into_iter().find(|slot| is_it(*slot));
    let slot = slot.ok_or_else(|| format!("found no token `{}`", place.token))?;
    ModuleEngine::open(module, slot, &pin).map_err(|error| error.to_string())
}

fn pin(path: &Path) -> Result<AuthPin, String> {
    let failed = |error: io::Error| format!("cannot read `{}`: {error}", path.display());
    let mut file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        let found = mode & 0o777;
        return Err(format!("found `{}` with mode {found:o}, expected 600", path.display()));
    }
    let mut text = Zeroizing::new(String::with_capacity(256));
    file.read_to_string(&mut text).map_err(failed)?;
    Ok(AuthPin::from(text.lines().next().unwrap_or_default()))
}

/// Answers one request after the other.
fn answer_all(mut stream: &UnixStream, engine: &mut ModuleEngine) -> Result<(), String> {
    engine.opened();
    let failed = |error: io::Error| error.to_string();
    let (mut decoder, mut buffer) = (Decoder::new(Framing::Checked), Wiped::new(vec![0; READ_BYTES]));
    loop {
        let read_bytes = stream.read(&mut buffer).map_err(failed)?;
        if read_bytes == 0 {
            return Ok(());
        }
        let mut input = &buffer[..read_bytes];
        while let Some(request) = decoder.next(&mut input).map_err(|broken| broken.fault.to_string())? {
            let answer = engine.execute(&request);
            // The broker repeats what may be, on the next opening, and says of the rest that it was lost.
            if let Some(lost) = engine.lost() {
                return Err(lost.to_owned());
            }
            if let Some(answer) = answer {
                stream.write_all(answer.bytes()).map_err(failed)?;
                stream.write_all(&answer.crc()).map_err(failed)?;
            }
        }
        wipe(&mut buffer[..read_bytes]);
    }
}
