//! Every call of the kernel that is about tasks, semaphores and handlers. It would compile against the original AvrX
//! unchanged, but for the log.
//!
//! `low` does one thing after another. The others say a letter whenever they run: `high` H, `twin` T, `other` O. What
//! is said in the end is one text, whenever interrupts come. INT0 wakes `urgent`, which counts and says nothing.
#include <avrx.h>

#include "said.h"

#ifdef __AVR_ATmega128__
#define INT1_PIN PD1
#else
#define INT1_PIN PD3
#endif

volatile uint8_t said[SAID_MAX];
volatile uint8_t said_count;
volatile uint8_t urgent_count;
volatile uint8_t went_on; // `low`, although it was the other's turn: where `urgent` was first, nobody's turn changes

static AVRX_MUTEX(for_urgent);
static AVRX_MUTEX(for_high);
static AVRX_MUTEX(for_twins);
static AVRX_MUTEX(alone);
static SystemObject object;

AVRX_SIGINT(INT0_vect)
{
    AvrXEnterKernel();
    AvrXIntSetSemaphore(&for_urgent);
    AvrXLeaveKernel();
}

/// Sets an object's semaphore, and changes turns.
AVRX_SIGINT(INT1_vect)
{
    AvrXEnterKernel();
    sei(); // others may come between
    __asm__ volatile("nop\n\tnop\n\tnop");
    cli();
    if (AvrXIntTestSemaphore(&alone) == SEM_DONE && AvrXIntTestObjectSemaphore(&object) == SEM_PEND) {
        AvrXIntSetObjectSemaphore(&object);
    }
    AvrXIntReschedule();
    AvrXLeaveKernel();
}

AVRX_TASKDEF(urgent, 4, 0)
{
    for (;;) {
        AvrXWaitSemaphore(&for_urgent);
        urgent_count++;
    }
}

AVRX_TASKDEF(high, 8, 1)
{
    for (;;) {
        AvrXWaitSemaphore(&for_high);
        say('H');
    }
}

AVRX_TASKDEF(twin, 8, 2)
{
    for (;;) {
        AvrXWaitSemaphore(&for_twins);
        say('T');
        AvrXYield();
        say('t');
    }
}

AVRX_TASKDEF(other, 8, 2)
{
    for (;;) {
        AvrXWaitSemaphore(&for_twins);
        say('O');
        AvrXYield();
        say('o');
    }
}

/// Runs once.
AVRX_TASKDEF(once, 8, 1)
{
    say('1');
    AvrXTaskExit();
}

/// Runs until it returns.
AVRX_TASKDEF(returns, 8, 1)
{
    say('r');
}

static void say_state(Mutex state)
{
    say(state == SEM_PEND ? 'p' : state == SEM_DONE ? 'd' : 'w');
}

AVRX_TASKDEF(last, 8, 9)
{
    say_state(AvrXTestObjectSemaphore(&object));
    say('.');
    AvrXHalt();
}

static void semaphores(void)
{
    say_state(AvrXTestSemaphore(&alone));
    AvrXSetSemaphore(&alone);
    say_state(AvrXTestSemaphore(&alone));
    AvrXSetSemaphore(&alone); // no more than set
    AvrXWaitSemaphore(&alone);
    say_state(AvrXTestSemaphore(&alone));
    AvrXSetSemaphore(&alone);
    AvrXResetSemaphore(&alone);
    say_state(AvrXTestSemaphore(&alone));
    AvrXResetSemaphore(&for_high); // somebody waits: nothing happens
    say_state(AvrXTestSemaphore(&for_high));
    AvrXSetObjectSemaphore(&object);
    say_state(AvrXTestObjectSemaphore(&object));
    AvrXWaitObjectSemaphore(&object);
    AvrXSetObjectSemaphore(&object);
    AvrXResetObjectSemaphore(&object);
    say_state(AvrXTestObjectSemaphore(&object));
}

static void tasks(void)
{
    AvrXSetSemaphore(&for_high);
    say('a');
    // One that waits and is suspended is woken when it is resumed.
    AvrXSuspend(PID(high));
    AvrXSetSemaphore(&for_high);
    say('b');
    AvrXResume(PID(high));
    // Equals take turns, and the one that waits longer is first.
    AvrXChangePriority(AvrXSelf(), 0);
    AvrXSetSemaphore(&for_twins);
    AvrXSetSemaphore(&for_twins);
    say('c');
    AvrXChangePriority(AvrXSelf(), 3);
    // A more urgent waiter is first, however late it became so.
    say('0' + AvrXPriority(PID(other)));
    say('0' + AvrXChangePriority(PID(other), 1));
    AvrXSetSemaphore(&for_twins);
    AvrXChangePriority(PID(other), 2);
    AvrXSetSemaphore(&for_twins);
    // Among those that can run, too.
    AvrXChangePriority(AvrXSelf(), 0);
    AvrXSetSemaphore(&for_twins);
    AvrXSetSemaphore(&for_twins);
    AvrXChangePriority(PID(twin), 4);
    AvrXChangePriority(PID(other), 1);
    AvrXChangePriority(AvrXSelf(), 3);
    say('d');
    AvrXChangePriority(PID(twin), 2);
    AvrXTerminate(PID(other));
    AvrXSetSemaphore(&for_twins);
    AvrXRunTask(TCB(once));
    AvrXInitTask(TCB(returns));
    say('e');
    AvrXResume(PID(returns));
    // A handler changes turns: `last` is an equal that waits, and halts.
    AvrXSetSemaphore(&alone);
    AvrXChangePriority(PID(last), 3);
    say('f');
    PORTD &= ~(1 << INT1_PIN);
    went_on = 1;
}

AVRX_TASKDEF(low, 24, 3)
{
    semaphores();
    tasks();
    AvrXTerminate(AvrXSelf());
}

int main(void)
{
    // An output is a way for a program to interrupt itself.
    PORTD = 1 << INT1_PIN;
    DDRD = 1 << INT1_PIN;
    EICRA = 1 << ISC01 | 1 << ISC11; // falling edges
    EIMSK = 1 << INT0 | 1 << INT1;
    AvrXSetKernelStack(0);
    AvrXRunTask(TCB(low));
    AvrXRunTask(TCB(last));
    AvrXRunTask(TCB(urgent));
    AvrXRunTask(TCB(high));
    AvrXRunTask(TCB(twin));
    AvrXRunTask(TCB(other));
    AvrXLeaveKernel();
    for (;;) {
    }
}
