//! Assembly texts broken at random, one instruction at a time: what the attacks on the proof share.
#![allow(dead_code)] // each test file uses some of it

pub mod random;

use random::Random;

fn is_instruction(line: &str) -> bool {
    line.starts_with([' ', '\t']) && line.trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Directives stand on their own lines before an instruction, and go with it when it moves.
fn with_directives(lines: &[String], at: usize) -> usize {
    let before = lines[..at].iter().rev().take_while(|line| is_mark(line)).count();
    at - before
}

fn is_mark(line: &str) -> bool {
    let text = line.strip_prefix(";@weave ").or_else(|| line.split_once("$ .asciz \"").map(|(_, text)| text));
    text.is_some_and(|text| text.starts_with("event") || text.starts_with("over"))
}

const INVERSES: [[&str; 2]; 9] = [
    ["brne ", "breq "],
    ["brcc ", "brcs "],
    ["brpl ", "brmi "],
    ["brge ", "brlt "],
    ["brvc ", "brvs "],
    ["brhc ", "brhs "],
    ["brtc ", "brts "],
    ["brsh ", "brlo "],
    ["sbrs ", "sbrc "],
];

/// One random change of a text; what it was.
pub fn mutate(text: &str, random: &mut Random) -> Option<(String, String)> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let places: Vec<usize> = (0..lines.len()).filter(|&at| is_instruction(&lines[at])).collect();
    let at = places[random.below(places.len())];
    let line = lines[at].clone();
    let what = match random.below(5) {
        0 => {
            lines.remove(at);
            format!("removed{line}")
        }
        1 => {
            lines.insert(at, "    nop".to_owned());
            format!("nop before{line}")
        }
        2 => {
            // The next instruction with its marks comes before this one with its own.
            let next = *places.iter().find(|&&place| place > at)?;
            if lines[at + 1..next].iter().any(|line| !is_mark(line)) {
                return None;
            }
            let from = with_directives(&lines, at);
            lines[from..=next].rotate_left(at + 1 - from);
            format!("swapped{line} with{}", lines[from + next - at - 1])
        }
        3 => {
            let ways = INVERSES.iter().flat_map(|&[one, other]| [[one, other], [other, one]]);
            let [old, new] = { ways }.find(|[old, _]| line.contains(old))?;
            lines[at] = line.replace(old, new);
            format!("inverted{line}")
        }
        _ => {
            let (head, constant) = line.rsplit_once(", ")?;
            let constant: i64 = constant.parse().ok()?;
            let changed = match random.below(3) {
                0 => constant + 1,
                1 => constant - 1,
                _ => random.below(32) as i64,
            };
            lines[at] = format!("{head}, {changed}");
            format!("{line} to {changed}")
        }
    };
    let mutant = lines.join("\n") + "\n";
    (mutant != text).then_some((mutant, what))
}
