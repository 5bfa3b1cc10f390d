//! Equation 7: a waveform on its way. Samples become bytes, bytes ciphertext, ciphertext goes over a TCP connection
//! of the loopback interface to another thread, which decrypts and converts back. Each term is measured on each
//! waveform, so that the five of them are the whole.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use collect::aes::Block;
use collect::aes::intra::{Direction, Split, Version};
use collect::convert::{ByteOrder, Convert, Sample, from_bytes, to_bytes};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::cells::{Cell, How, Input, Part, SAMPLES, Width};
use super::class::Class;
use super::measure::{Crypt, Material, refused, with_crypt};
use super::statistics::Spread;
use super::watch::Effort;

/// A type of samples on the wire; the program computes in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// 32 bits of floating point.
    F32,
    /// 64 bits of floating point.
    F64,
    /// 16-bit integers.
    I16,
    /// 32-bit integers.
    I32,
}

/// A kind of waveform, how it is sealed, and in which class both ends are.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What is on the wire.
    pub wire: Wire,
    /// In which order.
    pub order: ByteOrder,
    /// AES by the paper's `Basic`, or today's.
    pub how: How,
    /// The class of both threads.
    pub class: Class,
}

/// What the terms of a case are called, in their order; the last is their sum.
pub const TERMS: [&str; 6] = ["t_conv", "t_enc", "t_net", "t_dec", "t_conv back", "t_ovr"];

/// A case with the spread of each of [`TERMS`], or why there is none.
pub struct Result {
    /// Which.
    pub case: Case,
    /// What.
    pub found: std::result::Result<[Spread; TERMS.len()], String>,
}

impl Wire {
    /// Its name in rows.
    pub fn words(self) -> &'static str {
        match self {
            Wire::F32 => "f32",
            Wire::F64 => "f64",
            Wire::I16 => "i16",
            Wire::I32 => "i32",
        }
    }
}

/// How an order is called.
pub fn order_words(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    }
}

impl Case {
    /// All of them.
    pub fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for class in [Class::Fifo, Class::Other] {
            for how in [How::Paper(Version::Basic, Split::Steps), How::Lanes] {
                for wire in [Wire::F32, Wire::F64, Wire::I16, Wire::I32] {
                    let orders = [ByteOrder::Little, ByteOrder::Big];
                    cases.extend(orders.map(|order| Case { wire, order, how, class }));
                }
            }
        }
        cases
    }

    /// Its name in rows.
    pub fn name(&self) -> String {
        let Case { wire, order, how, class } = self;
        let (wire, order) = (wire.words(), order_words(*order));
        format!("{SAMPLES} samples as {wire}, {order}, AES-128, {}, {}", how.words(), class.name())
    }

    fn cell(&self) -> Cell {
        // What matters of it is that it is a waveform.
        let input = Input::Waveform { samples: SAMPLES, width: Width::F32 };
        Cell { part: Part::Path, input, key_bytes: 16, how: self.how, class: self.class }
    }
}

/// Measures a case.
///
/// # Panics
/// When other samples arrive than were sent.
pub fn path(case: &Case, material: &Material, effort: &Effort) -> Result {
    let found = match case.wire {
        Wire::F32 => send::<f32>(case, material, effort),
        Wire::F64 => send::<f64>(case, material, effort),
        Wire::I16 => send::<i16>(case, material, effort),
        Wire::I32 => send::<i32>(case, material, effort),
    };
    Result { case: *case, found: found.map_err(|error| refused(&error)) }
}

/// A sine of ten periods with noise, in steps of a converter of 16 bits.
fn samples() -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut noise = || f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5;
    let angle = |at: usize| std::f64::consts::TAU * 10.0 * at as f64 / SAMPLES as f64;
    (0..SAMPLES).map(|at| 30_000.0 * angle(at).sin() + 10.0 * noise()).collect()
}

/// When the receiver had a waveform whole, decrypted, and converted.
type Stamps = [Instant; 3];

