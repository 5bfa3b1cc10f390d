//! Which algorithm for which processor, before either is built (the paper's section 3).
//!
//! This file owns the order of things. The library of `firmware/crypto` does requests (`request`) natively, where its
//! routines count what their cycles depend on (`native`), and as an image on a simulator, where those cycles are counted
//! routine by routine (`measure`). Regression makes macro-models of both (`model`, `stored`). From then on a native run
//! says what a candidate (`candidate`) of a space (`space`) takes on a processor (`estimate`), and the best are found and
//! judged (`rank`).
//! It leaves simulating to `isa`, compilers and files to the binary.

pub mod candidate;
pub mod error;
pub mod limits;
pub mod model;
pub mod native;
pub mod rank;
pub mod request;
pub mod space;
pub mod stored;

pub use candidate::Candidate;
pub use error::Error;
pub mod workload;

pub use request::{Request, Response};
