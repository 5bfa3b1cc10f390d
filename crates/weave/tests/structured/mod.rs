//! Random structured hosts, from bytes: conditionals and loops in each other, counted and not, calls, stack, memory
//! through pointers, flags that live from one block into the next. Every one of them ends, and writes only the memory
//! that it is given.
//!
//! `host(uint8_t *memory, uint8_t number)` returns 16 bits. The fuzz target and a seeded test share this file.
#![allow(dead_code)] // each program that includes it uses some of it

use std::fmt::Write;

/// Bytes of the host's memory.
pub const MEMORY_BYTES: usize = 32;
/// Statements of one function, at most.
const STATEMENTS_MAX: usize = 24;
/// Conditionals and loops in each other, at most.
const DEPTH_MAX: usize = 3;
/// Loops in each other, at most: a call from the inner one may go as deep again.
const LOOPS_MAX: usize = 2;
/// Instructions that a short branch may have to pass.
const BRANCH_LINES_MAX: usize = 40;

const BRANCHES: [&str; 16] = [
    "breq", "brne", "brcs", "brcc", "brmi", "brpl", "brge", "brlt", "brvs", "brvc", "brhs", "brhc", "brts",
    "brtc", "brlo", "brsh",
];
const TWO: [&str; 8] = ["add", "adc", "sub", "sbc", "and", "or", "eor", "mov"];
const ONE: [&str; 9] = ["com", "neg", "swap", "inc", "dec", "asr", "lsr", "ror", "rol"];
const CONSTANT: [&str; 6] = ["ldi", "subi", "sbci", "andi", "ori", "cpi"];

/// Numbers from bytes; zeros when they run out, so that every input ends.
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices(bytes.iter())
    }

    /// A number below `limit`, which is 256 at most.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0.next().map_or(0, |&byte| usize::from(byte) % limit)
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub fn is_over(&self) -> bool {
        self.0.len() == 0
    }
}

/// A host as assembly, with what it calls.
pub fn host(choices: &mut Choices) -> String {
    let callees = choices.below(3);
    let mut text = String::from("\t.text\n");
    // Few registers and all that a call may change, or also some that it may not.
    let kept: &[u8] = [&[][..], &[16, 17], &[2, 7, 14, 15, 16, 17]][choices.below(3)];
    let pointer = choices.one_of(&['X', 'Y', 'Z']);
    let most = 4 + choices.below(6);
    let mut data: Vec<u8> = [24, 25, 18, 22, 20, 0, 19, 21, 23].into_iter().take(most).collect();
    data.extend(kept);
    for index in 0..=callees {
        let mut writer = Writer {
            choices,
            text: String::new(),
            function: index,
            // The host is the last function: it calls those before it.
            callees: if index == callees { callees } else { 0 },
            data: data.clone(),
            pointer,
            labels: 0,
            statements: STATEMENTS_MAX,
            loops: 0,
        };
        let name = if index == callees { "host".to_owned() } else { format!("f{index}") };
        let body = writer.function(&name, kept);
        let _ = write!(text, "\t.global {name}\n\t.type {name}, @function\n{body}\t.size {name}, .-{name}\n");
    }
    text
}

struct Writer<'a, 'b> {
    choices: &'a mut Choices<'b>,
    text: String,
    function: usize,
    callees: usize,
    data: Vec<u8>,
    pointer: char,
    labels: usize,
    statements: usize,
    loops: usize,
}

/// Counters of loops in each other.
const COUNTERS: [u8; LOOPS_MAX] = [26, 17];

