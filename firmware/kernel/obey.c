//! Tasks and handlers that make whatever call they are told to make.
//!
//! Whoever runs this on a simulated chip stops it at choose() and writes a call into the caller's slot of `calls`.
//! Tasks are callers 0 to 5, INT0's handler is 6, and INT1's, between whose two calls INT0 may come, is 7.
#include <avr/sleep.h>
#include <avrx.h>
#include <stdbool.h>

#define TASKS 6
#define CALLERS (TASKS + 2)

typedef void service(void *object, uint16_t number, void *queue);

struct call {
    service *service; // NULL: the task returns
    void *object;
    uint16_t number;
    void *queue;
    uint8_t sreg; // before the call, and then behind it
};

struct call volatile calls[CALLERS];

// What calls are about.
AVRX_MUTEX(mutexes[3]);
AVRX_MESSAGEQ(queues[2]);
uint8_t apart[256]; // addresses differ in both bytes
AVRX_MESSAGE(messages[4]);
AVRX_TIMER(timers[3]);
TimerMessageBlock alarms[2];

__attribute__((noinline, noclone)) void choose(uint8_t caller)
{
    __asm__ volatile("" : : "r"(caller));
}

static bool obey(uint8_t caller)
{
    choose(caller);
    struct call volatile *call = &calls[caller];
    if (call->service == 0) {
        return false;
    }
    void *object = call->object;
    service *made = call->service;
    uint16_t number = call->number;
    void *queue = call->queue;
    SREG = call->sreg;
    made(object, number, queue);
    call->sreg = SREG;
    return true;
}

static void obey_for_ever(uint8_t caller)
{
    while (obey(caller)) {
        sei();
    }
}

AVRX_TASKDEF(task0, 16, 1)
{
    obey_for_ever(0);
}

AVRX_TASKDEF(task1, 16, 2)
{
    obey_for_ever(1);
}

AVRX_TASKDEF(task2, 16, 2)
{
    obey_for_ever(2);
}

AVRX_TASKDEF(task3, 16, 3)
{
    obey_for_ever(3);
}

AVRX_TASKDEF(task4, 16, 3)
{
    obey_for_ever(4);
}

/// More urgent than idle all the same.
AVRX_TASKDEF(task5, 16, 255)
{
    obey_for_ever(5);
}

AVRX_SIGINT(INT0_vect)
{
    AvrXEnterKernel();
    obey(6);
    AvrXLeaveKernel();
}

AVRX_SIGINT(INT1_vect)
{
    AvrXEnterKernel();
    obey(7);
    sei();
    __asm__ volatile("nop\n\tnop\n\tnop");
    cli();
    obey(7);
    sei(); // AvrXLeaveKernel turns them off by itself
    AvrXLeaveKernel();
}

int main(void)
{
    EICRA = 1 << ISC01 | 1 << ISC11; // falling edges
    EIMSK = 1 << INT0 | 1 << INT1;
    AvrXSetKernelStack(0);
    set_sleep_mode(SLEEP_MODE_IDLE);
    sleep_enable();
    AvrXRunTask(TCB(task0));
    AvrXRunTask(TCB(task1));
    AvrXRunTask(TCB(task2));
    AvrXRunTask(TCB(task3));
    AvrXRunTask(TCB(task4));
    AvrXRunTask(TCB(task5));
    AvrXLeaveKernel();
    for (;;) {
    }
}
