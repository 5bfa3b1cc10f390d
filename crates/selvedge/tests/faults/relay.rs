//! A relay between a broker and its device, which takes down every nonce that the device has sealed under.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use broker::stream::{Decoder, Framing};
use broker::wire::{Operation, Pdu, Status};

/// What the device has answered, in all of its lives.
#[derive(Default)]
pub struct Sealed {
    /// Whatever the key: each begins with eight random bytes, so that two keys do not share one either.
    pub nonces: BTreeSet<Vec<u8>>,
    /// Nonces that had been there before.
    pub repeated: Vec<Vec<u8>>,
    /// Connections that the broker has made.
    pub openings: usize,
}

pub struct Relay(Arc<Mutex<Sealed>>);

impl Relay {
    /// Listens on `path`, and passes on to whoever listens on `device` just then.
    pub fn start(path: &Path, device: PathBuf) -> Relay {
        let listener = UnixListener::bind(path).expect("a socket");
        let sealed = Arc::<Mutex<Sealed>>::default();
        let relay = Relay(Arc::clone(&sealed));
        thread::spawn(move || {
            while let Ok((broker, _)) = listener.accept() {
                // Without a device the broker's connection ends, as it would have.
                let Ok(device) = UnixStream::connect(&device) else { continue };
                sealed.lock().unwrap().openings += 1;
                let (up, down) = (device.try_clone().unwrap(), broker.try_clone().unwrap());
                thread::spawn(move || pass(broker, up, |_| {}));
                let sealed = Arc::clone(&sealed);
                thread::spawn(move || {
                    let mut decoder = Decoder::new(Framing::Checked);
                    pass(device, down, |mut bytes| {
                        while let Some(answer) = decoder.next(&mut bytes).expect("a device's answers") {
                            sealed.lock().unwrap().take(&answer);
                        }
                    });
                });
            }
        });
        relay
    }

    pub fn sealed(&self) -> MutexGuard<'_, Sealed> {
        self.0.lock().expect("no thread panics")
    }
}

impl Sealed {
    fn take(&mut self, answer: &Pdu) {
        if answer.operation() == Ok(Operation::SealAes256Gcm) && answer.status() == Ok(Status::Done) {
            let nonce = answer.payload()[..12].to_vec();
            if !self.nonces.insert(nonce.clone()) {
                self.repeated.push(nonce);
            }
        }
    }
}

/// Looks at bytes before they are passed on, until one side hangs up, and then the other has to.
fn pass(mut from: UnixStream, mut to: UnixStream, mut look: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read_bytes @ 1..) = from.read(&mut buffer) {
        look(&buffer[..read_bytes]);
        if to.write_all(&buffer[..read_bytes]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
