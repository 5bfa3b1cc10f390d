//! Prefix codes of the fields of instructions.
//!
//! Owns: cutting a word into its head and its fields (`forms`), and which of them share a model (`model`). A head says
//! what is done, in the bits that are in no field. Each kind of field has a model for all heads; heads whose fields are
//! worth it have models of their own, and so have the heads that follow them. Words that are frequent are heads as a
//! whole. All of that is chosen by what it saves in the code, beside what it takes in the tables.
//!
//! ```text
//!   tables   12                how many heads there are, n
//!            for each head     …    its form, the last one for a word as a whole: 3 bits on SPARC, 4 on RV32
//!                              …    its bits that are in no field, the highest first
//!            model             choice n + 1: the next head
//!            for each head     1    1 when what follows it has a model of its own, and then
//!                                   that: choice n + 1
//!            for each stream   model: its kind is in `forms`
//!            for each head     for each of its fields
//!                              1    1 when it has a model of its own, and then
//!                                   that, of the same kind
//!
//!   word     choice            by the model of the head before; by the one for all where that has none, after a word
//!                              as it is, and at the beginning of a block
//!            choice            when the first was 0, and by a model of a head before: again, by the one for all
//!            32                when the choice is 0: the word as it is; any other is one more than its head
//!            numbers           of the head's fields, by its own model or that of their stream
//! ```
//!
//! A register is coded as 0 when it is the same as another (`forms`), and else as one more than it is. Before the first
//! word of a block is one of zeros. A target is counted from the beginning of the code: what is coded is the sum of the
//! distance and of the word's own place behind that beginning, cut to the distance's width.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::bits::{BitReader, BitWriter};
use super::coder::{Coder, Text, counted, ranked};
use super::forms::{Field, Form, Forms, Meaning};
use super::model::{Kind, Model};
use crate::target::Target;

const HEADS_BITS: u32 = 12;
const WORD_BITS: u32 = 32;
/// A head is worth a place when it is there as often as this.
const HEAD_COUNT_LEAST: u32 = 2;
/// How often tables are made again with the words as a whole that the last ones show to be worth it.
const ROUNDS: usize = 3;
/// What a head's place in the table of the choices takes, about.
const LENGTH_BITS: u32 = 5;
/// What is taken for the bits of what has no code yet.
const UNKNOWN_BITS: u32 = 12;

/// A head: its form, and its bits in their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Head {
    form: usize,
    bits: u32,
}

struct Fields {
    forms: &'static Forms,
    heads: Vec<Head>,
    places: HashMap<Head, usize>,
    /// The next head, for all.
    next: Model,
    /// The next head, by the one before.
    own_next: Vec<Option<Model>>,
    /// By stream.
    streams: Vec<Model>,
    /// By head and field.
    own: Vec<Vec<Option<Model>>>,
}

/// Makes tables for an image's code.
pub fn make(target: Target, text: Text<'_>) -> Box<dyn Coder> {
    let forms = Forms::of(target);
    let mut wholes = HashSet::new();
    for _ in 1..ROUNDS {
        wholes = Fields::of(forms, text, &wholes).worth_as_wholes(text);
    }
    Box::new(Fields::of(forms, text, &wholes))
}

/// Reads tables.
pub fn read(target: Target, bits: &mut BitReader<'_>) -> Option<Box<dyn Coder>> {
    let forms = Forms::of(target);
    let count = bits.take(HEADS_BITS)?;
    let heads: Option<Vec<Head>> = (0..count).map(|_| Head::read(forms, bits)).collect();
    let heads = heads?;
    let kind = Kind::Choice(count + 1);
    let next = Model::read(kind, bits)?;
    let own_next: Option<_> = heads.iter().map(|_| read_own(kind, bits)).collect();
    let own_next = own_next?;
    let streams: Option<_> = forms.streams.iter().map(|&kind| Model::read(kind, bits)).collect();
    let streams = streams?;
    let own: Option<_> = heads
        .iter()
        .map(|head| {
            let fields = forms.forms[head.form].fields.iter();
            fields.map(|field| read_own(forms.streams[field.stream], bits)).collect()
        })
        .collect();
    let own = own?;
    let places = places(&heads);
    Some(Box::new(Fields { forms, heads, places, next, own_next, streams, own }))
}

