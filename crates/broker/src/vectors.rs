//! Official vectors through a broker's socket: NIST's, Wycheproof's and those of RFCs, for every operation.
//!
//! Owns which operations a kind of vector asks, and how many of each source passed. What is asked is
//! `data/vectors/official.kat.gz`, which also says what was left out of each file and why; nothing is left out here but
//! what a device cannot be asked because it was not given a key. `symmetric` and `asymmetric` ask one vector each.
//!
//! A vector that must be refused and is refused has passed. The keys are imported, used and destroyed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use cipher::vectors::{Block, blocks, official};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::engine::{NamedKey, Purpose, SoftwareEngine};
use crate::error::Error;
use crate::limits::{CONTEXTS_PER_CONNECTION_MAX, VECTOR_CONNECTIONS};
use crate::template::{Algorithm, Grant, Grantee, Template, Usages};
use crate::wire::{Operation, Status};

mod asking;
mod asymmetric;
mod symmetric;

use asking::Asking;

macro_rules! kinds {
    ($($kind:ident $name:literal $algorithm:literal [$($operation:ident)*])*) => {
        /// What a vector is a vector of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Kind { $($kind,)* }

        impl Kind {
            fn from_name(name: &str) -> Option<Kind> {
                match name { $($name => Some(Kind::$kind),)* _ => None }
            }

            fn algorithm(self) -> &'static str {
                match self { $(Kind::$kind => $algorithm,)* }
            }

            /// Of which operations the vectors that were left out would be.
            fn operations(self) -> &'static [Operation] {
                match self { $(Kind::$kind => &[$(Operation::$operation),*],)* }
            }
        }
    };
}

#[rustfmt::skip]
kinds! {
  // kind            in the file          algorithm             operations
    Ecb              "ecb"                "AES-ECB"             [Encrypt Decrypt]
    Cbc              "cbc"                "AES-CBC"             [Encrypt Decrypt]
    CbcPadded        "cbc-padded"         "AES-CBC, padded"     [Encrypt Decrypt]
    Ctr              "ctr"                "AES-CTR"             [Encrypt Decrypt]
    Gcm              "gcm"                "AES-GCM"             [Seal Open]
    Ccm              "ccm"                "AES-CCM"             [Seal Open]
    Ascon            "ascon"              "Ascon-AEAD128"       [Seal Open]
    Sha2             "sha-2"              "SHA-2"               [Hash]
    Sha2Monte        "sha-2-monte"        "SHA-2, Monte Carlo"  [Hash]
    Cmac             "cmac"               "CMAC"                [Mac MacVerify]
    Hmac             "hmac"               "HMAC"                [Mac MacVerify]
    Hkdf             "hkdf"               "HKDF"                [Derive]
    Ecdsa            "ecdsa"              "ECDSA, P-256"        [Verify]
    EcdsaSign        "ecdsa-sign"         "ECDSA, P-256"        [Sign]
    Ed25519          "ed25519"            "Ed25519"             [Verify]
    Ed25519Sign      "ed25519-sign"       "Ed25519"             [Sign]
    RsaPkcs1         "rsa-pkcs1"          "RSA, PKCS#1 v1.5"    [Verify]
    RsaPkcs1Sign     "rsa-pkcs1-sign"     "RSA, PKCS#1 v1.5"    [Sign]
    RsaPss           "rsa-pss"            "RSA, PSS"            [Verify]
    RsaPssSign       "rsa-pss-sign"       "RSA, PSS"            [Sign]
    RsaOaep          "rsa-oaep"           "RSA, OAEP"           [RsaDecrypt]
    RsaPkcs1Decrypt  "rsa-pkcs1-decrypt"  "RSA, PKCS#1 v1.5"    [RsaDecrypt]
    Ecdh             "ecdh"               "ECDH, P-256"         [Agree]
    X25519           "x25519"             "X25519"              [Agree]
    P256             "p-256"              "P-256"               [KeyPublic]
    P256Public       "p-256-public"       "P-256"               [KeyImport]
    Kwp              "kwp"                "AES-KWP"             [KeyWrap KeyUnwrap]
    KwpUnwrap        "kwp-unwrap"         "AES-KWP"             [KeyUnwrap]
}

