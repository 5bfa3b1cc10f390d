//! The registers that the budget lives in.
//!
//! Owns: the choice of [`Budget`]. The guest's homes are `rename`'s, and are chosen among what is left.

use isa::avr::Set;

use crate::error::{Lack, Refusal};
use crate::guest::Guest;
use crate::rename::{CALL_CLOBBERED, lacking};

/// Registers that say how much time the host has, and what comes then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Cycles until the guest is due, less what is prepaid; takes constants.
    pub cycles: u8,
    /// How often `cycles` is filled up again before.
    pub refills: Option<u8>,
    /// Which of the guest's segments is due, where there are several.
    pub segment: Option<u8>,
}

/// A gap that one register counts.
const GAP_CYCLES_MAX: u32 = 262;

impl Budget {
    /// Chooses them among the registers not in `taken`.
    ///
    /// # Errors
    /// [`Refusal::RegisterConflict`] when there are too few.
    pub fn choose(guest: &Guest, taken: Set) -> Result<Budget, Refusal> {
        let mut taken = taken;
        let mut free = |high: bool, what| {
            let unsaved = CALL_CLOBBERED.into_iter().filter(|&register| register != 1);
            // Low registers first, where they do: high ones are what guests ask for.
            let mut all: Vec<u8> =
                unsaved.chain(2..18).chain([28, 29]).filter(|&number| !high || number > 15).collect();
            all.sort_by_key(|&number| number > 15);
            let found = all.into_iter().find(|&number| !taken.contains(Set::register(number)));
            let lack = if high { Lack::Constants } else { Lack::Any };
            let found = found.ok_or_else(|| lacking(&guest.clock, what, lack))?;
            taken = taken | Set::register(found);
            Ok(found)
        };
        let gaps = guest.gaps_cycles();
        let cycles = free(true, "the budget, which takes constants")?;
        let is_wide = gaps.iter().any(|&gap| gap > GAP_CYCLES_MAX);
        let refills = if is_wide { Some(free(false, "the budget's refills")?) } else { None };
        let several = gaps.iter().filter(|&&gap| gap >= super::GAP_CYCLES_MIN).count() > 1;
        let segment = if several { Some(free(false, "the number of the guest's segment")?) } else { None };
        Ok(Budget { cycles, refills, segment })
    }

    /// All of them.
    pub fn set(&self) -> Set {
        let all = [Some(self.cycles), self.refills, self.segment];
        all.into_iter().flatten().fold(Set::EMPTY, |set, number| set | Set::register(number))
    }
}
