//! What the kernel's calls do, told a second time: queues are vectors, and a timer knows when it is over.
//!
//! Knows nothing of how long anything takes, nor of interrupts: a call is one step.

use std::collections::BTreeMap;

/// Of a task, semaphore, queue, message or timer: where it is in RAM.
pub type Address = u16;

/// A semaphore, alone or of an object: two bytes behind the object's own address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Semaphore {
    Pending,
    Done,
    /// These tasks wait.
    Waiting(Vec<Address>),
    /// It is of a timer that is sent when it is over.
    Message,
}

#[derive(Clone, Debug, Default)]
pub struct Task {
    pub priority: u8,
    /// It may not run.
    pub is_suspended: bool,
    /// It could, and is in no queue for that reason alone.
    pub is_held: bool,
    pub is_dead: bool,
    /// For this semaphore.
    pub waits: Option<Address>,
}

#[derive(Clone, Debug)]
pub struct Timer {
    pub address: Address,
    /// The tick at which it is over.
    pub due: u64,
    /// Where it is sent then.
    pub queue: Option<Address>,
}

/// What a call answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    Byte(u8),
    Word(u16),
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Tasks that can run, by their order.
    pub ready: Vec<Address>,
    pub tasks: BTreeMap<Address, Task>,
    pub semaphores: BTreeMap<Address, Semaphore>,
    /// Messages, by their queue.
    pub queues: BTreeMap<Address, Vec<Address>>,
    /// By the order in which they are over.
    pub timers: Vec<Timer>,
    pub ticks: u64,
}

pub const SEMAPHORE: u16 = 2;
/// Idle has 255.
const PRIORITY_MAX: u8 = 254;

impl Model {
    /// Makes a call with these arguments, of the task `running`, or in a handler that interrupted it. None when it is made
    /// of other calls, or changes nothing.
    pub fn call(
        &mut self,
        service: &str,
        [object, number, queue]: [u16; 3],
        running: Address,
    ) -> Option<Answer> {
        match service {
            "AvrXSetSemaphore" | "AvrXIntSetSemaphore" => self.set(object),
            "AvrXWaitSemaphore" => self.wait(object, running),
            "AvrXTestSemaphore" => return Some(Answer::Word(self.test(object))),
            "AvrXResetSemaphore" => self.reset(object),
            "AvrXSendMessage" | "AvrXIntSendMessage" => self.send(object, number),
            "AvrXRecvMessage" => return Some(Answer::Word(self.receive(object))),
            "AvrXStartTimer" => self.start(object, number, None),
            "AvrXStartTimerMessage" => self.start(object, number, Some(queue)),
            "AvrXCancelTimer" => self.cancel(object),
            "AvrXCancelTimerMessage" => self.cancel_message(object, number),
            "AvrXTimerHandler" => self.tick(),
            "AvrXResume" => self.resume(object),
            "AvrXSuspend" => self.suspend(object),
            "AvrXTerminate" => self.terminate(object),
            "AvrXChangePriority" => return Some(Answer::Byte(self.change(object, number as u8))),
            "AvrXYield" | "AvrXIntReschedule" => self.rotate(),
            _ => return None,
        }
        Some(Answer::Nothing)
    }

    /// A task that is suspended from its beginning.
    pub fn prepare(&mut self, task: Address, priority: u8) {
        let priority = priority.min(PRIORITY_MAX);
        self.tasks.insert(task, Task { priority, is_suspended: true, is_held: true, ..Task::default() });
    }

    /// Behind those that are as urgent or more so.
    fn place(&self, queue: &mut Vec<Address>, task: Address) {
        let own = self.tasks[&task].priority;
        let behind = queue.partition_point(|other| self.tasks[other].priority <= own);
        queue.insert(behind, task);
    }

    fn make_ready(&mut self, task: Address) {
        if self.tasks[&task].is_suspended {
            self.task(task).is_held = true;
            return;
        }
        let mut ready = std::mem::take(&mut self.ready);
        self.place(&mut ready, task);
        self.ready = ready;
    }

    fn task(&mut self, task: Address) -> &mut Task {
        self.tasks.get_mut(&task).expect("it was prepared")
    }

    fn semaphore(&mut self, address: Address) -> &mut Semaphore {
        self.semaphores.get_mut(&address).unwrap_or_else(|| panic!("{address:#x} is no semaphore"))
    }

    fn set(&mut self, address: Address) {
        let semaphore = self.semaphore(address);
        let Semaphore::Waiting(tasks) = semaphore else {
            *semaphore = Semaphore::Done;
            return;
        };
        let first = tasks.remove(0);
        if tasks.is_empty() {
            *semaphore = Semaphore::Pending;
        }
        self.task(first).waits = None;
        self.make_ready(first);
    }

