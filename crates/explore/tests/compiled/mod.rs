//! Images for tests, kept between them, and the models that are kept beside the source.
#![allow(dead_code)] // each test file uses some of it

use std::fs;
use std::path::Path;

use explore::Error;
use explore::image::{Choice, Image, Leaves};
use explore::model::Models;
use explore::stored;
use isa::rv32::Profile;

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

/// The models of a processor that are kept.
pub fn kept(profile: Profile) -> Models {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("models/{}.ndjson", profile.name()));
    let text = fs::read_to_string(&path).expect("models are beside the source");
    stored::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The image that kept models are of: another compiler's is none.
pub fn image_of_models(models: &Models) -> Option<Image> {
    let image = image(Leaves::Plain)?;
    let (found, expected) = (&image.compiler, &models.origin.compiler);
    if found != expected {
        assert!(std::env::var_os("CI").is_none(), "{found} is not {expected}");
        println!("skip: models of {}: they are of {expected}", models.origin.profile);
        return None;
    }
    Some(image)
}
