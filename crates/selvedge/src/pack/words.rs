//! What packing and sealing report, in the words of people and the keys of JSON.
//!
//! Owns the names; the figures are the tool's.

use ::pack::code::Code;
use ::pack::code::onfill::stored;
use ::pack::container::Container;
use ::pack::image::Kind;
use ::pack::lines::{Entry as Part, Role};
use ::pack::packing::{Alone, Fetches, Nothing, Report};
use report::table::{Column, Entry, Table};
use serde_json::{Value, json};

/// A part in percent; nothing of nothing is nothing.
pub fn percent(part: impl Into<f64>, whole: impl Into<f64>) -> f64 {
    let whole = whole.into();
    if whole == 0.0 { 0.0 } else { 100.0 * part.into() / whole }
}

/// The ratio of a program with the tags of its code, and what these take in bytes; `None` without tags.
pub fn with_tags(report: &Report, container: &Container) -> Option<(f64, u64)> {
    let bytes = container.integrity().map(|_| container.code_tags_bytes())?;
    Some((report.ratio_with_tags(bytes), bytes))
}

/// Why nothing would be packed, if that is so.
pub fn nothing(report: &Report) -> Option<&'static str> {
    Some(match report.nothing? {
        Nothing::NoRelocations => {
            "nothing is packed: the file has no relocations, which say what of it are addresses of code\n\
             help: link it with `-Wl,-q`, or take a code that is decoded on fill, such as `--scheme fields`"
        }
        Nothing::NoGain => {
            "nothing is packed: with its dictionary the image would not clearly be smaller, or not fetch clearly\n\
             less in every profile\n\
             help: `--least-saving 0` packs what fetches no more"
        }
    })
}

/// Which words stay words, and which are packets.
pub fn packing_tables(report: &Report) -> [Table; 2] {
    let words = || Column::new("words");
    let share = || Column::new("share").unit("%").decimals(1);
    let mut packets = Table::new("Packets", [Column::new("format"), Column::new("slots"), words(), share()]);
    let all = f64::from(report.packed_words);
    for (&(format, slots), &count) in &report.formats {
        let cells = [Entry::from(format), u32::from(slots).into(), count.into(), percent(count, all).into()];
        packets.push(cells);
    }
    let mut alone = Table::new("Words that stay words", [Column::new("why"), words(), share()]);
    let mut reasons: Vec<_> = report.alone.iter().collect();
    reasons.sort_by_key(|&(why, &count)| (std::cmp::Reverse(count), *why));
    for (&why, &count) in reasons {
        alone.push([self::alone(why).into(), count.into(), percent(count, all).into()]);
    }
    [packets, alone]
}

/// Why an instruction is a word.
pub fn alone(why: Alone) -> String {
    match why {
        Alone::Pinned(reason) => reason.to_string(),
        Alone::NotInDictionary => "not in the dictionary".into(),
        Alone::Far => "a branch that goes too far".into(),
        Alone::NoNeighbour => "nothing fits beside it".into(),
    }
}

/// What packing did; of a container with tags, with what these take.
pub fn report(report: &Report, container: Option<&Container>) -> Value {
    let tags = container.and_then(|container| with_tags(report, container));
    let format =
        |(key, words): (&(&str, u8), &u32)| json!({ "format": key.0, "slots": key.1, "words": words });
    let alone = |(&why, &words): (&Alone, &u32)| json!({ "why": self::alone(why), "words": words });
    let fetches = |Fetches { plain, packed }: &Fetches| json!({ "plain": plain, "packed": packed });
    json!({
        "plain_words": report.plain_words, "packed_words": report.packed_words,
        "dictionary_bytes": report.dictionary_bytes, "ratio": report.ratio(),
        "ratio_with_tags": tags.map(|(ratio, _)| ratio), "tags_bytes": tags.map(|(_, bytes)| bytes),
        "packets": report.formats.iter().map(format).collect::<Vec<_>>(),
        "alone": report.alone.iter().map(alone).collect::<Vec<_>>(),
        "rewritten": report.rewritten, "padding_words": report.padding_words,
        "functions_packed": report.pieces_packed, "functions": report.pieces,
        "fetches": report.fetches.iter().map(fetches).collect::<Vec<_>>(),
        "nothing": report.nothing.map(|nothing| match nothing {
            Nothing::NoRelocations => "no relocations",
            Nothing::NoGain => "no gain",
        }),
    })
}