fn send<T>(case: &Case, material: &Material, effort: &Effort) -> io::Result<[Spread; TERMS.len()]>
where
    T: Sample + Convert<f64>,
    f64: Convert<T>,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let there = TcpStream::connect(listener.local_addr()?)?;
    let (here, _) = listener.accept()?;
    there.set_nodelay(true)?;
    let samples = samples();
    thread::scope(|scope| {
        let (report, reports) = channel();
        let samples = &samples;
        let receiver = scope.spawn(move || receive::<T>(case, material, here, samples, &report));
        let sender = scope.spawn(move || {
            with_crypt(&case.cell(), material, |crypt| {
                let mut sent = Sent { case, samples, there, reports };
                sent.turns::<T>(crypt, effort)
            })
        });
        let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // A receiver that was refused its class says why; the sender sees only that it has gone.
        receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        sent?
    })
}

/// The sender's end.
struct Sent<'a> {
    case: &'a Case,
    samples: &'a [f64],
    there: TcpStream,
    reports: Receiver<Stamps>,
}

impl Sent<'_> {
    fn turns<T>(&mut self, crypt: &mut Crypt, effort: &Effort) -> io::Result<[Spread; TERMS.len()]>
    where
        T: Sample,
        f64: Convert<T>,
    {
        let mut blocks = vec![Block::default(); SAMPLES * size_of::<T>() / size_of::<Block>()];
        let mut terms: [Vec<f64>; TERMS.len()] = Default::default();
        self.turn::<T>(crypt, &mut blocks)?;
        let begin = Instant::now();
        while terms[0].len() < effort.turns_min
            || (terms[0].len() < effort.turns_max && begin.elapsed() < effort.time)
        {
            let times = self.turn::<T>(crypt, &mut blocks)?;
            terms.iter_mut().zip(times).for_each(|(term, time)| term.push(time.as_nanos() as f64));
        }
        Ok(terms.map(Spread::of))
    }

    /// One waveform.
    fn turn<T>(&mut self, crypt: &mut Crypt, blocks: &mut [Block]) -> io::Result<[Duration; TERMS.len()]>
    where
        T: Sample,
        f64: Convert<T>,
    {
        let begin = Instant::now();
        to_bytes::<f64, T>(self.samples, self.case.order, blocks.as_flattened_mut());
        let converted = Instant::now();
        crypt(Direction::Encrypt, blocks);
        let encrypted = Instant::now();
        self.there.write_all(blocks.as_flattened())?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let [whole, decrypted, back] = self.reports.recv().map_err(|_| gone())?;
        Ok([
            converted - begin,
            encrypted - converted,
            whole - encrypted,
            decrypted - whole,
            back - decrypted,
            back - begin,
        ])
    }
}

/// The receiver's end, until the sender closes.
fn receive<T>(
    case: &Case,
    material: &Material,
    mut here: TcpStream,
    samples: &[f64],
    report: &Sender<Stamps>,
) -> io::Result<()>
where
    T: Sample + Convert<f64>,
    f64: Convert<T>,
{
    let expected: Vec<f64> = samples.iter().map(|&sample| Convert::<T>::convert(sample).convert()).collect();
    let mut blocks = vec![Block::default(); SAMPLES * size_of::<T>() / size_of::<Block>()];
    let mut arrived = vec![0.0; SAMPLES];
    with_crypt(&case.cell(), material, |crypt| {
        loop {
            match here.read_exact(blocks.as_flattened_mut()) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                read => read?,
            }
            let whole = Instant::now();
            crypt(Direction::Decrypt, &mut blocks);
            let decrypted = Instant::now();
            from_bytes::<T, f64>(blocks.as_flattened(), case.order, &mut arrived);
            let back = Instant::now();
            assert!(arrived == expected, "{}: other samples arrived", case.name());
            if report.send([whole, decrypted, back]).is_err() {
                return Ok(());
            }
        }
    })?
}
