//! What nodes are to be told, in a person's words: `input=3`, `rate=180Hz`, `epoch`.
//!
//! Owns the words and what they mean for a node of the deployment. Who tells it, and until when, is `collect::orders`'.

use collect::limits::CHANNEL_MAX;
use collect::orders::Order;

use super::deployment::{Deployment, Node};
use super::quantity::{self, FREQUENCY};
use super::schedule;
use crate::error::{Error, OrderFault};

/// Which nodes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// All of the deployment.
    All,
    /// This one.
    Node(u32),
}

impl std::str::FromStr for Whom {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Whom, &'static str> {
        match word {
            "all" => Ok(Whom::All),
            number => number.parse().map(Whom::Node).map_err(|_| "expected a node's number, or `all`"),
        }
    }
}

/// What a node is told, in a person's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// This input of its converter.
    Input(u8),
    /// So many samples a second.
    Rate(u64),
    /// To go on to another epoch.
    Epoch,
    /// Nothing: it is revoked.
    Revoke,
}

impl std::str::FromStr for Word {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Word, &'static str> {
        const FORMS: &str = "expected `input=N`, `rate=F`, `epoch` or `revoke`";
        match word.split_once('=') {
            None if word == "epoch" => Ok(Word::Epoch),
            None if word == "revoke" => Ok(Word::Revoke),
            Some(("input", number)) => {
                let input = number.parse().ok().filter(|&input| input <= CHANNEL_MAX);
                input.map(Word::Input).ok_or("expected an input of the converter, 0 to 7")
            }
            Some(("rate", rate)) => {
                let rate = quantity::parse(rate, &FREQUENCY).ok().and_then(|hertz| u64::try_from(hertz).ok());
                rate.filter(|&rate| rate > 0).map(Word::Rate).ok_or("expected a rate such as `180Hz`")
            }
            _ => Err(FORMS),
        }
    }
}

/// The nodes of `deployment` that `whom` means.
///
/// # Errors
/// [`Error::WhichNode`].
pub fn nodes(deployment: &Deployment, whom: Whom) -> Result<Vec<&Node>, Error> {
    let all = deployment.cells.iter().flat_map(|cell| &cell.nodes);
    let meant: Vec<&Node> =
        all.clone().filter(|node| whom == Whom::All || whom == Whom::Node(node.id)).collect();
    match whom {
        Whom::Node(found) if meant.is_empty() => {
            Err(Error::WhichNode { found, nodes: all.map(|node| node.id).collect() })
        }
        _ => Ok(meant),
    }
}

/// What `words` tell the nodes that `whom` means, which are none to revoke.
///
/// # Errors
/// [`Error::WhichNode`], [`Error::Order`] for words that contradict each other, or that a node cannot do.
pub fn orders(deployment: &Deployment, whom: Whom, words: &[Word]) -> Result<Vec<(u32, Order)>, Error> {
    let mut orders = Vec::new();
    for node in nodes(deployment, whom)? {
        let (mut channel, mut stride) = (None, None);
        for (place, word) in words.iter().enumerate() {
            let same = |other: &Word| std::mem::discriminant(other) == std::mem::discriminant(word);
            if words[..place].iter().any(same) {
                return Err(Error::Order(OrderFault::Twice));
            }
            match *word {
                Word::Epoch => orders.push((node.id, Order::ChangeEpoch)),
                Word::Revoke => return Err(Error::Order(OrderFault::RevokedAndTold)),
                Word::Input(input) => channel = Some(input),
                Word::Rate(rate_hz) => stride = Some(stride_of(node, rate_hz)?),
            }
        }
        if channel.is_some() || stride.is_some() {
            orders.push((node.id, Order::Set { channel, stride }));
        }
    }
    Ok(orders)
}

/// Which samples of its grid a node takes at this rate: every so manieth.
fn stride_of(node: &Node, rate_hz: u64) -> Result<u8, Error> {
    schedule::stride(node.rate_hz, node.samples_per_superframe.into(), rate_hz)
        .map_err(|rates_hz| Error::Order(OrderFault::Rate { node: node.id, found_hz: rate_hz, rates_hz }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::reservations::ecg;

    fn words(text: &str) -> Vec<Word> {
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn words_are_what_a_node_of_the_deployment_can_do() {
        let one = |text| orders(&ecg(), Whom::Node(2), &words(text));
        let set = |channel, stride| vec![(2, Order::Set { channel, stride })];
        assert_eq!(one("input=3").unwrap(), set(Some(3), None));
        assert_eq!(one("rate=180Hz").unwrap(), set(None, Some(2)));
        assert_eq!(one("rate=0.36kHz input=0").unwrap(), set(Some(0), Some(1)));
        assert_eq!(one("epoch").unwrap(), [(2, Order::ChangeEpoch)]);
        assert_eq!(one("epoch input=1").unwrap().len(), 2);
        assert_eq!(orders(&ecg(), Whom::All, &words("rate=40Hz")).unwrap().len(), 4);
        for wrong in ["rate=100Hz", "rate=720Hz", "input=1 input=2", "revoke epoch"] {
            assert!(matches!(one(wrong), Err(Error::Order(_))), "{wrong}");
        }
        assert!(matches!(orders(&ecg(), Whom::Node(9), &[]), Err(Error::WhichNode { found: 9, .. })));
    }

    #[test]
    fn a_word_that_is_none_is_refused() {
        for wrong in
            ["", "input", "input=8", "input=-1", "rate=0Hz", "rate=1", "rate=fast", "epoch=1", "speed=1"]
        {
            assert!(wrong.parse::<Word>().is_err(), "{wrong}");
        }
        assert!("each".parse::<Whom>().is_err() && "-1".parse::<Whom>().is_err());
    }
}