/// A model that may be there; `None` where bits are missing or no model.
fn read_own(kind: Kind, bits: &mut BitReader<'_>) -> Option<Option<Model>> {
    match bits.bit()? {
        0 => Some(None),
        _ => Model::read(kind, bits).map(Some),
    }
}

fn write_own(model: Option<&Model>, bits: &mut BitWriter) {
    bits.put(model.is_some().into(), 1);
    model.into_iter().for_each(|model| model.write(bits));
}

fn places(heads: &[Head]) -> HashMap<Head, usize> {
    heads.iter().enumerate().map(|(place, &head)| (head, place)).collect()
}

impl Head {
    /// That of a word, which is coded by its fields.
    fn of(forms: &Forms, word: u32) -> Head {
        let form = forms.number(word);
        Head { form, bits: word & forms.forms[form].head_mask() }
    }

    /// A word as a whole.
    fn whole(forms: &Forms, word: u32) -> Head {
        Head { form: forms.whole(), bits: word }
    }

    fn form(self, forms: &'static Forms) -> &'static Form {
        &forms.forms[self.form]
    }

    fn write(self, forms: &'static Forms, bits: &mut BitWriter) {
        bits.put(self.form as u32, forms.number_bits());
        let mask = self.form(forms).head_mask();
        let places = (0..WORD_BITS).rev().filter(|place| mask >> place & 1 == 1);
        places.for_each(|place| bits.put(self.bits >> place & 1, 1));
    }

    fn read(forms: &'static Forms, bits: &mut BitReader<'_>) -> Option<Head> {
        let form = bits.take(forms.number_bits())? as usize;
        let mask = forms.forms.get(form)?.head_mask();
        let mut head = Head { form, bits: 0 };
        for place in (0..WORD_BITS).rev().filter(|place| mask >> place & 1 == 1) {
            head.bits |= bits.bit()? << place;
        }
        Some(head)
    }
}

/// What a register or a number is coded as, and back.
struct Around {
    /// The register where the word before has its destination.
    destination: u32,
    /// This word's first field.
    first: u32,
    /// How many units of a target this word is behind the beginning of the code.
    at_units: u32,
}

impl Around {
    fn of(forms: &Forms, before: u32, at_words: u32) -> Around {
        let at_units = at_words.wrapping_mul(forms.units_per_word);
        Around { destination: forms.destination(before), first: 0, at_units }
    }

    fn same(&self, field: &Field) -> Option<u32> {
        match field.meaning {
            Meaning::AfterDestination => Some(self.destination),
            Meaning::AfterFirst => Some(self.first),
            Meaning::Number | Meaning::Target => None,
        }
    }

    fn coded(&self, field: &Field, number: u32) -> u32 {
        match self.same(field) {
            Some(same) if same == number => 0,
            Some(_) => number + 1,
            None if field.meaning == Meaning::Target => self.moved(field, number, self.at_units),
            None => number,
        }
    }

    fn number(&self, field: &Field, coded: u32) -> u32 {
        match self.same(field) {
            Some(same) => coded.checked_sub(1).unwrap_or(same),
            None if field.meaning == Meaning::Target => {
                self.moved(field, coded, self.at_units.wrapping_neg())
            }
            None => coded,
        }
    }

