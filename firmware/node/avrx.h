//! A pre-emptive kernel for the node, by the names and meanings of AvrX (L. Barello; interface only, see kernel.S).
//!
//! Owns: tasks with priorities, semaphores, message queues, timers, the bracket of interrupt handlers, and access to the
//! EEPROM (kernel_eeprom.c). What runs when a slot begins is `controller.h`'s.
//!
//! The task that runs is the first of those that can: a smaller number is more urgent, and among equals the one that
//! waits longest. A task goes on until it blocks, yields, or something more urgent can run; equals have no time slice.
//! When none can, the core executes SLEEP: set the mode and SE before.
//!
//! Who may call what: `AvrX…` with `Int` in its name, between AvrXEnterKernel and AvrXLeaveKernel with interrupts off;
//! what blocks (Wait…, AvrXDelay, AvrXYield, AvrXTaskExit), a task; everything else, both, and main before its
//! AvrXLeaveKernel. Interrupts are as before the call when it returns; while a task is blocked they are the others'.
//!
//! Stack: a task that does not run keeps 19 bytes and a return address on its own, and one that is interrupted what
//! avr-gcc saves of a handler before that; handlers themselves run on the kernel's. A handler's local variables SHOULD
//! therefore be few. AVRX_TASKDEF adds MINCONTEXT to what it is asked for.
#ifndef NODE_AVRX_H
#define NODE_AVRX_H

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <stdint.h>

/// Bytes of a task's stack for the kernel: a handler's frame (17, and what it saves of r2 to r17, r28 and r29, at most
/// 6), the bracket's return address, and a switch (21).
#define MINCONTEXT 46

/// A task. The kernel's; only its address counts.
typedef struct ProcessID {
    struct ProcessID *next; // in the queue that it is in
    uint8_t flags;
    uint8_t priority;
    void *ContextPointer; // the stack pointer while it does not run
    void *waits;          // for this semaphore, when it neither runs nor can
} ProcessID, *pProcessID;

/// What is known of a task before it runs; in flash.
typedef struct TaskControlBlock {
    void *r_stack; // behind the last byte of its stack
    void (*start)(void);
    pProcessID pid;
    uint8_t priority; // 0 (most urgent) to 254
} TaskControlBlock;

/// A binary semaphore: SEM_PEND, SEM_DONE, or the first task that waits; more urgent ones come first.
typedef void *Mutex, **pMutex;
#define SEM_PEND ((Mutex)0)
#define SEM_DONE ((Mutex)1)
#define SEM_WAIT ((Mutex)2) // what AvrXTestSemaphore says when somebody waits

/// What is in queues: a link and a semaphore.
typedef struct SystemObject {
    struct SystemObject *next;
    Mutex semaphore;
} SystemObject, *pSystemObject;

/// A message. `sender` says whose it is (AvrX has none): an index of the thread controller's filters.
typedef struct MessageControlBlock {
    SystemObject SObj;
    uint8_t sender;
} MessageControlBlock, *pMessageControlBlock;

/// Messages in the order in which they were sent, and who waits for one.
typedef struct MessageQueue {
    pMessageControlBlock message;
    Mutex pid;
} MessageQueue, *pMessageQueue;

/// A timer: `count` ticks behind the one before it in the kernel's list. Its semaphore is set when it is over.
typedef struct TimerControlBlock {
    SystemObject SObj;
    uint16_t count;
} TimerControlBlock, *pTimerControlBlock;

/// A timer that is a message as well, and is sent when it is over.
typedef struct TimerMessageBlock {
    union {
        MessageControlBlock mcb;
        TimerControlBlock tcb;
    } u;
    pMessageQueue queue;
} TimerMessageBlock, *pTimerMessageBlock;

#define TCB(task) (&task##Tcb)
#define PID(task) (&task##Pid)
/// Defines a task with `stack` bytes for itself. Its function follows: AVRX_TASKDEF(blink, 20, 3) { for (;;) ... }
#define AVRX_TASKDEF(task, stack, urgency) \
    void task(void);                       \
    AVRX_TASK(task, stack, urgency);       \
    void task(void)
#define AVRX_TASK(task, stack, urgency)                                                   \
    static uint8_t task##Stk[(stack) + MINCONTEXT];                                       \
    ProcessID task##Pid;                                                                  \
    const TaskControlBlock task##Tcb PROGMEM = {task##Stk + sizeof task##Stk, task, PID(task), urgency}
#define AVRX_EXTERNTASK(task) \
    void task(void);          \
    extern ProcessID task##Pid; \
    extern const TaskControlBlock task##Tcb
/// Defines a handler, whose first statement is AvrXEnterKernel() and whose last one is AvrXLeaveKernel().
#define AVRX_SIGINT(vector)                                          \
    void vector(void) __attribute__((signal, used, externally_visible)); \
    void vector(void)
#define AVRX_MUTEX(name) Mutex name
#define AVRX_TIMER(name) TimerControlBlock name
#define AVRX_MESSAGE(name) MessageControlBlock name
#define AVRX_MESSAGEQ(name) MessageQueue name

