//! The cores whose time is known, by name.
//!
//! Owns: the names, and what each of them is. What a core does with cycles is its pipeline's.

use super::timing::Class;

macro_rules! profiles {
    ($($(#[$doc:meta])* $name:ident $word:literal)*) => {
        /// A core whose time is known.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Profile { $($(#[$doc])* $name,)* }

        /// All of them.
        pub const PROFILES: &[Profile] = &[$(Profile::$name),*];

        impl Profile {
            /// How it is called.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Profile::$name => $word,)*
                }
            }
        }
    };
}

profiles! {
    /// Ibex as it is documented: two stages.
    Ibex "ibex"
    /// PicoRV32 as its hardware is, cycle for cycle: no pipeline.
    Pico "pico"
    /// VexRiscv as its hardware is: five stages and two caches.
    Vex5 "vex5"
    /// The same with tightly coupled memories instead of caches.
    Vex5Tcm "vex5-tcm"
}

impl Profile {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Profile> {
        PROFILES.iter().copied().find(|profile| profile.name() == name)
    }

    /// The classes whose instructions may take as long as their operands say. Division is among them everywhere, since it
    /// takes so on nearly all cores; all else takes the same on each of these.
    pub const fn varying(self) -> &'static [Class] {
        match self {
            Profile::Ibex | Profile::Pico | Profile::Vex5 | Profile::Vex5Tcm => &[Class::Divide],
        }
    }
}