/// Why an operation is in no file of vectors, so that the compiler asks it of each further one.
fn without_vectors(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::Random => "its answers cannot be known; nobody publishes vectors",
        Operation::SealAes256Gcm => "the nonce is the device's; what it answers is opened in the tests",
        Operation::KeyGenerate => "the key is the device's secret",
        Operation::KeyAttest => "the statement is ours; nobody else's vectors fit it",
        Operation::Info
        | Operation::FindKey
        | Operation::Echo
        | Operation::Cancel
        | Operation::KeyDestroy
        | Operation::KeyList
        | Operation::KeyAttributes => "it computes nothing that a standard defines",
        Operation::Introduce | Operation::Leave | Operation::Status => "it is the broker's own",
        Operation::OpenAes256Gcm
        | Operation::Encrypt
        | Operation::Decrypt
        | Operation::Seal
        | Operation::Open
        | Operation::Hash
        | Operation::Mac
        | Operation::MacVerify
        | Operation::Derive
        | Operation::Sign
        | Operation::Verify
        | Operation::Agree
        | Operation::RsaDecrypt
        | Operation::Begin
        | Operation::Update
        | Operation::Finish
        | Operation::KeyImport
        | Operation::KeyWrap
        | Operation::KeyUnwrap
        | Operation::KeyPublic => return None,
    })
}

/// Which vectors are asked.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Those of this operation; of all, if none is named.
    pub operation: Option<Operation>,
    /// Those of this source.
    pub source: Option<String>,
}

impl Wanted {
    fn wants(&self, operation: Operation) -> bool {
        let begun = |operation| matches!(operation, Operation::Begin | Operation::Update | Operation::Finish);
        self.operation.is_none_or(|wanted| wanted == operation || begun(wanted) && begun(operation))
    }
}

/// What was asked of whose vectors. Lines are in the order of operations on the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The operation; [`Operation::Begin`] for a message in parts.
    pub operation: Operation,
    /// With what; empty where there are no vectors.
    pub algorithm: &'static str,
    /// Who published them; empty where nobody did.
    pub source: &'static str,
}

impl Line {
    /// What a person calls the operation: a message in parts is begun, updated and finished.
    pub fn called(&self) -> &'static str {
        if self.operation == Operation::Begin { "begin, update, finish" } else { self.operation.name() }
    }
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Vectors whose answer is the published one.
    pub passed: usize,
    /// Those whose answer is not.
    pub failed: usize,
    /// Those that were not asked, by the reason. An operation without vectors has a reason and 0.
    pub skipped: BTreeMap<&'static str, usize>,
}

impl Counts {
    /// Why vectors were not asked, and how many.
    pub fn reasons(&self) -> String {
        let reason = |(why, count): (&&str, &usize)| match count {
            0 => (*why).to_owned(),
            count => format!("{count}: {why}"),
        };
        self.skipped.iter().map(reason).collect::<Vec<_>>().join("; ")
    }
}

/// A vector that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which operation answered.
    pub line: Line,
    /// The publisher's file.
    pub file: &'static str,
    /// The vector's number in it: Wycheproof's `tcId`, of other files how many-eth it is.
    pub number: usize,
    /// What was answered in place of what.
    pub why: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Of each operation, algorithm and source.
    pub lines: BTreeMap<Line, Counts>,
    /// In no order.
    pub failures: Vec<Failure>,
}

/// A vector and where it is from.
struct Vector {
    group: Group,
    block: Block<'static>,
}

#[derive(Clone, Copy)]
struct Group {
    kind: Kind,
    source: &'static str,
    file: &'static str,
}

impl Vector {
    fn number(&self) -> usize {
        self.block.decimal("Id")
    }

    /// What a key is called that a device must have before it is asked.
    fn key_name(&self) -> String {
        format!("{}/{}", self.group.file, self.number())
    }

    fn is_tls_sized(&self) -> bool {
        self.group.kind == Kind::Gcm && self.block.text("Key").is_some_and(|key| key.len() == 64)
    }
}

