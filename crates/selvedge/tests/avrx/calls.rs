//! Random calls that avrx.h allows, for callers that a model follows.
//!
//! A call takes effect later than it is chosen: what another caller may spoil until then is left alone.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use super::follow::{Call, Follow};
use super::model::{Address, SEMAPHORE, Semaphore};

pub const TASKS: u8 = 6;
/// Ways to ask for a call before the caller is told one that is always allowed.
const TRIES: usize = 8;
const TICKS_MAX: u32 = 6;
/// The most urgent, the usual, and the least urgent ones, beyond which is idle.
const PRIORITIES: [u16; 9] = [0, 1, 2, 2, 3, 3, 5, 254, 255];

/// What may be called by whom.
#[derive(Clone, Copy)]
enum Kind {
    Set,
    Wait,
    Peek,
    Send,
    Receive,
    WaitMessage,
    Start,
    Delay,
    Cancel,
    StartMessage,
    CancelMessage,
    Tick,
    Rotate,
    Suspend,
    Resume,
    Prepare,
    Terminate,
    Exit,
    Priority,
}

use Kind::*;

/// As often as they stand here.
#[rustfmt::skip]
const OF_TASKS: [Kind; 27] = [
    Set, Set, Set, Set, Wait, Wait, Wait, Peek, Send, Send, Receive, WaitMessage, WaitMessage, Start, Delay,
    Cancel, StartMessage, CancelMessage, Rotate, Suspend, Resume, Resume, Prepare, Prepare, Terminate, Exit,
    Priority,
];
#[rustfmt::skip]
const OF_HANDLERS: [Kind; 30] = [
    Set, Set, Set, Set, Set, Set, Peek, Send, Send, Send, Receive, Start, Cancel, StartMessage, CancelMessage,
    Tick, Tick, Tick, Tick, Rotate, Suspend, Resume, Resume, Resume, Resume, Prepare, Prepare, Prepare, Terminate,
    Priority,
];

fn one<T: Copy>(rng: &mut ChaCha20Rng, of: &[T]) -> Option<T> {
    (!of.is_empty()).then(|| of[rng.next_u32() as usize % of.len()])
}

fn call(service: &str, object: u16, number: u16, queue: u16) -> Option<Call> {
    Some(Call::new(service, object, number, queue))
}

