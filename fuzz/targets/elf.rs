//! Looks for files on which the plain reader of ELF panics or hangs, and for what it reads that cannot be sealed and
//! unsealed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pack::code::packet::Dictionary;
use pack::integrity::{ImageName, Integrity};
use pack::lines::Choice;
use pack::seal::Seal;
use pack::sealed::{Settings, Unsealed, seal};
use pack::{DeviceKey, ImageKey, Sections};

fuzz_target!(|elf: &[u8]| {
    let Ok(sections) = Sections::parse(elf) else { return };
    let image = Unsealed { sections, dictionary: Dictionary::default(), map: Vec::new() };
    let settings = Settings {
        seal: Seal::Xts,
        choice: Choice::default(),
        integrity: Integrity::new(4, 8).ok(),
        image: ImageName::default(),
        tables_first: None,
    };
    let device = DeviceKey::from_bytes(&[1; 16]).expect("a length that it may have");
    let key: Vec<u8> = (0..32).collect();
    let key = ImageKey::from_bytes(Seal::Xts.row(), &key).expect("its halves differ");
    if let Ok(container) = seal(&image, &settings, &key, &device) {
        let unlocked = container.unlock(&device).expect("it was wrapped under this key");
        assert_eq!(container.unseal(&unlocked), Ok(image));
    }
});