/// All vectors, and how many of each group were left out and why.
struct Collection {
    vectors: Vec<Vector>,
    left: Vec<(Group, usize, &'static str)>,
}

static COLLECTION: LazyLock<Collection> = LazyLock::new(|| {
    let mut collection = Collection { vectors: Vec::new(), left: Vec::new() };
    let mut group = None;
    for block in blocks(official()) {
        if let Some(kind) = block.text("Kind") {
            let kind = Kind::from_name(kind).unwrap_or_else(|| panic!("there is no kind {kind}"));
            let field = |name| block.text(name).expect("a group has a source and a file");
            group = Some(Group { kind, source: field("Source"), file: field("File") });
            continue;
        }
        let group = group.expect("a group comes before its vectors");
        match block.text("Why") {
            Some(why) => collection.left.push((group, block.decimal("Left"), why)),
            None => collection.vectors.push(Vector { group, block }),
        }
    }
    collection
});

/// All sources.
pub fn sources() -> Vec<&'static str> {
    let mut sources: Vec<_> = COLLECTION.vectors.iter().map(|vector| vector.group.source).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

/// A device with the keys that no application can give it: those that wrap, and those of `open-aes-256-gcm`.
///
/// # Errors
/// As [`SoftwareEngine::new`].
pub fn device() -> Result<SoftwareEngine, Error> {
    let opening = COLLECTION.vectors.iter().filter(|vector| vector.is_tls_sized());
    let named = |vector: &Vector| NamedKey {
        name: vector.key_name(),
        purpose: Purpose::Open,
        key: cipher::Key::copied_from(&vector.block.bytes("Key").try_into().expect("32 bytes")),
    };
    let mut device = SoftwareEngine::new(opening.map(named).collect())?;
    let wraps = |vector: &&Vector| vector.group.kind == Kind::Kwp && !vector.block.fails();
    for vector in COLLECTION.vectors.iter().filter(wraps) {
        let secret = vector.block.bytes("Key");
        let template = Template {
            name: vector.key_name().into_bytes(),
            access: vec![Grant { grantee: Grantee::Everyone, usages: Usages::WRAP }],
            ..Template::new(aes(&secret), Usages::WRAP)
        };
        device.provide(template, &secret).expect("the device has room for the vectors' keys");
    }
    Ok(device)
}

/// The AES of keys of this length.
fn aes(key: &[u8]) -> Algorithm {
    match key.len() {
        16 => Algorithm::Aes128,
        24 => Algorithm::Aes192,
        _ => Algorithm::Aes256,
    }
}

/// What all tasks of a run share.
struct Run {
    vectors: Vec<&'static Vector>,
    wanted: Wanted,
    /// Whether the device is one of [`device`].
    is_provided: bool,
    next: AtomicUsize,
    report: Mutex<Report>,
    progress: Box<dyn Fn(usize, usize) + Send + Sync>,
}

/// Asks the broker at `socket` all vectors that are wanted, many at a time. `is_provided` says whether its device is one
/// of [`device`]. `progress` is told, after each vector, how many of how many were asked.
///
/// # Errors
/// When the broker cannot be reached, or goes away. A vector that fails is no error.
pub async fn ask(
    socket: &Path,
    wanted: Wanted,
    is_provided: bool,
    progress: impl Fn(usize, usize) + Send + Sync + 'static,
) -> Result<Report, Error> {
    let is_of = |group: &Group| wanted.source.as_ref().is_none_or(|source| source == group.source);
    let vectors = COLLECTION.vectors.iter().filter(|vector| is_of(&vector.group)).collect();
    let mut report = Report::default();
    for (group, count, why) in COLLECTION.left.iter().filter(|(group, ..)| is_of(group)) {
        for operation in group.kind.operations().iter().filter(|operation| wanted.wants(**operation)) {
            *report.counts(*operation, *group).skipped.entry(why).or_default() += count;
        }
    }
    for operation in Operation::ALL.iter().filter(|operation| wanted.wants(**operation)) {
        if let (Some(why), None) = (without_vectors(*operation), &wanted.source) {
            let line = Line { operation: *operation, algorithm: "", source: "" };
            report.lines.entry(line).or_default().skipped.insert(why, 0);
        }
    }
    let run = Arc::new(Run {
        vectors,
        wanted,
        is_provided,
        next: AtomicUsize::new(0),
        report: Mutex::new(report),
        progress: Box::new(progress),
    });
    let mut tasks = JoinSet::new();
    for _ in 0..VECTOR_CONNECTIONS {
        let client = Client::connect(socket).await?;
        for _ in 0..CONTEXTS_PER_CONNECTION_MAX {
            tasks.spawn(ask_some(run.clone(), client.clone()));
        }
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("no task is aborted")?;
    }
    let run = Arc::into_inner(run).expect("all tasks have ended");
    Ok(run.report.into_inner().expect("no holder of this lock panics"))
}

/// One of many that ask until nothing is left.
async fn ask_some(run: Arc<Run>, client: Client) -> Result<(), Error> {
    while let Some(vector) = run.vectors.get(run.next.fetch_add(1, Ordering::Relaxed)) {
        let mut asking = Asking::new(&client, &run.wanted, run.is_provided);
        asking.ask_vector(vector).await?;
        let mut report = run.report.lock().expect("no holder of this lock panics");
        for (operation, outcome) in asking.outcomes {
            report.count(operation, vector, outcome);
        }
        drop(report);
        (run.progress)(run.next.load(Ordering::Relaxed).min(run.vectors.len()), run.vectors.len());
    }
    Ok(())
}

/// How one operation answered one vector.
enum Outcome {
    Passed,
    Failed(String),
    Skipped(&'static str),
}

impl Report {
    /// How many vectors passed, failed and were skipped.
    pub fn totals(&self) -> [usize; 3] {
        let skipped = |counts: &Counts| counts.skipped.values().sum::<usize>();
        self.lines.values().fold([0; 3], |[passed, failed, left], counts| {
            [passed + counts.passed, failed + counts.failed, left + skipped(counts)]
        })
    }

