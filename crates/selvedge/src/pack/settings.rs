//! How a program is packed and sealed, as flags say it.
//!
//! Owns the flags that `analyze` and `build` share, and reading profiles. What each does is the tool's.

use std::path::{Path, PathBuf};

use ::pack::code::dict;
use ::pack::flow;
use ::pack::integrity::Integrity;
use ::pack::packing::Assignment;
use ::pack::place::Order;
use ::pack::{Profile, Program, Settings, sweep};
use clap::ValueEnum;
use selvedge::error::{Error, PackFault};

use super::read;

/// How instructions are given to packets.
#[derive(Clone, Copy, ValueEnum)]
enum Filling {
    /// The longest packet first, as in the paper
    Greedy,
    /// The fewest words in the program's order
    Optimal,
    /// Few words in any order that dependences allow
    Scheduled,
}

/// How a program is packed.
#[derive(clap::Args)]
#[command(next_help_heading = "Packing")]
pub struct Packing {
    /// What the dictionary is chosen for: `static` for size, `dynamic` for the fetches of profiled runs,
    /// `blend=PERCENT` for both with so much for fetches, `multi=ENTRIES` for fetches first and then size
    /// [default: static; blend=50 where the search for a cache begins]
    #[arg(long, value_name = "CHOICE", value_parser = dictionary)]
    dictionary: Option<dict::Choice>,
    /// How many instructions the dictionary may have
    #[arg(long, value_name = "N", default_value_t = Settings::default().entries)]
    entries: usize,
    /// How packets are filled
    #[arg(long, value_enum, default_value_t = Filling::Scheduled)]
    assignment: Filling,
    /// In which order functions lie: `given` by the linker, `hot` by profiles, or `seed=N` drawn
    #[arg(long, value_name = "ORDER", default_value = "given", value_parser = order)]
    order: Order,
    /// A profile, as `pack run --profile-out` writes it; several are of several inputs
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,
    /// Pack only these functions
    #[arg(long, value_name = "FUNCTION")]
    include: Vec<String>,
    /// Leave a function as it is, or a section of code, whose name begins with a dot
    #[arg(long, value_name = "NAME")]
    exclude: Vec<String>,
    /// Leave a function as it is that saves less than so many percent, of its fetches in one of the profiles that
    /// execute it, or else of its words. The program itself is left so when its image saves less than 1 %; with
    /// 0, when it saves nothing
    #[arg(long, value_name = "PERCENT", default_value_t = Settings::default().least_saving_percent)]
    least_saving: u8,
    /// Cut functions where nothing runs from one part into the next, and let the parts lie apart
    #[arg(long)]
    split: bool,
    /// Keep instructions as they are, also where another one does the same and is in the dictionary
    #[arg(long)]
    no_canonical: bool,
    /// Make no packets of format 2F, which the paper lacks
    #[arg(long)]
    no_far_branches: bool,
}

impl Packing {
    /// It as the tool takes it.
    pub fn settings(&self) -> Settings {
        let (sections, functions): (Vec<String>, Vec<String>) =
            self.exclude.iter().cloned().partition(|name| name.starts_with('.'));
        Settings {
            dictionary: self.dictionary.unwrap_or(Settings::default().dictionary),
            entries: self.entries,
            assignment: match self.assignment {
                Filling::Greedy => Assignment::Greedy,
                Filling::Optimal => Assignment::Optimal,
                Filling::Scheduled => Assignment::Scheduled,
            },
            canonical: !self.no_canonical,
            far_branches: !self.no_far_branches,
            order: self.order,
            choice: flow::Choice {
                include: self.include.clone(),
                exclude: functions,
                exclude_sections: sections,
                // What is run here returns from calls to words.
                link_slots: false,
                split: self.split,
            },
            least_saving_percent: self.least_saving,
        }
    }

    /// The same, where packing for caches begins.
    pub fn settings_for_caches(&self) -> Settings {
        let dictionary = self.dictionary.unwrap_or(sweep::Settings::default().packing.dictionary);
        Settings { dictionary, ..self.settings() }
    }

    /// Whether nobody asked for anything.
    pub fn is_default(&self) -> bool {
        self.profile.is_empty() && self.settings() == Settings::default()
    }

    /// The files of the profiles.
    pub fn profile_paths(&self) -> impl Iterator<Item = &Path> {
        self.profile.iter().map(PathBuf::as_path)
    }

    /// The profiles, which must be of this program.
    pub fn profiles(&self, program: &Program) -> Result<Vec<Profile>, Error> {
        let profile = |path: &PathBuf| {
            let text = String::from_utf8(read(path)?).map_err(|_| PackFault::NotText.of(path))?;
            let profile = Profile::parse(&text).map_err(|error| PackFault::from(error).of(path))?;
            let is_code = |address: u32| address.is_multiple_of(4) && program.code_at(address).is_some();
            let stray = profile.iter().map(|(address, _)| address).find(|&address| !is_code(address));
            match stray {
                Some(found) => Err(PackFault::Program(::pack::Error::ProfileAddress { found }).of(path)),
                None => Ok(profile),
            }
        };
        self.profile.iter().map(profile).collect()
    }
}

/// Reads what a dictionary is chosen for.
pub fn dictionary(text: &str) -> Result<dict::Choice, String> {
    let wrong = || format!("found `{text}`, expected static, dynamic, blend=PERCENT or multi=ENTRIES");
    Ok(match text.split_once('=') {
        None if text == "static" => dict::Choice::Static,
        None if text == "dynamic" => dict::Choice::Dynamic,
        Some(("blend", percent)) => {
            dict::Choice::Blend { dynamic_percent: percent.parse().map_err(|_| wrong())? }
        }
        Some(("multi", entries)) => {
            dict::Choice::Multi { dynamic_entries: entries.parse().map_err(|_| wrong())? }
        }
        _ => return Err(wrong()),
    })
}

fn order(text: &str) -> Result<Order, String> {
    let wrong = || format!("found `{text}`, expected given, hot or seed=N");
    Ok(match text.split_once('=') {
        None if text == "given" => Order::Given,
        None if text == "hot" => Order::Hot,
        Some(("seed", seed)) => Order::Seeded(seed.parse().map_err(|_| wrong())?),
        _ => return Err(wrong()),
    })
}

/// Reads `LINES` or `LINESxBYTES`.
pub fn integrity(text: &str) -> Result<Integrity, String> {
    let (lines, tag_bytes) = text.split_once('x').unwrap_or((text, "8"));
    let number = |text: &str| text.parse().map_err(|_| format!("found `{text}`, expected a number"));
    Integrity::new(number(lines)?, number(tag_bytes)?).map_err(|error| error.to_string())
}
