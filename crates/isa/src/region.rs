//! Pieces of an address space: where bytes are, and which may be stored to.
//!
//! Owns: finding the bytes at an address. How many an access takes, in which order they are a number, and what is code
//! is `memory`'s of each processor.

/// A piece of the address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub first: u32,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Whether a program may store to it.
    pub writable: bool,
}

impl Region {
    #[inline(always)]
    fn place(&self, address: u32, bytes: u32) -> Option<std::ops::Range<usize>> {
        let at = address.wrapping_sub(self.first) as usize;
        let end = at + bytes as usize;
        (end <= self.bytes.len()).then_some(at..end)
    }
}

/// Several, looked through in this order: what is accessed most comes first.
#[derive(Clone, Debug)]
pub struct Regions(Vec<Region>);

impl Regions {
    /// These.
    pub fn new(regions: Vec<Region>) -> Regions {
        Regions(regions)
    }

    /// All of them, in order.
    pub fn as_slice(&self) -> &[Region] {
        &self.0
    }

    /// Adds one, which is looked at when no other has the address.
    pub fn push(&mut self, region: Region) {
        self.0.push(region);
    }

    /// The bytes at an address; `None` where not all of them are in one region.
    #[inline(always)]
    pub fn get(&self, address: u32, bytes: u32) -> Option<&[u8]> {
        // Nearly every access is to the first region.
        let first = self.0.first()?;
        match first.place(address, bytes) {
            Some(place) => Some(&first.bytes[place]),
            None => self.get_elsewhere(address, bytes),
        }
    }

    fn get_elsewhere(&self, address: u32, bytes: u32) -> Option<&[u8]> {
        self.0[1..].iter().find_map(|region| Some(&region.bytes[region.place(address, bytes)?]))
    }

    /// The bytes at an address, to store to; `None` where a program may not.
    #[inline(always)]
    pub fn get_mut(&mut self, address: u32, bytes: u32) -> Option<&mut [u8]> {
        let first = self.0.first()?;
        match first.place(address, bytes).filter(|_| first.writable) {
            Some(place) => Some(&mut self.0[0].bytes[place]),
            None => self.get_mut_elsewhere(address, bytes),
        }
    }

    fn get_mut_elsewhere(&mut self, address: u32, bytes: u32) -> Option<&mut [u8]> {
        self.0.iter_mut().find_map(|region| {
            let place = region.place(address, bytes)?;
            region.writable.then(|| &mut region.bytes[place])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_in_one_region_and_stored_where_a_program_may() {
        let region = |first, writable| Region { first, bytes: vec![first as u8; 8], writable };
        let mut regions = Regions::new(vec![region(8, true), region(16, false)]);
        regions.push(region(0xffff_fff8, true));
        assert_eq!((regions.get(8, 4), regions.get(16, 8)), (Some(&[8; 4][..]), Some(&[16; 8][..])));
        assert_eq!((regions.get(14, 4), regions.get(7, 1), regions.get(0xffff_fffe, 4)), (None, None, None));
        assert!(regions.get_mut(16, 1).is_none() && regions.get_mut(24, 1).is_none());
        regions.get_mut(0xffff_ffff, 1).expect("the last byte").fill(1);
        assert_eq!(regions.get(0xffff_fffe, 2), Some(&[0xf8, 1][..]));
    }
}
