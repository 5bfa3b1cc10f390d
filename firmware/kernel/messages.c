//! Every call of the kernel that is about messages and timers. It would compile against the original AvrX unchanged,
//! but for the log.
//!
//! A tick comes every TICK_CYCLES cycles. `client` sends and says what happened; `server` answers.
#include <avr/sleep.h>
#include <avrx.h>

#include "said.h"

volatile uint8_t said[SAID_MAX];
volatile uint8_t said_count;
volatile uint8_t urgent_count;

static AVRX_MESSAGEQ(requests);
static AVRX_MESSAGEQ(own);
static AVRX_MESSAGEQ(for_urgent);
static AVRX_MESSAGE(first);
static AVRX_MESSAGE(second);
static AVRX_MESSAGE(from_handler);
static AVRX_TIMER(delay);
static AVRX_TIMER(short_timer);
static AVRX_TIMER(long_timer);
static TimerMessageBlock alarm;

AVRX_SIGINT(TIMER1_COMPA_vect)
{
    AvrXEnterKernel();
    AvrXTimerHandler();
    AvrXLeaveKernel();
}

/// Sends a message that is not under way.
AVRX_SIGINT(INT0_vect)
{
    AvrXEnterKernel();
    if (AvrXIntTestSemaphore(&from_handler.SObj.semaphore) == SEM_DONE) {
        AvrXResetSemaphore(&from_handler.SObj.semaphore);
        AvrXIntSendMessage(&for_urgent, &from_handler);
    }
    AvrXLeaveKernel();
}

AVRX_TASKDEF(urgent, 8, 0)
{
    for (;;) {
        AvrXAckMessage(&from_handler);
        AvrXWaitMessage(&for_urgent);
        urgent_count++;
    }
}

AVRX_TASKDEF(server, 12, 1)
{
    for (;;) {
        pMessageControlBlock message = AvrXWaitMessage(&requests);
        say(message == &first ? 'F' : 'S');
        AvrXAckMessage(message);
    }
}

AVRX_TASKDEF(client, 24, 2)
{
    // A more urgent receiver is at it at once.
    AvrXSendMessage(&requests, &first);
    say('a');
    say(AvrXTestMessageAck(&first) == SEM_DONE ? 'd' : 'p');
    AvrXWaitMessageAck(&first);
    // Messages come in the order in which they were sent.
    AvrXSuspend(PID(server));
    AvrXSendMessage(&requests, &second);
    AvrXSendMessage(&requests, &first);
    say('b');
    AvrXResume(PID(server));
    AvrXWaitMessageAck(&second);
    AvrXWaitMessageAck(&first);
    say(AvrXRecvMessage(&own) == 0 ? 'n' : 'm');
    // Timers end in their order, and one that is cancelled at once; the last one, too.
    AvrXStartTimer(&long_timer, 5);
    AvrXStartTimer(&short_timer, 2);
    say(AvrXTestTimer(&short_timer) == SEM_PEND ? 'p' : 'd');
    AvrXWaitTimer(&short_timer);
    say(AvrXTestTimer(&long_timer) == SEM_PEND ? 'p' : 'd');
    AvrXWaitTimer(&long_timer);
    AvrXStartTimer(&long_timer, 60000);
    AvrXStartTimer(&short_timer, 60000);
    AvrXCancelTimer(&short_timer);
    AvrXCancelTimer(&long_timer);
    AvrXCancelTimer(&long_timer); // is under way no more
    AvrXWaitTimer(&short_timer);
    AvrXWaitTimer(&long_timer);
    say('c');
    AvrXDelay(&delay, 3);
    // A timer that is a message; and two that are none any more, before and after they were sent.
    AvrXStartTimerMessage(&alarm, 2, &own);
    say(AvrXWaitMessage(&own) == &alarm.u.mcb ? 'A' : '?');
    AvrXStartTimerMessage(&alarm, 2, &own);
    AvrXCancelTimerMessage(&alarm, &own);
    AvrXDelay(&delay, 3);
    say(AvrXRecvMessage(&own) == 0 ? 'n' : 'm');
    AvrXStartTimerMessage(&alarm, 1, &own);
    AvrXDelay(&delay, 3);
    AvrXCancelTimerMessage(&alarm, &own);
    say(AvrXRecvMessage(&own) == 0 ? 'n' : 'm');
    say('.');
    AvrXHalt();
}

int main(void)
{
    EICRA = 1 << ISC01; // falling edges
    EIMSK = 1 << INT0;
    OCR1A = TICK_CYCLES - 1;
    TCCR1B = 1 << WGM12 | 1 << CS10;
#ifdef TIMSK
    TIMSK = 1 << OCIE1A;
#else
    TIMSK1 = 1 << OCIE1A;
#endif
    AvrXSetKernelStack(0);
    set_sleep_mode(SLEEP_MODE_IDLE);
    sleep_enable();
    AvrXRunTask(TCB(client));
    AvrXRunTask(TCB(server));
    AvrXRunTask(TCB(urgent));
    AvrXLeaveKernel();
    for (;;) {
    }
}
