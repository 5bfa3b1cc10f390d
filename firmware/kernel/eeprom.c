//! Every call of the kernel that is about the EEPROM. It would compile against the original AvrX unchanged, but for the
//! log.
//!
//! `low` writes and reads by itself; then `first` and `second` write at once. What is said in the end is one text,
//! whenever interrupts come and however long a write takes. INT0 wakes `urgent`, which counts and says nothing.
#include <avr/eeprom.h>
#include <avr/sleep.h>
#include <avrx.h>

#include "said.h"

volatile uint8_t said[SAID_MAX];
volatile uint8_t said_count;
volatile uint8_t urgent_count;

static AVRX_MUTEX(for_urgent);
static AVRX_MUTEX(begin);
static AVRX_MUTEX(first_is_done);
static AVRX_MUTEX(second_is_done);
static uint16_t seen; // by `second`, while `first` writes

static EEMEM uint8_t alone;
static EEMEM uint8_t cells[6];
static EEMEM uint16_t word;

AVRX_SIGINT(INT0_vect)
{
    AvrXEnterKernel();
    AvrXIntSetSemaphore(&for_urgent);
    AvrXLeaveKernel();
}

AVRX_TASKDEF(urgent, 4, 0)
{
    for (;;) {
        AvrXWaitSemaphore(&for_urgent);
        urgent_count++;
    }
}

AVRX_TASKDEF(first, 16, 1)
{
    AvrXWaitSemaphore(&begin);
    AvrXWriteEEProm(&cells[0], 'A');
    AvrXWriteEEProm(&cells[2], 'C');
    AvrXWriteEEProm(&cells[4], 'E');
    AvrXSetSemaphore(&first_is_done);
}

AVRX_TASKDEF(second, 16, 2)
{
    AvrXWaitSemaphore(&begin);
    AvrXWriteEEProm(&cells[1], 'B');
    AvrXWriteEEProm(&cells[3], 'D');
    seen = AvrXReadEEPromWord(&word);
    AvrXWriteEEProm(&cells[5], 'F');
    AvrXSetSemaphore(&second_is_done);
}

AVRX_TASKDEF(low, 24, 3)
{
    AvrXWriteEEProm(&alone, 'r');
    say('w');
    say(AvrXReadEEProm(&alone));
    AvrXWriteEEProm((uint8_t *)&word, 'l');
    AvrXWriteEEProm((uint8_t *)&word + 1, 'h');
    AvrXSetSemaphore(&begin);
    AvrXSetSemaphore(&begin);
    // Writes end while somebody runs, and while all sleep.
    while (AvrXTestSemaphore(&first_is_done) != SEM_DONE) {
    }
    AvrXWaitSemaphore(&second_is_done);
    for (uint8_t i = 0; i < sizeof cells; i++) {
        say(AvrXReadEEProm(&cells[i]));
    }
    say((uint8_t)seen);
    say(seen >> 8);
    say(AvrXReadEEPromWord(&word) == seen ? '=' : '/');
    say('.');
    AvrXHalt();
}

int main(void)
{
    EICRA = 1 << ISC01; // falling edges
    EIMSK = 1 << INT0;
    AvrXSetKernelStack(0);
    set_sleep_mode(SLEEP_MODE_IDLE);
    sleep_enable();
    AvrXEEPromInit();
    AvrXRunTask(TCB(low));
    AvrXRunTask(TCB(urgent));
    AvrXRunTask(TCB(first));
    AvrXRunTask(TCB(second));
    AvrXLeaveKernel();
    for (;;) {
    }
}