    fn wait(&mut self, address: Address, running: Address) {
        let mut waiting = match self.semaphore(address) {
            semaphore @ Semaphore::Done => {
                *semaphore = Semaphore::Pending;
                return;
            }
            Semaphore::Pending => Vec::new(),
            Semaphore::Waiting(tasks) => std::mem::take(tasks),
            Semaphore::Message => panic!("nobody waits for a timer that is a message"),
        };
        self.ready.retain(|&task| task != running);
        self.place(&mut waiting, running);
        *self.semaphore(address) = Semaphore::Waiting(waiting);
        self.task(running).waits = Some(address);
    }

    fn test(&mut self, address: Address) -> u16 {
        match self.semaphore(address) {
            Semaphore::Pending => 0,
            Semaphore::Done => 1,
            Semaphore::Waiting(_) | Semaphore::Message => 2,
        }
    }

    fn reset(&mut self, address: Address) {
        let semaphore = self.semaphore(address);
        if *semaphore == Semaphore::Done {
            *semaphore = Semaphore::Pending;
        }
    }

    fn queue(&mut self, queue: Address) -> &mut Vec<Address> {
        self.queues.get_mut(&queue).expect("it is a queue")
    }

    fn send(&mut self, queue: Address, message: Address) {
        self.queue(queue).push(message);
        self.set(queue + SEMAPHORE);
    }

    fn receive(&mut self, queue: Address) -> Address {
        let messages = self.queue(queue);
        if messages.is_empty() { 0 } else { messages.remove(0) }
    }

    fn start(&mut self, address: Address, ticks: u16, queue: Option<Address>) {
        let due = self.ticks + u64::from(ticks.max(1));
        let behind = self.timers.partition_point(|timer| timer.due <= due);
        self.timers.insert(behind, Timer { address, due, queue });
        let semaphore = if queue.is_some() { Semaphore::Message } else { Semaphore::Pending };
        *self.semaphore(address + SEMAPHORE) = semaphore;
    }

    /// Whether it was under way.
    fn stop(&mut self, address: Address) -> bool {
        let timers = self.timers.len();
        self.timers.retain(|timer| timer.address != address);
        self.timers.len() < timers
    }

    fn cancel(&mut self, address: Address) {
        if self.stop(address) {
            self.set(address + SEMAPHORE);
        }
    }

    fn cancel_message(&mut self, address: Address, queue: Address) {
        if !self.stop(address) {
            self.queue(queue).retain(|&message| message != address);
        }
        *self.semaphore(address + SEMAPHORE) = Semaphore::Pending;
    }

    fn tick(&mut self) {
        self.ticks += 1;
        while let Some(timer) = self.timers.first().filter(|timer| timer.due <= self.ticks).cloned() {
            self.timers.remove(0);
            match timer.queue {
                Some(queue) => {
                    *self.semaphore(timer.address + SEMAPHORE) = Semaphore::Pending;
                    self.send(queue, timer.address);
                }
                None => self.set(timer.address + SEMAPHORE),
            }
        }
    }

    fn resume(&mut self, task: Address) {
        let of_it = self.task(task);
        of_it.is_suspended = false;
        if std::mem::take(&mut of_it.is_held) {
            self.make_ready(task);
        }
    }

    fn suspend(&mut self, task: Address) {
        let is_ready = self.ready.contains(&task);
        self.ready.retain(|&other| other != task);
        let of_it = self.task(task);
        of_it.is_held |= is_ready;
        of_it.is_suspended = true;
    }

    /// Takes a task out of the semaphore's queue in which it waits.
    fn give_up(&mut self, task: Address) -> Option<Address> {
        let address = self.task(task).waits.take()?;
        let semaphore = self.semaphore(address);
        let Semaphore::Waiting(tasks) = semaphore else { panic!("{task:#x} waits there") };
        tasks.retain(|&other| other != task);
        if tasks.is_empty() {
            *semaphore = Semaphore::Pending;
        }
        Some(address)
    }

    fn terminate(&mut self, task: Address) {
        self.ready.retain(|&other| other != task);
        self.give_up(task);
        let priority = self.task(task).priority;
        *self.task(task) = Task { priority, is_dead: true, ..Task::default() };
    }

    fn change(&mut self, task: Address, priority: u8) -> u8 {
        let is_ready = self.ready.contains(&task);
        self.ready.retain(|&other| other != task);
        let waited = self.give_up(task);
        let before = std::mem::replace(&mut self.task(task).priority, priority.min(PRIORITY_MAX));
        if is_ready {
            self.make_ready(task);
        }
        if let Some(address) = waited {
            self.wait(address, task);
        }
        before
    }

    fn rotate(&mut self) {
        if !self.ready.is_empty() {
            let first = self.ready.remove(0);
            self.make_ready(first);
        }
    }
}