    fn counts(&mut self, operation: Operation, group: Group) -> &mut Counts {
        let line = Line { operation, algorithm: group.kind.algorithm(), source: group.source };
        self.lines.entry(line).or_default()
    }

    fn count(&mut self, operation: Operation, vector: &Vector, outcome: Outcome) {
        let counts = self.counts(operation, vector.group);
        match outcome {
            Outcome::Passed => counts.passed += 1,
            Outcome::Skipped(why) => *counts.skipped.entry(why).or_default() += 1,
            Outcome::Failed(why) => {
                counts.failed += 1;
                let Group { kind, source, file } = vector.group;
                let line = Line { operation, algorithm: kind.algorithm(), source };
                self.failures.push(Failure { line, file, number: vector.number(), why });
            }
        }
    }
}

impl Asking<'_> {
    async fn ask_vector(&mut self, vector: &Vector) -> Result<(), Error> {
        let block = &vector.block;
        match vector.group.kind {
            Kind::Ecb => self.mode(block, 1).await,
            Kind::Cbc => self.mode(block, 2).await,
            Kind::CbcPadded => self.mode(block, 3).await,
            Kind::Ctr => self.mode(block, 4).await,
            Kind::Gcm => {
                self.aead(block, 1).await?;
                if vector.is_tls_sized() {
                    self.open_prefixed(block, &vector.key_name()).await
                } else {
                    Ok(())
                }
            }
            Kind::Ccm => self.aead(block, 2).await,
            Kind::Ascon => self.aead(block, 3).await,
            Kind::Sha2 => self.hash(block).await,
            Kind::Sha2Monte => self.hash_again_and_again(block).await,
            Kind::Cmac | Kind::Hmac => self.mac(block).await,
            Kind::Hkdf => self.derive(block).await,
            Kind::Ecdsa | Kind::Ed25519 | Kind::RsaPkcs1 | Kind::RsaPss => {
                self.verify(block, vector.group.kind).await
            }
            Kind::EcdsaSign | Kind::Ed25519Sign | Kind::RsaPkcs1Sign | Kind::RsaPssSign => {
                self.sign(block, vector.group.kind).await
            }
            Kind::RsaOaep => self.rsa_decrypt(block, 2).await,
            Kind::RsaPkcs1Decrypt => self.rsa_decrypt(block, 1).await,
            Kind::Ecdh => self.agree(block, Algorithm::P256).await,
            Kind::X25519 => self.agree(block, Algorithm::X25519).await,
            Kind::P256 => self.key_public(block).await,
            Kind::P256Public => self.import_point(block).await,
            Kind::Kwp => {
                if !block.fails() {
                    self.wrap_key(block, &vector.key_name()).await?;
                }
                self.unwrap_key(block).await
            }
            Kind::KwpUnwrap => self.unwrap_key(block).await,
        }
    }
}

/// What a device may say to what it must not take.
const REFUSALS: &[Status] = &[Status::Rejected, Status::WrongParameters];
