//! The order in which ways of weaving are offered.

mod pair;

use pair::structured::{self, Choices};
use pair::{Pair, guest};
use weave::plan::Strategy;
use weave::{weave, weave_until};

const SPI_TX: usize = 0;

#[test]
fn what_is_not_taken_is_offered_smaller() {
    let bytes: Vec<u8> = (0..160u32).map(|at| (at * 37 % 251) as u8).collect();
    let pair = Pair::new(&structured::host(&mut Choices::new(&bytes)), &guest(SPI_TX, 66));
    let request = pair.request(Strategy::Interleave, 10.0);
    let best = weave(&request).expect("it is woven");
    let mut words = Vec::new();
    let none = weave_until(&request, |weave| {
        words.push(weave.choice.words);
        None::<()>
    });
    assert_eq!(none.expect("it is woven"), None);
    assert_eq!(words[0], best.choice.words);
    assert!(words.len() > 1 && words.is_sorted_by(|one, next| one > next), "{words:?}");
    let second = weave_until(&request, |weave| (weave.choice.words < words[0]).then_some(weave.text));
    assert_ne!(second.expect("it is woven"), Some(best.text));
}