    fn moved(&self, field: &Field, number: u32, by: u32) -> u32 {
        number.wrapping_add(by) & ((1 << field.width()) - 1)
    }
}

/// What the fields of a word are coded as, in their order.
fn coded(forms: &'static Forms, form: &'static Form, word: u32, before: u32, at_words: u32) -> Vec<u32> {
    let mut around = Around::of(forms, before, at_words);
    let mut coded = Vec::with_capacity(form.fields.len());
    for (index, field) in form.fields.iter().enumerate() {
        let number = field.get(word);
        coded.push(around.coded(field, number));
        if index == 0 {
            around.first = number;
        }
    }
    coded
}

impl Fields {
    /// How a word is coded: the place of its head; `None` for a word as it is.
    fn place(&self, word: u32) -> Option<usize> {
        let whole = self.places.get(&Head::whole(self.forms, word));
        whole.or_else(|| self.places.get(&Head::of(self.forms, word))).copied()
    }

    /// The model of a field of a head.
    fn model(&self, place: usize, field: usize) -> &Model {
        let stream = self.heads[place].form(self.forms).fields[field].stream;
        self.own[place][field].as_ref().unwrap_or(&self.streams[stream])
    }

    fn put_head(&self, before: Option<usize>, place: Option<usize>, bits: &mut BitWriter) {
        let coded = place.map_or(0, |place| place as u32 + 1);
        if let Some(own) = before.and_then(|before| self.own_next[before].as_ref()) {
            // What has no code there, and words as they are, go on by the one for all.
            if coded != 0 && own.bits(coded).is_some() {
                return own.put(coded, bits);
            }
            own.put(0, bits);
        }
        self.next.put(coded, bits);
    }

    fn take_head(&self, before: Option<usize>, bits: &mut BitReader<'_>) -> Option<Option<usize>> {
        let own = before.and_then(|before| self.own_next.get(before)?.as_ref());
        let mut coded = match own {
            Some(own) => own.take(bits)?,
            None => 0,
        };
        if coded == 0 {
            coded = self.next.take(bits)?;
        }
        Some(coded.checked_sub(1).map(|place| place as usize))
    }
}

impl Coder for Fields {
    fn write(&self, bits: &mut BitWriter) {
        bits.put(self.heads.len() as u32, HEADS_BITS);
        self.heads.iter().for_each(|head| head.write(self.forms, bits));
        self.next.write(bits);
        self.own_next.iter().for_each(|own| write_own(own.as_ref(), bits));
        self.streams.iter().for_each(|model| model.write(bits));
        self.own.iter().flatten().for_each(|own| write_own(own.as_ref(), bits));
    }

    fn encode(&self, at_words: u32, words: &[u32], bits: &mut BitWriter) {
        let (mut before, mut place_before) = (0, None);
        for (at_words, &word) in (at_words..).zip(words) {
            let place = self.place(word);
            self.put_head(place_before, place, bits);
            match place {
                Some(place) => {
                    let form = self.heads[place].form(self.forms);
                    let coded = coded(self.forms, form, word, before, at_words);
                    coded.iter().enumerate().for_each(|(field, &coded)| {
                        self.model(place, field).put(coded, bits);
                    });
                }
                None => bits.put(word, WORD_BITS),
            }
            (before, place_before) = (word, place);
        }
    }

