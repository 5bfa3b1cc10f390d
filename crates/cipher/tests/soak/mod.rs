//! Whether a test is asked for its long form.

/// `SELVEDGE_SOAK=1`, as `make soak` says it.
pub fn is_soak() -> bool {
    std::env::var_os("SELVEDGE_SOAK").is_some_and(|soak| soak == "1")
}