impl Follow<'_> {
    /// A call for who asks.
    pub fn random_call(&self, rng: &mut ChaCha20Rng, caller: u8) -> Call {
        let is_task = caller < TASKS;
        let kinds: &[Kind] = if is_task { &OF_TASKS } else { &OF_HANDLERS };
        let chosen = (0..TRIES).find_map(|_| {
            let kind = one(rng, kinds)?;
            self.of_kind(rng, kind, is_task)
        });
        let otherwise = if is_task { "AvrXYield" } else { "AvrXTimerHandler" };
        let mut chosen = chosen.or_else(|| call(otherwise, 0, 0, 0)).expect("there is another one");
        let service = chosen.service.clone().unwrap_or_default();
        // What a call does not ask for may be anything.
        if !["AvrXStartTimer", "AvrXSend", "AvrXIntSend", "AvrXDelay", "AvrXCancel", "AvrXChange"]
            .iter()
            .any(|asks| service.starts_with(asks))
        {
            chosen.number = rng.next_u32() as u16;
        }
        if service != "AvrXStartTimerMessage" {
            chosen.queue = rng.next_u32() as u16;
        }
        chosen.is_quiet = !is_task || (chosen.service.is_some() && rng.next_u32().is_multiple_of(4));
        chosen
    }

    fn of_kind(&self, rng: &mut ChaCha20Rng, kind: Kind, is_task: bool) -> Option<Call> {
        let ticks = match rng.next_u32() % 8 {
            0 => u16::MAX - (rng.next_u32() % TICKS_MAX) as u16,
            1 => 200 + (rng.next_u32() % 400) as u16, // a byte and more
            _ => (rng.next_u32() % TICKS_MAX) as u16,
        };
        let queue = one(rng, &self.program.array("queues"))?;
        match kind {
            Set => {
                self.about_semaphore(rng, ["AvrXSetSemaphore", "AvrXIntSetSemaphore"][usize::from(!is_task)])
            }
            Wait => self.about_semaphore(rng, "AvrXWaitSemaphore"),
            Peek => {
                let service = one(rng, &["AvrXTestSemaphore", "AvrXResetSemaphore"])?;
                self.about_semaphore(rng, service)
            }
            Send => {
                let service = if is_task { "AvrXSendMessage" } else { "AvrXIntSendMessage" };
                call(service, queue, self.idle(rng, "messages")?, 0)
            }
            Receive => call("AvrXRecvMessage", queue, 0, 0),
            WaitMessage => call("AvrXWaitMessage", queue, 0, 0),
            Start => call("AvrXStartTimer", self.idle(rng, "timers")?, ticks, 0),
            Delay => call("AvrXDelay", self.idle(rng, "timers")?, ticks, 0),
            Cancel => call("AvrXCancelTimer", one(rng, &self.program.array("timers"))?, 0, 0),
            StartMessage => call("AvrXStartTimerMessage", self.idle(rng, "alarms")?, ticks, queue),
            CancelMessage => {
                call("AvrXCancelTimerMessage", one(rng, &self.program.array("alarms"))?, queue, 0)
            }
            Tick => call("AvrXTimerHandler", 0, 0, 0),
            Rotate => call(if is_task { "AvrXYield" } else { "AvrXIntReschedule" }, 0, 0, 0),
            Suspend => call("AvrXSuspend", self.some_task(rng)?.1, 0, 0),
            Resume => call("AvrXResume", self.some_task(rng)?.1, 0, 0),
            Priority => call("AvrXChangePriority", self.some_task(rng)?.1, one(rng, &PRIORITIES)?, 0),
            Prepare => {
                let (task, address) = self.some_task(rng)?;
                let is_over = self.model.tasks[&address].is_dead && address != self.running();
                let is_free = self.told.values().all(|call| call.object != address);
                let service = one(rng, &["AvrXInitTask", "AvrXRunTask", "AvrXRunTask"])?;
                (is_over && is_free).then(|| call(service, self.block(task), 0, 0))?
            }
            Terminate => {
                let (task, address) = self.some_task(rng)?;
                let prepares = self.told.get(&task).and_then(|call| call.service.as_deref());
                let is_free = !matches!(prepares, Some("AvrXInitTask" | "AvrXRunTask"));
                is_free.then(|| call("AvrXTerminate", address, 0, 0))?
            }
            Exit => match rng.next_u32() % 2 {
                0 => call("AvrXTaskExit", 0, 0, 0),
                _ => Some(Call::default()),
            },
        }
    }

    /// A mutex, a message's semaphore or a timer's, by itself or by its object.
    fn about_semaphore(&self, rng: &mut ChaCha20Rng, service: &str) -> Option<Call> {
        let of_object = service.replace("Semaphore", "ObjectSemaphore");
        match rng.next_u32() % 4 {
            0 => call(&of_object, one(rng, &self.program.array("messages"))?, 0, 0),
            1 => {
                let timer = one(rng, &self.program.array("timers"))?;
                // Nobody waits for a timer that has not begun.
                let is_begun = self.model.timers.iter().any(|other| other.address == timer);
                let waits = service == "AvrXWaitSemaphore" && !is_begun;
                (!waits).then(|| call(&of_object, timer, 0, 0))?
            }
            _ => call(service, one(rng, &self.program.array("mutexes"))?, 0, 0),
        }
    }

    /// A message, timer or alarm that is in no queue, and that nobody else has chosen or waits for.
    fn idle(&self, rng: &mut ChaCha20Rng, name: &str) -> Option<Address> {
        let model = &self.model;
        let is_idle = |&address: &Address| {
            let is_waited_for = name != "messages"
                && matches!(model.semaphores[&(address + SEMAPHORE)], Semaphore::Waiting(_));
            let is_sent = model.queues.values().flatten().any(|&message| message == address);
            let is_begun = model.timers.iter().any(|timer| timer.address == address);
            !is_waited_for && !is_sent && !is_begun && !self.is_spoken_for(address)
        };
        let idle: Vec<Address> = self.program.array(name).into_iter().filter(is_idle).collect();
        one(rng, &idle)
    }

    /// Whether somebody is about to send it, to start it or to wait for it.
    fn is_spoken_for(&self, address: Address) -> bool {
        self.told.values().any(|call| match call.service.as_deref() {
            Some("AvrXSendMessage" | "AvrXIntSendMessage") => call.number == address,
            Some("AvrXStartTimer" | "AvrXStartTimerMessage" | "AvrXDelay" | "AvrXWaitObjectSemaphore") => {
                call.object == address
            }
            _ => false,
        })
    }

    /// One that nobody is preparing.
    fn some_task(&self, rng: &mut ChaCha20Rng) -> Option<(u8, Address)> {
        let prepared = self.prepared();
        let tasks: Vec<(u8, Address)> = (0..TASKS).map(|caller| (caller, self.task(caller))).collect();
        one(rng, &tasks).filter(|(_, address)| !prepared.contains(address))
    }

    /// What is known of a task in flash.
    pub fn block(&self, task: u8) -> u16 {
        let name = format!("task{task}Tcb");
        self.program.image.symbol(&name).expect("each task has one").address as u16
    }
}