// --- starting ---

/// The kernel's stack, by its last byte; NULL for the one that is in use. First statement of main, whose last one is
/// AvrXLeaveKernel(): from then on tasks run, and main never again.
void *AvrXSetKernelStack(void *stack);
/// Prepares a task, which is suspended until AvrXResume. A task that returns has called AvrXTaskExit. It MUST be new or
/// terminated, and nobody may call about it meanwhile; in a handler, it MUST NOT be the one that was interrupted, whose
/// stack is in use.
pProcessID AvrXInitTask(const TaskControlBlock *task);
/// Prepares a task and lets it run.
void AvrXRunTask(const TaskControlBlock *task);

// --- tasks ---

void AvrXSuspend(pProcessID task);
void AvrXResume(pProcessID task);
/// Behind its equals.
void AvrXYield(void);
/// Inside the kernel: the first of those that can run goes behind its equals.
void AvrXIntReschedule(void);
/// It never runs again until AvrXInitTask.
void AvrXTerminate(pProcessID task);
void AvrXTaskExit(void) __attribute__((noreturn));
/// Interrupts off, for ever.
void AvrXHalt(void) __attribute__((noreturn));
pProcessID AvrXSelf(void);
uint8_t AvrXPriority(pProcessID task);
/// Returns what it was. The queue that it is in is in order afterwards.
uint8_t AvrXChangePriority(pProcessID task, uint8_t priority);

// --- handlers ---

void AvrXEnterKernel(void);
void AvrXLeaveKernel(void);

// --- semaphores ---

void AvrXSetSemaphore(pMutex semaphore);
void AvrXIntSetSemaphore(pMutex semaphore);
void AvrXWaitSemaphore(pMutex semaphore);
/// SEM_PEND, SEM_DONE or SEM_WAIT.
Mutex AvrXTestSemaphore(pMutex semaphore);
#define AvrXIntTestSemaphore AvrXTestSemaphore
/// SEM_DONE becomes SEM_PEND.
void AvrXResetSemaphore(pMutex semaphore);

void AvrXSetObjectSemaphore(pSystemObject object);
void AvrXIntSetObjectSemaphore(pSystemObject object);
void AvrXResetObjectSemaphore(pSystemObject object);
Mutex AvrXTestObjectSemaphore(pSystemObject object);
#define AvrXIntTestObjectSemaphore AvrXTestObjectSemaphore
void AvrXWaitObjectSemaphore(pSystemObject object);

// --- messages ---

/// Appends it. A message MUST NOT be in a queue already.
void AvrXSendMessage(pMessageQueue queue, pMessageControlBlock message);
void AvrXIntSendMessage(pMessageQueue queue, pMessageControlBlock message);
/// The first one, or NULL.
pMessageControlBlock AvrXRecvMessage(pMessageQueue queue);
pMessageControlBlock AvrXWaitMessage(pMessageQueue queue);
#define AvrXAckMessage(message) AvrXSetObjectSemaphore(&(message)->SObj)
#define AvrXWaitMessageAck(message) AvrXWaitObjectSemaphore(&(message)->SObj)
#define AvrXTestMessageAck(message) AvrXTestObjectSemaphore(&(message)->SObj)

// --- timers ---

/// Over after `ticks` calls of AvrXTimerHandler, 1 at least. A timer MUST NOT be under way already, and
/// nobody may wait for it yet.
void AvrXStartTimer(pTimerControlBlock timer, uint16_t ticks);
/// Ends it before its time: whoever waits for it goes on. Does nothing when it is not under way.
void AvrXCancelTimer(pTimerControlBlock timer);
#define AvrXWaitTimer(timer) AvrXWaitObjectSemaphore(&(timer)->SObj)
#define AvrXTestTimer(timer) AvrXTestObjectSemaphore(&(timer)->SObj)
void AvrXDelay(pTimerControlBlock timer, uint16_t ticks);
/// A tick. In a handler, between AvrXEnterKernel and AvrXLeaveKernel, with interrupts off.
void AvrXTimerHandler(void);
void AvrXStartTimerMessage(pTimerMessageBlock timer, uint16_t ticks, pMessageQueue queue);
/// Takes it out of the kernel's list, or out of `queue`. It is not sent any more.
void AvrXCancelTimerMessage(pTimerMessageBlock timer, pMessageQueue queue);

// --- EEPROM, for tasks; link kernel_eeprom.c ---

/// Before the first access.
void AvrXEEPromInit(void);
// One access at a time; the others wait, the more urgent ones less long. An access waits for a write that is under way,
// asleep: the mode of sleep MUST be one that EE_RDY ends, idle or ADC noise reduction. A task that is terminated in the
// middle keeps everybody else out.
uint8_t AvrXReadEEProm(const uint8_t *address);
uint16_t AvrXReadEEPromWord(const uint16_t *address);
/// Returns as soon as it has begun. What a power cut leaves behind is what was written before, and this byte in any state.
void AvrXWriteEEProm(uint8_t *address, uint8_t value);

#endif
