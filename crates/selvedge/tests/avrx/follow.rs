//! A running program and the model of the kernel beside it: each call is made in both at the instant at which the kernel
//! turns interrupts off for it, and whenever somebody runs, the kernel's data says what the model says.

use std::collections::{BTreeMap, VecDeque};

use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{Chip, Pin};
use rand_chacha::rand_core::Rng;

use super::Program;
use super::model::{Address, Answer, Model, SEMAPHORE, Semaphore, Task};
use crate::tasks::Stacks;

/// Bytes of a call's slot, and where its SREG is.
const SLOT_BYTES: u16 = 9;
const SLOT_SREG: u16 = 8;
const ON: u8 = 0x80;
/// What calls are about, and the bytes of one.
const ARRAYS: [(&str, u16); 5] =
    [("mutexes", 2), ("queues", 4), ("messages", 5), ("timers", 6), ("alarms", 8)];
/// Registers that hold nothing when a call begins: any value does.
const NO_ARGUMENTS: [u8; 6] = [18, 19, 26, 27, 30, 31];
/// INT0's handler, as a caller.
pub const HANDLER: u8 = 6;
/// What handlers take of the kernel's stack, some of them in others.
const HANDLERS_BYTES_MAX: u16 = 200;
/// More than a few calls take.
const PLAY_CYCLES_MAX: Cycles = 50_000;
/// Tasks, messages or timers in one queue, at most: more are a circle.
const QUEUE_MAX: usize = 32;

/// A call that is to be made. No service: the task returns.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub service: Option<String>,
    pub object: u16,
    pub number: u16,
    pub queue: u16,
    /// With interrupts off.
    pub is_quiet: bool,
}

impl Call {
    pub fn new(service: &str, object: u16, number: u16, queue: u16) -> Call {
        Call { service: Some(service.into()), object, number, queue, is_quiet: false }
    }

    /// The same with interrupts off.
    pub fn quietly(self) -> Call {
        Call { is_quiet: true, ..self }
    }
}

/// What a call comes back to.
#[derive(Clone)]
struct Return {
    sp: u16,
    pc: u32,
    answer: Answer,
    /// r2 to r17, r28 and r29.
    preserved: [u8; 18],
}

/// How deep stacks were, and whether an interrupt was answered.
pub struct Seen {
    pub stacks: Stacks,
    interrupt: bool,
}

impl isa::Observer for Seen {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.stacks.store(cycle, address, value);
    }
}

impl isa::avr::Observer for Seen {
    fn interrupt(&mut self, _cycle: Cycles, _vector: u8) {
        self.interrupt = true;
    }
}

/// `firmware/kernel/obey.c` under way.
pub struct Follow<'a> {
    pub program: &'a Program,
    pub chip: Chip,
    pub model: Model,
    /// What each caller was told to do last.
    pub told: BTreeMap<u8, Call>,
    /// How often each service was called.
    pub made: BTreeMap<String, usize>,
    /// Services that tasks have entered with interrupts on.
    entered: BTreeMap<Address, (String, [u16; 3])>,
    /// The call that the kernel is at, with interrupts off.
    inside: Option<Return>,
    /// Those of tasks, which others may have interrupted.
    returns: BTreeMap<Address, Return>,
    choose: u32,
    pub seen: Seen,
    was_settled: bool,
}

