//! What was computed of bytes, kept: a simulator brings the same lines again and again, and to open or to check them takes
//! longer than to compare them with what they were.
//!
//! Owns a table by place, in which an answer counts for the very bytes that it was given for: whatever changes is computed
//! anew, and nothing has to be forgotten. What hardware takes is counted by whoever asks.

/// Places that are kept; others share them.
const SLOTS: usize = 1 << 13;
/// What is no place.
const NOWHERE: u32 = u32::MAX;

/// Answers by place and bytes.
pub struct Remembered<T> {
    /// The most bytes that an answer is kept for.
    key_bytes_max: usize,
    /// Of each slot; none before something is kept.
    slots: Vec<Slot<T>>,
    /// Of each slot, `key_bytes_max` of them.
    keys: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Slot<T> {
    place: u32,
    key_bytes: usize,
    answer: T,
}

impl<T: Copy + Default> Remembered<T> {
    /// Nothing yet, and room for answers to so many bytes.
    pub fn new(key_bytes_max: usize) -> Remembered<T> {
        Remembered { key_bytes_max, slots: Vec::new(), keys: Vec::new() }
    }

    /// The answer for these bytes, both pieces one behind the other, at a place; computed unless it is known.
    pub fn answer(&mut self, place: u32, [head, tail]: [&[u8]; 2], compute: impl FnOnce() -> T) -> T {
        let key_bytes = head.len() + tail.len();
        if key_bytes > self.key_bytes_max || place == NOWHERE {
            return compute();
        }
        if self.slots.is_empty() {
            self.slots = vec![Slot { place: NOWHERE, key_bytes: 0, answer: T::default() }; SLOTS];
            self.keys = vec![0; SLOTS * self.key_bytes_max];
        }
        let at = place as usize % SLOTS;
        let (slot, key) = (&mut self.slots[at], &mut self.keys[at * self.key_bytes_max..][..key_bytes]);
        let (kept_head, kept_tail) = key.split_at_mut(head.len());
        if slot.place == place && slot.key_bytes == key_bytes && *kept_head == *head && *kept_tail == *tail {
            return slot.answer;
        }
        kept_head.copy_from_slice(head);
        kept_tail.copy_from_slice(tail);
        *slot = Slot { place, key_bytes, answer: compute() };
        slot.answer
    }
}

/// Another one knows nothing: what it would be told is the same.
impl<T: Copy + Default> Clone for Remembered<T> {
    fn clone(&self) -> Remembered<T> {
        Remembered::new(self.key_bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_for_its_place_and_all_of_its_bytes() {
        let mut remembered = Remembered::new(4);
        let mut ask = |place, head: &[u8], tail: &[u8], answer: u8| {
            let mut is_computed = false;
            let found = remembered.answer(place, [head, tail], || {
                is_computed = true;
                answer
            });
            (found, is_computed)
        };
        assert_eq!(ask(1, &[1, 2], &[3, 4], 10), (10, true));
        assert_eq!(ask(1, &[1, 2], &[3, 4], 11), (10, false));
        // The same bytes, cut elsewhere.
        assert_eq!(ask(1, &[1], &[2, 3, 4], 12), (10, false));
        for (place, head, tail) in [(1, [1, 2], [3, 5]), (1, [0, 2], [3, 5]), (2, [0, 2], [3, 5])] {
            assert_eq!(ask(place, &head, &tail, 13), (13, true), "{place} {head:?} {tail:?}");
            assert_eq!(ask(place, &head, &tail, 14), (13, false), "{place} {head:?} {tail:?}");
        }
        // Fewer bytes, another place in the same slot and back, and more than there is room for.
        assert_eq!(ask(2, &[0, 2], &[3], 15), (15, true));
        assert_eq!(ask(2 + SLOTS as u32, &[0, 2], &[3], 16), (16, true));
        assert_eq!(ask(2, &[0, 2], &[3], 17), (17, true));
        assert_eq!(ask(2, &[0, 2, 3], &[3, 4], 18), (18, true));
        assert_eq!(ask(2, &[0, 2, 3], &[3, 4], 19), (19, true));
    }
}
