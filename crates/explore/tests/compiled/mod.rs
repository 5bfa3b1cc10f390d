//! Images for tests, kept between them.
#![allow(dead_code)] // each test file uses some of it

use std::path::Path;

use explore::Error;
use explore::image::{Choice, Image, Leaves};

/// An image, or `None` after saying that the test is skipped.
pub fn image(leaves: Leaves) -> Option<Image> {
    image_of(&Choice::of(leaves))
}

/// The same with every choice.
pub fn image_of(choice: &Choice) -> Option<Image> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match Image::make(&root, choice, Some(Path::new(env!("CARGO_TARGET_TMPDIR")))) {
        Ok(image) => Some(image),
        Err(error @ (Error::NoCompiler { .. } | Error::NoLibrary)) => {
            assert!(std::env::var_os("CI").is_none(), "{error}");
            println!("skip: programs for RV32: {}", error.to_string().lines().next().unwrap_or_default());
            None
        }
        Err(error) => panic!("{error}"),
    }
}