    fn decode(&self, at_words: u32, words: &mut [u32], bits: &mut BitReader<'_>) -> Option<()> {
        let (mut before, mut place_before) = (0, None);
        for (at_words, word) in (at_words..).zip(words) {
            let place = self.take_head(place_before, bits)?;
            *word = match place {
                Some(place) => self.take_fields(place, before, at_words, bits)?,
                None => bits.take(WORD_BITS)?,
            };
            (before, place_before) = (*word, place);
        }
        Some(())
    }
}

impl Fields {
    fn take_fields(&self, place: usize, before: u32, at_words: u32, bits: &mut BitReader<'_>) -> Option<u32> {
        let head = self.heads.get(place)?;
        let mut around = Around::of(self.forms, before, at_words);
        let mut word = head.bits;
        for (index, field) in head.form(self.forms).fields.iter().enumerate() {
            let number = around.number(field, self.model(place, index).take(bits)?);
            word |= field.put(number);
            if index == 0 {
                around.first = number;
            }
        }
        Some(word)
    }
}

/// What is coded where, of a text: what models are made of.
struct Seen {
    /// By the head before: the choices behind it.
    next: Vec<Vec<u32>>,
    /// The choices behind none.
    next_first: Vec<u32>,
    /// By head and field.
    fields: Vec<Vec<Vec<u32>>>,
}

impl Fields {
    /// Tables for a text, in which these words are heads as a whole.
    fn of(forms: &'static Forms, text: Text<'_>, wholes: &HashSet<u32>) -> Fields {
        let head = |word: u32| {
            if wholes.contains(&word) { Head::whole(forms, word) } else { Head::of(forms, word) }
        };
        let mut counts: HashMap<Head, u32> = HashMap::new();
        text.words.iter().for_each(|&word| *counts.entry(head(word)).or_default() += 1);
        let worth = |head: &Head, count: u32| {
            let is_whole = head.form == forms.whole();
            count >= HEAD_COUNT_LEAST && (!is_whole || wholes.contains(&head.bits))
        };
        let mut ranked: Vec<(Head, u32)> =
            counts.into_iter().filter(|(head, count)| worth(head, *count)).collect();
        ranked.sort_by_key(|&(head, count)| (Reverse(count), head));
        ranked.truncate((1 << HEADS_BITS) - 1);
        let heads: Vec<Head> = ranked.into_iter().map(|(head, _)| head).collect();
        let places = places(&heads);
        let empty = Model::of(Kind::Choice(1), []);
        let mut tables = Fields {
            forms,
            own_next: vec![None; heads.len()],
            own: heads.iter().map(|head| vec![None; head.form(forms).fields.len()]).collect(),
            heads,
            places,
            next: empty,
            streams: Vec::new(),
        };
        let seen = tables.see(text);
        tables.choose_next(&seen);
        tables.choose_fields(&seen);
        tables
    }

    fn see(&self, text: Text<'_>) -> Seen {
        let fields = self.own.iter().map(|fields| vec![Vec::new(); fields.len()]).collect();
        let mut seen = Seen { next: vec![Vec::new(); self.heads.len()], next_first: Vec::new(), fields };
        for (at_words, words) in text.blocks() {
            let (mut before, mut place_before): (u32, Option<usize>) = (0, None);
            for (at_words, &word) in (at_words..).zip(words) {
                let place = self.place(word);
                let choices = match place_before {
                    Some(before) => &mut seen.next[before],
                    None => &mut seen.next_first,
                };
                choices.push(place.map_or(0, |place| place as u32 + 1));
                if let Some(place) = place {
                    let form = self.heads[place].form(self.forms);
                    let coded = coded(self.forms, form, word, before, at_words);
                    seen.fields[place].iter_mut().zip(coded).for_each(|(field, coded)| field.push(coded));
                }
                (before, place_before) = (word, place);
            }
        }
        seen
    }

    /// Gives the heads behind a head a model of their own where that takes less, and makes the one for all of what is
    /// left to it.
    fn choose_next(&mut self, seen: &Seen) {
        let kind = Kind::Choice(self.heads.len() as u32 + 1);
        let all = seen.next.iter().flatten().chain(&seen.next_first).copied();
        let for_all = Model::of(kind, all);
        let mut left = seen.next_first.clone();
        for (place, choices) in seen.next.iter().enumerate() {
            let counts = counted(choices.iter().copied());
            // What is there once costs its place in the table, and is coded as 0 and by the one for all.
            let is_rare = |&&(choice, count): &&(u32, u32)| choice == 0 || count == 1;
            let rare: Vec<(u32, u32)> = counts.iter().filter(is_rare).copied().collect();
            let rare_count: u32 = rare.iter().map(|&(_, count)| count).sum();
            let mut own_counts: Vec<(u32, u32)> =
                counts.iter().filter(|count| !is_rare(count)).copied().collect();
            if rare_count > 0 {
                own_counts.insert(0, (0, rare_count));
            }
            let bits =
                |model: &Model, counts: &[(u32, u32)]| model.bits_of(counts).expect("it is made of them");
            let shared_bits = bits(&for_all, &counts);
            // Nearly all are not worth it at sight: a table has a bit at least for each choice up to its last one.
            let own = (u64::from(own_counts.last().map_or(0, |&(last, _)| last)) < shared_bits)
                .then(|| Model::of_counts(kind, &own_counts))
                .filter(|own| {
                    own.table_bits() + bits(own, &own_counts) + bits(&for_all, &rare) < shared_bits
                });
            if own.is_some() {
                self.own_next[place] = own;
                left.extend(rare.iter().flat_map(|&(choice, count)| vec![choice; count as usize]));
            } else {
                left.extend(choices);
            }
        }
        self.next = Model::of(kind, left);
    }