/// What compressing did, for a person.
pub fn compressed(report: &stored::Report, block_bytes: u32) -> String {
    let stored::Report { plain_bytes, model_bytes, table_bytes, blocks_bytes, blocks, plain_blocks } = report;
    let ratio = 100.0 * report.ratio();
    format!(
        "compressed: {plain_bytes} bytes of code as {blocks_bytes}, with a model of {model_bytes} and a table of \
         {table_bytes}: {ratio:.1} %\n\
         blocks: {blocks} of {block_bytes} bytes of code, of which {plain_blocks} are left as they are\n"
    )
}

/// That compressing would not have made the code smaller, for a person.
pub fn not_smaller(found_bytes: u32, limit_bytes: u32) -> String {
    format!(
        "nothing is compressed: code and tables would take {found_bytes} bytes, and the code takes {limit_bytes}\n"
    )
}

/// The same for a machine.
pub fn no_compression(code: Code, plain_bytes: u32, block_bytes: u32) -> Value {
    json!({
        "code": code.name(), "block_bytes": block_bytes, "plain_bytes": plain_bytes, "code_bytes": plain_bytes,
        "tables_bytes": 0, "model_bytes": 0, "table_bytes": 0, "ratio": 1.0, "blocks": 0, "plain_blocks": 0,
        "nothing": "no gain",
    })
}

/// What compressing did for a machine, with the keys of an analysis.
pub fn compression(code: Code, report: &stored::Report, block_bytes: u32) -> Value {
    json!({
        "code": code.name(), "block_bytes": block_bytes, "plain_bytes": report.plain_bytes,
        "code_bytes": report.blocks_bytes, "tables_bytes": report.model_bytes + report.table_bytes,
        "model_bytes": report.model_bytes, "table_bytes": report.table_bytes, "ratio": report.ratio(),
        "blocks": report.blocks, "plain_blocks": report.plain_blocks, "nothing": null,
    })
}

/// What a section holds.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Program(Kind::Code) => "code",
        Role::Program(Kind::Constants) => "constants",
        Role::Program(Kind::Data) => "data",
        Role::Program(Kind::Model) => "model",
        Role::Program(Kind::Blocks) => "blocks",
        Role::Dictionary => "dictionary",
        Role::Tags => "tags",
    }
}

/// The sections of a container.
pub fn sections(container: &Container) -> Table {
    let columns = ["section", "address", "bytes", "holds", "sealed"].map(Column::new);
    let mut table = Table::new("Memory", columns);
    for part in container.entries() {
        let (first, sealed) = (format!("{:#010x}", part.first), if part.is_sealed { "yes" } else { "no" });
        let cells = [Entry::from(part.name.as_str()), first.into(), part.bytes.into()];
        table.push(cells.into_iter().chain([role(part.role).into(), sealed.into()]));
    }
    table
}

/// The image's id, without the zeros behind it.
fn id(container: &Container) -> String {
    container.image().id.escape_ascii().to_string().trim_end_matches("\\x00").to_owned()
}

/// What a container says of itself, a fact a line.
pub fn facts(container: &Container) -> Vec<(&'static str, String)> {
    let image = container.image();
    let id = match id(container) {
        id if id.is_empty() => "without an id".to_owned(),
        id => format!("`{id}`"),
    };
    let integrity = container.integrity().map_or("none: nothing vouches for what is in it".into(), |kind| {
        format!("of {} bytes over {} lines", kind.tag_bytes(), kind.lines())
    });
    vec![
        ("image", format!("{id}, version {}", image.version)),
        ("seal", container.seal().to_string()),
        ("tags", integrity),
        ("entry", format!("{:#010x}", container.entry())),
        ("address map", format!("{} instructions", container.map().len())),
    ]
}

/// The same for a machine.
pub fn container(container: &Container) -> Value {
    let image = container.image();
    let part = |part: &Part| {
        json!({
            "name": part.name, "first": part.first, "bytes": part.bytes, "holds": role(part.role),
            "sealed": part.is_sealed,
        })
    };
    json!({
        "machine": container.machine().number, "entry": container.entry(), "version": image.version,
        "id": id(container),
        "seal": container.seal().row().seal, "layout": container.seal().row().layout,
        "integrity": container.integrity().map(|kind| json!({ "lines": kind.lines(), "tag_bytes": kind.tag_bytes() })),
        "sections": container.entries().iter().map(part).collect::<Vec<_>>(),
        "map_instructions": container.map().len(),
    })
}