impl<'a> Follow<'a> {
    pub fn new(program: &'a Program) -> Follow<'a> {
        let mut model = Model::default();
        for (name, _) in ARRAYS {
            let own = if name == "mutexes" { 0 } else { SEMAPHORE };
            let semaphores = program.array(name).into_iter();
            model.semaphores.extend(semaphores.map(|address| (address + own, Semaphore::Pending)));
        }
        model.queues = program.array("queues").into_iter().map(|queue| (queue, Vec::new())).collect();
        let choose = program.image.symbol("choose").expect("the program has it").address;
        Follow {
            program,
            chip: program.chip.clone(),
            model,
            told: BTreeMap::new(),
            made: BTreeMap::new(),
            entered: BTreeMap::new(),
            inside: None,
            returns: BTreeMap::new(),
            choose,
            seen: Seen { stacks: program.stacks.clone(), interrupt: false },
            was_settled: false,
        }
    }

    /// Whoever runs, in the order of callers.
    pub fn task(&self, caller: u8) -> Address {
        self.program.data(&format!("task{caller}Pid"))
    }

    /// Forces INT0 or INT1.
    pub fn pulse(&mut self, number: u8) {
        let pin = Pin { bit: self.program.interrupt.bit + number, ..self.program.interrupt };
        let cycle = self.chip.cycle();
        self.chip.set_input(pin, Some(false), cycle, &mut ());
        self.chip.set_input(pin, Some(true), cycle + 1, &mut ());
    }

    pub fn running(&self) -> Address {
        self.program.running(&self.chip)
    }

    /// Runs until somebody asks for a call, and says who; none at this cycle.
    pub fn run(&mut self, until: Cycles) -> Option<u8> {
        while self.chip.cycle() < until {
            self.step();
            if self.chip.pc() == self.choose {
                let caller = self.chip.register(24);
                self.check_sreg(caller);
                let below = self.word(self.program.data("avrx_stack")).wrapping_sub(self.chip.sp());
                let is_handler = caller >= HANDLER;
                assert!(
                    !is_handler || below < HANDLERS_BYTES_MAX,
                    "handlers run on the kernel's stack: {below}"
                );
                return Some(caller);
            }
        }
        None
    }

    /// A call left interrupts as they were.
    fn check_sreg(&mut self, caller: u8) {
        let Some(call) = self.told.remove(&caller).filter(|call| call.service.is_some()) else { return };
        let sreg = self.program.byte(&self.chip, self.slot(caller) + SLOT_SREG);
        let (found, expected) = (sreg & ON, if call.is_quiet { 0 } else { ON });
        assert_eq!(found, expected, "interrupts behind {call:?}, at cycle {}", self.chip.cycle());
    }

    fn slot(&self, caller: u8) -> u16 {
        self.program.data("calls") + u16::from(caller) * SLOT_BYTES
    }

    /// Answers who asked.
    pub fn tell(&mut self, caller: u8, call: Call) {
        assert!(caller < HANDLER || call.is_quiet, "a handler calls with interrupts off");
        let address = |name: &String| {
            let symbol = self.program.image.symbol(name).unwrap_or_else(|| panic!("`{name}` is a service"));
            (symbol.address / 2) as u16
        };
        let words = [call.service.as_ref().map_or(0, address), call.object, call.number, call.queue];
        let sreg = if call.is_quiet { 0 } else { ON };
        let bytes = words.into_iter().flat_map(u16::to_le_bytes).chain([sreg]);
        for (at, byte) in (self.slot(caller)..).zip(bytes) {
            assert!(self.chip.set_memory(at, byte), "slots are in RAM");
        }
        self.told.insert(caller, call);
    }

    /// One instruction, or the answer to an interrupt.
    fn step(&mut self) {
        let was_outside = self.program.is_outside(&self.chip);
        let (running, sp, cycle) = (self.running(), self.chip.sp(), self.chip.cycle());
        self.chip.run_until(self.chip.cycle() + 1, &mut self.seen);
        if std::mem::take(&mut self.seen.interrupt) {
            self.was_settled = false;
            return;
        }
        let is_off = self.chip.sreg() & ON == 0;
        if was_outside
            && is_off
            && let Some((service, arguments)) = self.entered.remove(&running)
        {
            self.make(&service, arguments, running);
        }
        let pc = self.chip.pc();
        if self.chip.sp() + 2 == sp && self.inside.is_none() && self.program.services.contains_key(&pc) {
            NO_ARGUMENTS.into_iter().for_each(|number| self.chip.set_register(number, cycle as u8 ^ number));
        }
        if let Some(service) = self.program.services.get(&pc) {
            let arguments = [24, 22, 20]
                .map(|low| u16::from_le_bytes([self.chip.register(low), self.chip.register(low + 1)]));
            if service == "AvrXInitTask" {
                self.prepare(arguments[0]);
            } else if !is_off && self.program.is_task(&self.chip) {
                self.entered.insert(running, (service.clone(), arguments));
            } else if is_off && self.inside.is_none() {
                self.make(service, arguments, running);
            }
        }
        self.check_return();
        let is_settled = self.program.is_outside(&self.chip) || self.program.is_at_rest(&self.chip);
        if is_settled && !self.was_settled {
            self.inside = None;
            self.check();
        }
        self.was_settled = is_settled;
    }

    /// The task of this block of flash.
    fn prepare(&mut self, block: u16) {
        let block = &self.chip.flash()[usize::from(block)..][..7];
        let task = u16::from_le_bytes([block[4], block[5]]);
        self.model.prepare(task, block[6]);
        *self.made.entry("AvrXInitTask".into()).or_default() += 1;
    }

    /// The kernel begins a call.
    fn make(&mut self, service: &str, arguments: [u16; 3], running: Address) {
        let Some(answer) = self.model.call(service, arguments, running) else { return };
        *self.made.entry(service.into()).or_default() += 1;
        let sp = self.chip.sp();
        let [high, low] = [1, 2].map(|byte| self.program.byte(&self.chip, sp + byte));
        let pc = u32::from(u16::from_be_bytes([high, low])) * 2;
        let returns = Return { sp: sp + 2, pc, answer, preserved: self.preserved() };
        if self.program.is_task(&self.chip) {
            self.returns.insert(running, returns.clone());
        }
        self.inside = Some(returns);
        if service == "AvrXTerminate" {
            let task = arguments[0];
            self.returns.remove(&task);
            self.entered.remove(&task);
            let caller = (0..).find(|&caller| self.task(caller) == task).expect("each task is a caller");
            self.told.remove(&caller);
        }
    }

    /// Who comes back from a call is told what the model says, and finds its registers.
    fn check_return(&mut self) {
        let (here, running) = ((self.chip.sp(), self.chip.pc()), self.running());
        let is_task = self.program.is_task(&self.chip);
        let returns = if is_task { self.returns.get(&running) } else { self.inside.as_ref() };
        let Some(returns) = returns.filter(|returns| (returns.sp, returns.pc) == here) else { return };
        let result = u16::from_le_bytes([self.chip.register(24), self.chip.register(25)]);
        let at = format!("at cycle {}", self.chip.cycle());
        match returns.answer {
            Answer::Word(word) => assert_eq!(result, word, "{at}"),
            Answer::Byte(byte) => assert_eq!(result as u8, byte, "{at}"),
            Answer::Nothing => {}
        }
        assert_eq!(self.preserved(), returns.preserved, "registers, {at}");
        if is_task {
            self.returns.remove(&running);
        }
        self.inside = None;
    }

    fn preserved(&self) -> [u8; 18] {
        let mut numbers = (2..=17).chain(28..=29);
        std::array::from_fn(|_| self.chip.register(numbers.next().expect("there are as many")))
    }

    /// Gives registers that obey.c leaves alone to the task that asks.
    pub fn scramble(&mut self, rng: &mut impl Rng) {
        (2..16).for_each(|number| self.chip.set_register(number, rng.next_u32() as u8));
    }

    /// Has callers make these calls, each its own in this order; a handler's as soon as the one before it is told. Who has
    /// none left waits for ever. Returns who asked.
    pub fn play(&mut self, calls: impl IntoIterator<Item = (u8, Call)>) -> Vec<u8> {
        let mut calls: VecDeque<(u8, Call)> = calls.into_iter().collect();
        let mut asked = Vec::new();
        while let Some(caller) = self.run(PLAY_CYCLES_MAX) {
            asked.push(caller);
            let own = calls.iter().position(|(of, _)| *of == caller);
            let never = || Call::new("AvrXWaitSemaphore", self.program.array("mutexes")[2], 0, 0);
            let call = own.and_then(|own| calls.remove(own)).map_or_else(never, |(_, call)| call);
            self.tell(caller, call);
            if calls.front().is_some_and(|(next, _)| *next == HANDLER) {
                self.pulse(0);
            }
        }
        assert!(calls.is_empty(), "{calls:?} are left");
        asked
    }

    fn list(&self, first: u16) -> Vec<Address> {
        let mut list = Vec::new();
        let mut next = self.word(first);
        while next != 0 {
            assert!(list.len() < QUEUE_MAX, "the queue at {first:#x} is a circle");
            list.push(next);
            next = self.word(next);
        }
        list
    }

    fn word(&self, address: u16) -> u16 {
        self.program.word(&self.chip, address)
    }

    /// The kernel's data says what the model says.
    fn check(&self) {
        let (chip, model) = (&self.chip, &self.model);
        let at = format!("at cycle {}", chip.cycle());
        assert_eq!(self.program.ready(chip), model.ready, "tasks that can run, {at}");
        // Idle looks by itself whether there is one.
        if self.program.is_task(chip) {
            assert_eq!(Some(&self.running()), model.ready.first(), "the task that runs, {at}");
        }
        let prepared: Vec<Address> = self.prepared();
        for (&address, task) in model.tasks.iter().filter(|(task, _)| !prepared.contains(task)) {
            let Task { priority, is_suspended, is_held, is_dead, .. } = *task;
            let flags = u8::from(is_suspended) << 5 | u8::from(is_held) << 6 | u8::from(is_dead) << 7;
            let found = [2, 3].map(|byte| self.program.byte(chip, address + byte));
            assert_eq!(found, [flags, priority], "flags and priority of task {address:#x}, {at}");
        }
        for (&address, semaphore) in &model.semaphores {
            let found = match self.word(address) {
                0 => Semaphore::Pending,
                1 => Semaphore::Done,
                2 => Semaphore::Message,
                _ => Semaphore::Waiting(self.list(address)),
            };
            assert_eq!(found, *semaphore, "semaphore {address:#x}, {at}");
        }
        for (&address, messages) in &model.queues {
            assert_eq!(self.list(address), *messages, "queue {address:#x}, {at}");
        }
        let mut due = model.ticks;
        let timers = self.list(self.program.data("avrx_timers")).into_iter().map(|timer| {
            due += u64::from(self.word(timer + 4));
            (timer, due)
        });
        let expected = model.timers.iter().map(|timer| (timer.address, timer.due));
        assert_eq!(timers.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "timers, {at}");
    }

    /// Tasks that others are told to prepare: a moment when they are half done may be seen.
    pub fn prepared(&self) -> Vec<Address> {
        let tasks = self
            .told
            .values()
            .filter(|call| matches!(call.service.as_deref(), Some("AvrXInitTask" | "AvrXRunTask")));
        tasks.map(|call| self.task_of(call.object)).collect()
    }

    /// The task of a block in flash.
    pub fn task_of(&self, block: u16) -> Address {
        let block = &self.chip.flash()[usize::from(block)..];
        u16::from_le_bytes([block[4], block[5]])
    }
}

impl Program {
    /// The elements of an array of obey.c.
    pub fn array(&self, name: &str) -> Vec<Address> {
        let (_, bytes) =
            ARRAYS.into_iter().find(|(other, _)| *other == name).expect("there is such an array");
        let symbol = self.image.symbol(name).unwrap_or_else(|| panic!("the program has `{name}`"));
        assert_eq!(symbol.space, Space::Data, "{name}");
        let first = symbol.address as u16;
        (0..symbol.bytes as u16 / bytes).map(|index| first + index * bytes).collect()
    }
}
