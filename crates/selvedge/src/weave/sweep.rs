//! `--sweep`: the same two functions woven for several values of a name, such as the guest's period.
//!
//! Owns: what comes out for each value, and up to which of them weaving leaves the host more than an interrupt handler
//! of so many cycles does. All of it is estimated; `selvedge paper sti` measures the same with ciphers beside SPI.

use report::table::{Column, Entry, Table};
use selvedge::error::{Error, WeaveFault};
use selvedge::weaving::{self, Pair, Woven};
use serde_json::{Value, json};

use ::weave::Weave;

/// A name and its values.
#[derive(Clone, Debug)]
pub struct Sweep {
    name: String,
    values: Vec<i64>,
}

/// Reads `PERIOD=18,34,66`.
pub fn sweep(text: &str) -> Result<Sweep, String> {
    let (name, values) =
        text.split_once('=').ok_or_else(|| format!("found `{text}`, expected NAME=VALUE,…"))?;
    let value = |text: &str| isa::avr::text::number(text).ok_or(format!("found `{text}`, expected a number"));
    Ok(Sweep { name: name.to_owned(), values: values.split(',').map(value).collect::<Result<_, _>>()? })
}

impl Sweep {
    /// The name, and one of its values.
    pub fn example(&self) -> (&str, i64) {
        (&self.name, self.values[0])
    }
}

/// What comes out.
pub struct Swept {
    name: String,
    /// By value; without a result the first line of why there is none.
    found: Vec<(i64, Result<Box<Weave>, String>)>,
    handler_cycles: Option<f64>,
}

impl Swept {
    /// Weaves for each value.
    ///
    /// # Errors
    /// Those of weaving, but not that a value is refused.
    pub fn of(pair: &Pair, sweep: &Sweep, handler_cycles: Option<f64>) -> Result<Swept, Error> {
        let one = |&value: &i64| {
            let mut pair = pair.clone();
            pair.definitions.retain(|(name, _)| *name != sweep.name);
            pair.definitions.push((sweep.name.clone(), value));
            let small = |woven: Woven| woven.check_growth(&pair).map(|()| woven);
            match weaving::woven(&pair, "what is swept").and_then(small) {
                Ok(woven) => Ok((value, Ok(Box::new(woven.weave)))),
                Err(Error::Woven(fault @ (WeaveFault::NotWoven { .. } | WeaveFault::Growth { .. }))) => {
                    let words = fault.to_string();
                    Ok((value, Err(words.lines().next().unwrap_or_default().to_owned())))
                }
                Err(error) => Err(error),
            }
        };
        let found = sweep.values.iter().map(one).collect::<Result<_, Error>>()?;
        Ok(Swept { name: sweep.name.clone(), found, handler_cycles })
    }

    /// A value a line, without those that are refused.
    pub fn table(&self) -> Table {
        let columns = [
            Column::new(self.name.clone()),
            Column::new("words"),
            Column::new("host").unit("%").decimals(1),
            Column::new("recovered").unit("%").decimals(1),
            Column::new("a round costs").unit("cycles").decimals(1),
        ];
        let mut table = Table::new(format!("Values of {} (estimated)", self.name), columns);
        for (value, found) in &self.found {
            let Ok(woven) = found else { continue };
            let estimate = woven.choice.estimate;
            table.push([
                Entry::from(*value),
                woven.choice.words.into(),
                (100.0 * estimate.host_share()).into(),
                (100.0 * estimate.recovered()).into(),
                estimate.cost_cycles_per_round().into(),
            ]);
        }
        table
    }

    /// The values with which the two cannot be woven, and why.
    pub fn refused(&self) -> impl Iterator<Item = String> {
        let refused = self.found.iter().filter_map(|(value, found)| Some((value, found.as_ref().err()?)));
        refused.map(|(value, why)| format!("{} = {value}: {why}", self.name))
    }

    /// Where weaving leaves the host more than the handler does; none when no handler is named.
    pub fn break_even(&self) -> Option<String> {
        let cycles = self.handler_cycles?;
        let is_more = |found: &Result<Box<Weave>, String>| {
            found.as_ref().is_ok_and(|woven| woven.choice.estimate.cost_cycles_per_round() < cycles)
        };
        let more = self.found.iter().filter(|(_, found)| is_more(found));
        let more: Vec<String> = more.map(|(value, _)| value.to_string()).collect();
        let at = if more.is_empty() { "none of them".to_owned() } else { more.join(", ") };
        Some(format!("a handler of {cycles} cycles leaves the host less with {} = {at}", self.name))
    }

    /// For a machine.
    pub fn value(&self) -> Value {
        let values = self.found.iter().map(|(value, found)| match found {
            Ok(woven) => json!({
                "value": value, "words": woven.choice.words,
                "host_share_estimate": woven.choice.estimate.host_share(),
                "recovered_estimate": woven.choice.estimate.recovered(),
                "cost_cycles_per_round": woven.choice.estimate.cost_cycles_per_round(),
            }),
            Err(words) => json!({ "value": value, "refused": words }),
        });
        json!({ "name": self.name, "handler_cycles": self.handler_cycles, "values": values.collect::<Vec<_>>() })
    }
}
