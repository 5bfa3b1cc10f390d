//! Looks for files on which the plain reader of ELF panics or hangs, and for what it reads that cannot be sealed and
//! unsealed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pack::code::packet::Dictionary;
use pack::integrity::{ImageName, Integrity};
use pack::lines::Choice;
use pack::seal::Seal;
use pack::sealed::{Expected, Settings, Unsealed, seal_under_given_nonce};
use pack::{Container, DeviceKey, ImageKey, SealError, Sections, forms};

fuzz_target!(|elf: &[u8]| {
    let Ok(sections) = Sections::parse(elf) else { return };
    let image = Unsealed::from(sections);
    let settings = Settings {
        seal: Seal::Xts.row(),
        allow_legacy: false,
        choice: Choice::default(),
        integrity: Integrity::new(4, 8).ok(),
        image: ImageName::default(),
        tables_first: None,
    };
    let device = DeviceKey::from_bytes(&[1; 16]).expect("a length that it may have");
    let key: Vec<u8> = (0..32).collect();
    let key = ImageKey::from_bytes(Seal::Xts.row(), &key).expect("its halves differ");
    let made = |settings: &Settings| seal_under_given_nonce(&image, settings, Seal::Xts, &key, &device);
    let container = match made(&settings) {
        // Tags are asked for where they can stand, so that programs that end with what they write are looked at, too.
        Err(SealError::TablesFirst { .. }) => {
            let first = made(&Settings { tables_first: Some(0xfff0_0000), ..settings.clone() });
            first.or_else(|_| made(&Settings { integrity: None, ..settings }))
        }
        made => made,
    };
    let Ok(container) = container else { return };
    let bytes = container.to_bytes();
    let read = Container::parse(&bytes).expect("what was sealed is read");
    assert_eq!(read, container);
    forms::elf::elf(&read);
    let unlocked = read.unlock(&device, &Expected::default()).expect("it was wrapped under this key");
    assert_eq!(unlocked.unseal(), Ok(image));
});
