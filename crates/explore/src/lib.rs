//! Which algorithm for which processor, before either is built (the paper's section 3).
//!
//! This file owns the order of things. The library of `firmware/crypto` does requests (`request`) natively, where its
//! routines count what their cycles depend on (`native`). Of such counts and of the cycles that a simulator counts
//! for the same requests (`workload`) regression (`fit`) makes macro-models (`model`, `stored`). From then on a native
//! run says what a candidate (`candidate`) of a space (`space`) takes on a processor, and a ranking is judged (`rank`).
//! It leaves simulators, compilers and files to others.

pub mod analytic;
pub mod candidate;
pub mod characterise;
pub mod constant;
pub mod error;
pub mod estimate;
pub mod fit;
pub mod frames;
pub mod image;
pub mod kept;
pub mod leaf;
pub mod limits;
pub mod lines;
pub mod measure;
pub mod measured;
pub mod model;
pub mod native;
pub mod plan;
pub mod rank;
pub mod request;
mod sources;
pub mod space;
pub mod stored;
pub mod subject;
pub mod threads;
pub mod validate;
pub mod workload;

pub use candidate::Candidate;
pub use error::Error;
pub use request::{Request, Response};