impl Writer<'_, '_> {
    fn say(&mut self, line: &str) {
        let _ = writeln!(self.text, "\t{line}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!(".L{}_{}", self.function, self.labels)
    }

    fn put(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    fn any(&mut self) -> u8 {
        let data = &self.data;
        self.choices.one_of(data)
    }

    /// One that takes constants.
    fn upper(&mut self) -> u8 {
        let upper: Vec<u8> = self.data.iter().copied().filter(|&register| register >= 16).collect();
        self.choices.one_of(&upper)
    }

    fn counters(&self) -> [u8; LOOPS_MAX] {
        // X is a pointer here, or its lower half counts; r17 is no data then.
        if self.pointer == 'X' { [30, 31] } else { COUNTERS }
    }

    fn function(&mut self, name: &str, kept: &[u8]) -> String {
        let is_host = name == "host";
        self.data.retain(|register| *register != 17 || self.pointer == 'X');
        let mut saved: Vec<u8> = self.counters().to_vec();
        if is_host {
            saved = kept.to_vec();
            saved.extend(
                self.counters().into_iter().filter(|counter| *counter == 17 && !kept.contains(counter)),
            );
            saved.extend(if self.pointer == 'Y' { &[28, 29][..] } else { &[] });
        }
        let _ = writeln!(self.text, "{name}:");
        if is_host {
            self.text.push_str(";@weave arguments 2 1\n");
        }
        for register in &saved {
            self.say(&format!("push r{register}"));
        }
        if is_host {
            let pair = ["r26", "r28", "r30"][(self.pointer as u8 - b'X') as usize];
            self.say(&format!("movw {pair}, r24"));
            // What registers and flags hold at a call is not said.
            for register in self.data.clone() {
                match register {
                    22 => {}
                    16.. => self.say(&format!("ldi r{register}, {}", 7 * register)),
                    _ => self.say(&format!("mov r{register}, r22")),
                }
            }
            self.say("cp r22, r24");
            self.say("bst r22, 0");
        }
        let count = 1 + self.choices.below(8);
        self.block(0, count);
        for register in saved.iter().rev() {
            self.say(&format!("pop r{register}"));
        }
        self.say("ret");
        std::mem::take(&mut self.text)
    }

    fn block(&mut self, depth: usize, count: usize) {
        for _ in 0..count {
            if self.statements == 0 || self.choices.is_over() {
                return;
            }
            self.statements -= 1;
            self.statement(depth);
        }
    }

    /// A block as text of its own, which is not in place yet.
    fn apart(&mut self, depth: usize) -> String {
        let before = std::mem::take(&mut self.text);
        let count = 1 + self.choices.below(4);
        self.block(depth + 1, count);
        std::mem::replace(&mut self.text, before)
    }

    fn statement(&mut self, depth: usize) {
        match self.choices.below(17) {
            0..=4 => self.compute(),
            5 => self.load(),
            6 => self.store(),
            7 => self.skip(),
            8 => self.flags_across(),
            9 | 10 if depth < DEPTH_MAX => self.conditional(depth),
            11 if depth < DEPTH_MAX && self.loops < LOOPS_MAX => self.counted(depth),
            12 if depth < DEPTH_MAX && self.loops < LOOPS_MAX => self.counted_by_data(depth),
            13 if self.callees > 0 => {
                let callee = self.choices.below(self.callees);
                self.say(&format!("rcall f{callee}"));
            }
            14 if depth < DEPTH_MAX => self.on_the_stack(depth),
            15 => self.multiply(),
            16 => self.carry_bit(),
            _ => self.compute(),
        }
    }

    fn compute(&mut self) {
        let (a, b, upper) = (self.any(), self.any(), self.upper());
        let line = match self.choices.below(4) {
            0 | 1 => format!("{} r{a}, r{b}", self.choices.one_of(&TWO)),
            2 => format!("{} r{a}", self.choices.one_of(&ONE)),
            _ => format!("{} r{upper}, {}", self.choices.one_of(&CONSTANT), self.choices.below(256)),
        };
        self.say(&line);
    }

    fn multiply(&mut self) {
        let (a, b, c) = (self.any(), self.any(), self.any());
        self.say(&format!("mul r{a}, r{b}"));
        self.say(&format!("mov r{c}, r0"));
        self.say("clr r1");
    }

    /// A bit that lives in T for a while.
    fn carry_bit(&mut self) {
        let (a, b, from, to) = (self.any(), self.any(), self.choices.below(8), self.choices.below(8));
        self.say(&format!("bst r{a}, {from}"));
        for _ in 0..1 + self.choices.below(6) {
            self.compute();
        }
        self.say(&format!("bld r{b}, {to}"));
    }

    fn load(&mut self) {
        let (a, place) = (self.any(), self.choices.below(MEMORY_BYTES));
        match self.pointer {
            'X' if place < 2 => {
                let b = self.any();
                self.say(&format!("ld r{a}, X+"));
                self.say(&format!("ld r{b}, -X"));
            }
            'X' => self.say(&format!("ld r{a}, X")),
            pointer => self.say(&format!("ldd r{a}, {pointer}+{place}")),
        }
    }

    fn store(&mut self) {
        let (a, place) = (self.any(), self.choices.below(MEMORY_BYTES));
        match self.pointer {
            'X' if place < 8 => {
                let b = self.any();
                self.say(&format!("st X+, r{a}"));
                self.say(&format!("st -X, r{b}"));
            }
            'X' => self.say(&format!("st X, r{a}")),
            pointer => self.say(&format!("std {pointer}+{place}, r{a}")),
        }
    }

    /// A skip over one word.
    fn skip(&mut self) {
        let (a, b, bit) = (self.any(), self.any(), self.choices.below(8));
        let line = match self.choices.below(3) {
            0 => format!("sbrc r{a}, {bit}"),
            1 => format!("sbrs r{a}, {bit}"),
            _ => format!("cpse r{a}, r{b}"),
        };
        self.say(&line);
        self.compute();
    }

    /// Flags that are made before a branch and used behind where its ways meet.
    fn flags_across(&mut self) {
        let (a, b, c, d) = (self.any(), self.any(), self.any(), self.any());
        let label = self.label();
        let line = format!("{} r{a}, r{b}", ["add", "sub", "cp"][self.choices.below(3)]);
        self.say(&line);
        let line = format!("{} {label}", self.choices.one_of(&BRANCHES));
        self.say(&line);
        self.say(&format!("mov r{a}, r{c}"));
        self.put(&label);
        let line = format!("{} r{c}, r{d}", ["adc", "sbc"][self.choices.below(2)]);
        self.say(&line);
    }

    /// A question about data, for a branch behind it.
    fn ask(&mut self) -> &'static str {
        let (a, b, upper) = (self.any(), self.any(), self.upper());
        let line = match self.choices.below(4) {
            0 => format!("cp r{a}, r{b}"),
            1 => format!("cpi r{upper}, {}", self.choices.below(256)),
            2 => format!("tst r{a}"),
            _ => format!("bst r{a}, {}", self.choices.below(8)),
        };
        self.say(&line);
        self.choices.one_of(&BRANCHES)
    }

    /// A branch over lines, which is long when they are many.
    fn branch_over(&mut self, branch: &str, label: &str, lines: &str) {
        if lines.lines().count() <= BRANCH_LINES_MAX {
            self.say(&format!("{branch} {label}"));
            return;
        }
        let (away, on) = (self.label(), self.label());
        self.say(&format!("{branch} {away}"));
        self.say(&format!("rjmp {on}"));
        self.put(&away);
        self.say(&format!("rjmp {label}"));
        self.put(&on);
    }

    fn conditional(&mut self, depth: usize) {
        let branch = self.ask();
        let (other, end) = (self.label(), self.label());
        let first = self.apart(depth);
        let has_second = self.choices.below(2) == 1;
        self.branch_over(branch, &other, &first);
        self.text.push_str(&first);
        if has_second {
            let second = self.apart(depth);
            self.say(&format!("rjmp {end}"));
            self.put(&other);
            self.text.push_str(&second);
        } else {
            self.put(&other);
        }
        self.put(&end);
    }

    fn counted(&mut self, depth: usize) {
        let rounds = 1 + self.choices.below(6);
        let counter = self.counters()[self.loops];
        self.say(&format!("ldi r{counter}, {rounds}"));
        self.rounds(depth, counter);
    }

    /// As often as data says, which may be never.
    fn counted_by_data(&mut self, depth: usize) {
        let counter = self.counters()[self.loops];
        let (a, end) = (self.any(), self.label());
        self.say(&format!("mov r{counter}, r{a}"));
        let line = format!("andi r{counter}, {}", self.choices.one_of(&[1, 3, 7]));
        self.say(&line);
        let around = self.label();
        self.say(&format!("brne {around}"));
        self.say(&format!("rjmp {end}"));
        self.put(&around);
        self.rounds(depth, counter);
        self.put(&end);
    }

    /// A loop over a counter that is not zero, with a second way out or without.
    fn rounds(&mut self, depth: usize, counter: u8) {
        let (again, out) = (self.label(), self.label());
        self.loops += 1;
        let first = self.apart(depth);
        let breaks = self.choices.below(4) == 0;
        let second = if breaks { self.apart(depth) } else { String::new() };
        self.loops -= 1;
        self.put(&again);
        self.text.push_str(&first);
        if breaks {
            let branch = self.ask();
            self.branch_over(branch, &out, &second);
            self.text.push_str(&second);
        }
        self.say(&format!("dec r{counter}"));
        if first.lines().count() + second.lines().count() <= BRANCH_LINES_MAX {
            self.say(&format!("brne {again}"));
        } else {
            self.say(&format!("breq {out}"));
            self.say(&format!("rjmp {again}"));
        }
        self.put(&out);
    }

    fn on_the_stack(&mut self, depth: usize) {
        let a = self.any();
        let within = self.apart(depth);
        self.say(&format!("push r{a}"));
        self.text.push_str(&within);
        self.say(&format!("pop r{a}"));
    }
}