    /// Gives fields a model of their own where that takes less, and makes those of the streams of what is left to them.
    fn choose_fields(&mut self, seen: &Seen) {
        // What leaves a stream changes its model, and may be what lets another leave it.
        for _ in 0..ROUNDS {
            self.streams = self.stream_models(seen);
            for place in 0..self.heads.len() {
                for field in 0..self.own[place].len() {
                    let stream = self.heads[place].form(self.forms).fields[field].stream;
                    let counts = counted(seen.fields[place][field].iter().copied());
                    let own = Model::of_counts(self.forms.streams[stream], &counts);
                    let own_bits = own.bits_of(&counts).map(|bits| bits + own.table_bits());
                    let shared_bits = self.streams[stream].bits_of(&counts);
                    let is_less = shared_bits.is_none_or(|shared_bits| own_bits < Some(shared_bits));
                    if self.own[place][field].is_none() && is_less {
                        self.own[place][field] = Some(own);
                    }
                }
            }
        }
        self.streams = self.stream_models(seen);
    }

    fn stream_models(&self, seen: &Seen) -> Vec<Model> {
        let mut left: Vec<Vec<u32>> = vec![Vec::new(); self.forms.streams.len()];
        for (place, head) in self.heads.iter().enumerate() {
            for (index, field) in head.form(self.forms).fields.iter().enumerate() {
                if self.own[place][index].is_none() {
                    left[field.stream].extend(&seen.fields[place][index]);
                }
            }
        }
        let models = self.forms.streams.iter().zip(left);
        models.map(|(&kind, left)| Model::of(kind, left)).collect()
    }

    /// The words that would take less as a whole, a place in the table included.
    fn worth_as_wholes(&self, text: Text<'_>) -> HashSet<u32> {
        let mut bits_by_fields: HashMap<u32, u64> = HashMap::new();
        for (at_words, words) in text.blocks() {
            let mut before = 0;
            for (at_words, &word) in (at_words..).zip(words) {
                *bits_by_fields.entry(word).or_default() +=
                    u64::from(self.bits_by_fields(word, before, at_words));
                before = word;
            }
        }
        let total = text.words.len() as f64;
        let mut wholes = HashSet::new();
        for (word, count) in ranked(text.words.iter().copied()) {
            let count_wide = f64::from(count);
            let place_bits = f64::from(self.forms.number_bits() + WORD_BITS + LENGTH_BITS);
            let whole_bits = count_wide * (total / count_wide).log2() + place_bits;
            if count >= HEAD_COUNT_LEAST && whole_bits < bits_by_fields[&word] as f64 {
                wholes.insert(word);
            }
        }
        wholes
    }

    /// What a word takes by its fields, about.
    fn bits_by_fields(&self, word: u32, before: u32, at_words: u32) -> u32 {
        let head = Head::of(self.forms, word);
        let Some(&place) = self.places.get(&head) else { return UNKNOWN_BITS + WORD_BITS };
        let coded = coded(self.forms, head.form(self.forms), word, before, at_words);
        let fields = coded
            .iter()
            .enumerate()
            .map(|(field, &coded)| self.model(place, field).bits(coded).unwrap_or(UNKNOWN_BITS));
        self.next.bits(place as u32 + 1).unwrap_or(UNKNOWN_BITS) + fields.sum::<u32>()
    }
}
