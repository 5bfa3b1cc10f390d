;! The kernel behind avrx.h: whoever can run and is most urgent runs.
;!
;! Owns the queues of tasks and timers, the switch between tasks, and the bracket of interrupt handlers. Interface and
;! meanings are AvrX's; every line is our own, written from a table of its calls.
;!
;! A task that does not run keeps one kind of frame: SREG and the registers that a C function has to preserve. Whoever
;! blocks is a C function and needs no more. A handler is one as well: avr-gcc saves the rest around it, so that a task
;! which is interrupted keeps that, the way back into its handler's end, and the same frame. So there is one switch and
;! one way back.
;!
;! Invariants: interrupts are off in here. Outside, the running task is the first of the run queue, and `level` is
;! LEVEL_TASK. The run queue ends with `idle`, which is less urgent than every task. RAM begins at 0x100, so that a
;! pointer whose high byte is 0 points to nothing.
;! r1 is 0. r0 holds SREG from a service's first instruction on.

#include <avr/io.h>

#define NEXT 0
#define FLAGS 2
#define PRIORITY 3
#define CONTEXT 4
#define WAITS 6
#define PROCESS_BYTES 8

#define SUSPEND_BIT 5    /* it may not run */
#define SUSPENDED_BIT 6  /* it could, and is in no queue for that reason alone */
#define DEAD_BIT 7

#define SEMAPHORE 2      /* of a system object */
#define COUNT 4          /* of a timer */
#define QUEUE 6          /* of a timer message */
#define DONE 1
#define TIMER_MESSAGE 2  /* the semaphore of a timer that is sent when it is over */

/* How many handlers are under way, one less while a task is interrupted by them. */
#define LEVEL_TASK 0xFF
#define LEVEL_IDLE 0
#define LEVEL_MAIN 0x40  /* more than handlers nest */

#define PRIORITY_IDLE 255

#define SREG_ _SFR_IO_ADDR(SREG)
#define SPL_ _SFR_IO_ADDR(SPL)
#define SPH_ _SFR_IO_ADDR(SPH)

/* r18 to r27, r30, r31 and r0 are the caller's own business. */
.macro push_preserved
    .irp number, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push r\number
    .endr
.endm
.macro pop_preserved
    .irp number, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop r\number
    .endr
.endm
#define PRESERVED_BYTES 18
/* That idle keeps at the upper end of the kernel's stack. */
#define IDLE_BYTES 3

.macro service name
    .global \name
    .type \name, @function
\name:
.endm

.macro off
    in   r0, SREG_
    cli
.endm

; The same, for a call that may switch: that takes too long for what waits for nobody. A program with such an instant
; names a routine of its own, near by, which is done with it first; r20, r21, r26, r27, r30 and r31 are free for that.
.macro off_to_switch
#ifdef AVRX_OFF_TO_SWITCH
    rcall AVRX_OFF_TO_SWITCH
#else
    off
#endif
.endm

    .section .bss.avrx,"aw",@nobits
    .global avrx_run_queue, avrx_running, avrx_level, avrx_stack, avrx_timers, avrx_idle
avrx_run_queue: .skip 2
avrx_running:   .skip 2
avrx_stack:     .skip 2
avrx_timers:    .skip 2
avrx_level:     .skip 1
avrx_idle:      .skip PROCESS_BYTES

    .section .text.avrx,"ax",@progbits

; --- the switch, and the bracket of handlers ---

service AvrXSetObjectSemaphore
    adiw r24, SEMAPHORE
service AvrXSetSemaphore
    off_to_switch
    rcall AvrXIntSetSemaphore
    ; Z is the task that was waiting.
    tst  r31
    breq restore
; Behind a service: goes on with the task that called it when nothing else is more urgent.
reschedule:
    lds  r20, avrx_level
    inc  r20
    brne restore
    lds  r30, avrx_run_queue
    lds  r31, avrx_run_queue+1
    lds  r26, avrx_running
    lds  r27, avrx_running+1
    cp   r30, r26
    cpc  r31, r27
    brne switch
restore:
    out  SREG_, r0
    ret

; On the kernel's stack before, too: but main does not come back.
main_leaves:
    cpi  r20, LEVEL_MAIN-1
    brne 1f
    lds  r24, avrx_stack
    lds  r25, avrx_stack+1
    adiw r24, IDLE_BYTES
    out  SPH_, r25
    out  SPL_, r24
    rjmp idle
1:  ret

; Takes back what AvrXEnterKernel did. The handler's end is what the task goes on with.
service AvrXLeaveKernel
    cli
    lds  r20, avrx_level
    dec  r20
    sts  avrx_level, r20
    brpl main_leaves
    lds  r30, avrx_run_queue
    lds  r31, avrx_run_queue+1
    lds  r26, avrx_running
    lds  r27, avrx_running+1
    pop  r25
    pop  r24
    pop  r21
    pop  r20
    out  SPH_, r21
    out  SPL_, r20
    push r24
    push r25
    in   r0, SREG_
    cp   r30, r26
    cpc  r31, r27
    breq restore

; From the task X to the task Z. X goes on behind the call that brought it here, with SREG as in r0.
switch:
    push r0
    push_preserved
    movw r28, r26
    in   r20, SPL_
    in   r21, SPH_
    std  Y+CONTEXT, r20
    std  Y+CONTEXT+1, r21
dispatch:
    sts  avrx_running, r30
    sts  avrx_running+1, r31
    ldd  r20, Z+CONTEXT
    ldd  r21, Z+CONTEXT+1
    out  SPH_, r21
    out  SPL_, r20
    pop_preserved
    pop  r0
    out  SREG_, r0
    ret

; Nothing else can run. Its frame is the way to here and an SREG of 0, at the upper end of the kernel's stack: what
; handlers leave below that is as good as anything, since it needs no register.
idle:
    ldi  r20, pm_lo8(idle)
    push r20
    ldi  r20, pm_hi8(idle)
    push r20
    push r1
    sts  avrx_level, r1
1:  lds  r30, avrx_run_queue
    lds  r31, avrx_run_queue+1
    ldi  r20, hi8(avrx_idle)
    cpi  r30, lo8(avrx_idle)
    cpc  r31, r20
    brne 2f
    ; SLEEP begins before an interrupt can come between.
    sei
    sleep
    cli
    rjmp 1b
2:  ldi  r20, LEVEL_TASK
    sts  avrx_level, r20
    rjmp dispatch

; On a task's stack, with interrupts off and what a handler saves saved. Others are on the kernel's already.
service AvrXEnterKernel
    lds  r20, avrx_level
    inc  r20
    sts  avrx_level, r20
    brne 1f
    pop  r31
    pop  r30
    in   r20, SPL_
    in   r21, SPH_
    lds  r24, avrx_stack
    lds  r25, avrx_stack+1
    out  SPH_, r25
    out  SPL_, r24
    push r20
    push r21
    ijmp
1:  ret

; --- queues of tasks ---

; Puts task r24 into the queue at Z, behind its equals. Leaves r24.
enqueue:
    movw r26, r24
    adiw r26, PRIORITY
    ld   r20, X
; The same, for its priority r20, where Z is the queue or something in front of its place.
enqueue_behind:
    ld   r26, Z
    ldd  r27, Z+1
    tst  r27
    breq 1f
    adiw r26, PRIORITY
    ld   r21, X
    sbiw r26, PRIORITY
    cp   r20, r21
    brlo 1f
    movw r30, r26
    rjmp enqueue_behind
1:  st   Z, r24
    std  Z+1, r25
    movw r30, r24
    st   Z, r26
    std  Z+1, r27
    ret

; Takes r24, a task, timer or message, out of the queue at Z. r27 is 0 when it is not there; otherwise r20 is the one
; behind it. Leaves r24.
dequeue:
    ld   r26, Z
    ldd  r27, Z+1
    tst  r27
    breq 1f
    cp   r26, r24
    cpc  r27, r25
    breq 2f
    movw r30, r26
    rjmp dequeue
2:  ld   r20, X+
    ld   r21, X
    st   Z, r20
    std  Z+1, r21
1:  ret

dequeue_ready:
    ldi  r30, lo8(avrx_run_queue)
    ldi  r31, hi8(avrx_run_queue)
    rjmp dequeue

; --- semaphores ---

service AvrXIntSetObjectSemaphore
    adiw r24, SEMAPHORE
service AvrXIntSetSemaphore
    movw r26, r24
    ld   r30, X+
    ld   r31, X
    tst  r31
    breq 3f
    ld   r20, Z
    ldd  r21, Z+1
    st   X, r21
    st   -X, r20
; Task Z can run.
ready:
    ldd  r20, Z+FLAGS
    sbrc r20, SUSPEND_BIT
    rjmp 2f
    ldd  r20, Z+PRIORITY
    lds  r26, avrx_run_queue
    lds  r27, avrx_run_queue+1
    adiw r26, PRIORITY
    ld   r21, X
    sbiw r26, PRIORITY
    cp   r20, r21
    brsh 1f
    st   Z, r26
    std  Z+1, r27
    sts  avrx_run_queue, r30
    sts  avrx_run_queue+1, r31
    ret
1:  movw r24, r30
    movw r30, r26
    rjmp enqueue_behind
2:  ori  r20, 1 << SUSPENDED_BIT
    std  Z+FLAGS, r20
    ret
3:  ldi  r20, DONE
    st   -X, r20
    ret

service AvrXWaitObjectSemaphore
    adiw r24, SEMAPHORE
service AvrXWaitSemaphore
    off_to_switch
    movw r30, r24
    ld   r20, Z
    ldd  r21, Z+1
    subi r20, DONE
    sbci r21, 0
    brne 1f
    st   Z, r1
    out  SREG_, r0
    ret
1:  movw r22, r24
    lds  r30, avrx_running
    lds  r31, avrx_running+1
    std  Z+WAITS, r22
    std  Z+WAITS+1, r23
    ld   r20, Z
    ldd  r21, Z+1
    sts  avrx_run_queue, r20
    sts  avrx_run_queue+1, r21
    movw r24, r30
    movw r30, r22
    rcall enqueue
    lds  r30, avrx_run_queue
    lds  r31, avrx_run_queue+1
    movw r26, r24
    rjmp switch

service AvrXTestObjectSemaphore
    adiw r24, SEMAPHORE
service AvrXTestSemaphore
    movw r30, r24
    off
    ld   r24, Z
    ldd  r25, Z+1
    out  SREG_, r0
    tst  r25
    breq 1f
    ldi  r24, 2
    clr  r25
1:  ret

service AvrXResetObjectSemaphore
    adiw r24, SEMAPHORE
service AvrXResetSemaphore
    movw r30, r24
    off
    ldd  r25, Z+1
    tst  r25
    brne 1f
    st   Z, r1
1:  rjmp restore

; --- messages ---

service AvrXSendMessage
    off_to_switch
    rcall AvrXIntSendMessage
    rjmp reschedule

service AvrXIntSendMessage
    movw r30, r22
    st   Z, r1
    std  Z+1, r1
    movw r30, r24
1:  ld   r26, Z
    ldd  r27, Z+1
    tst  r27
    breq 2f
    movw r30, r26
    rjmp 1b
2:  st   Z, r22
    std  Z+1, r23
    rjmp AvrXIntSetObjectSemaphore

service AvrXRecvMessage
    movw r30, r24
    off
    ld   r24, Z
    ldd  r25, Z+1
    tst  r25
    breq 1f
    movw r26, r24
    ld   r20, X+
    ld   r21, X
    st   Z, r20
    std  Z+1, r21
1:  out  SREG_, r0
    ret

service AvrXWaitMessage
    push r28
    push r29
    movw r28, r24
1:  movw r24, r28
    rcall AvrXRecvMessage
    tst  r25
    brne 2f
    movw r24, r28
    rcall AvrXWaitObjectSemaphore
    rjmp 1b
2:  pop  r29
    pop  r28
    ret

; --- timers ---

service AvrXDelay
    push r24
    push r25
    rcall AvrXStartTimer
    pop  r25
    pop  r24
    rjmp AvrXWaitObjectSemaphore

service AvrXStartTimerMessage
    movw r30, r24
    std  Z+QUEUE, r20
    std  Z+QUEUE+1, r21
    ldi  r18, TIMER_MESSAGE
    rjmp start_timer
service AvrXStartTimer
    ldi  r18, 0
; Timer r24, over after r22 ticks, with semaphore r18.
start_timer:
    cp   r22, r1
    cpc  r23, r1
    brne 1f
    ldi  r22, 1
1:  off
    movw r30, r24
    std  Z+SEMAPHORE, r18
    std  Z+SEMAPHORE+1, r1
    ldi  r30, lo8(avrx_timers)
    ldi  r31, hi8(avrx_timers)
2:  ld   r26, Z
    ldd  r27, Z+1
    tst  r27
    breq 4f
    adiw r26, COUNT
    ld   r20, X+
    ld   r21, X
    cp   r22, r20
    cpc  r23, r21
    brlo 3f
    sub  r22, r20
    sbc  r23, r21
    sbiw r26, COUNT+1
    movw r30, r26
    rjmp 2b
3:  sub  r20, r22
    sbc  r21, r23
    st   X, r21
    st   -X, r20
    sbiw r26, COUNT
4:  st   Z, r24
    std  Z+1, r25
    movw r30, r24
    st   Z, r26
    std  Z+1, r27
    std  Z+COUNT, r22
    std  Z+COUNT+1, r23
    rjmp restore

; Takes timer r24 out of the list: the one behind it has the rest to wait as well. r27 is 0 when it is not there.
stop_timer:
    ldi  r30, lo8(avrx_timers)
    ldi  r31, hi8(avrx_timers)
    rcall dequeue
    tst  r27
    breq 1f
    tst  r21
    breq 1f
    movw r30, r24
    ldd  r22, Z+COUNT
    ldd  r23, Z+COUNT+1
    movw r30, r20
    ldd  r20, Z+COUNT
    ldd  r21, Z+COUNT+1
    add  r20, r22
    adc  r21, r23
    std  Z+COUNT, r20
    std  Z+COUNT+1, r21
1:  ret

service AvrXCancelTimer
    off_to_switch
    rcall stop_timer
    tst  r27
    breq 1f
    rcall AvrXIntSetObjectSemaphore
1:  rjmp reschedule

service AvrXCancelTimerMessage
    movw r18, r22
    off
    rcall stop_timer
    tst  r27
    brne 1f
    movw r30, r18
    rcall dequeue
1:  movw r30, r24
    std  Z+SEMAPHORE, r1
    std  Z+SEMAPHORE+1, r1
    rjmp restore

service AvrXTimerHandler
    lds  r30, avrx_timers
    lds  r31, avrx_timers+1
    tst  r31
    breq 4f
    ldd  r24, Z+COUNT
    ldd  r25, Z+COUNT+1
    sbiw r24, 1
    std  Z+COUNT, r24
    std  Z+COUNT+1, r25
1:  brne 4f
    ld   r20, Z
    ldd  r21, Z+1
    sts  avrx_timers, r20
    sts  avrx_timers+1, r21
    movw r24, r30
    ldd  r20, Z+SEMAPHORE
    ldd  r21, Z+SEMAPHORE+1
    subi r20, TIMER_MESSAGE
    sbci r21, 0
    brne 2f
    std  Z+SEMAPHORE, r1
    movw r22, r30
    ldd  r24, Z+QUEUE
    ldd  r25, Z+QUEUE+1
    rcall AvrXIntSendMessage
    rjmp 3f
2:  rcall AvrXIntSetObjectSemaphore
    ; Those behind it may be over as well.
3:  lds  r30, avrx_timers
    lds  r31, avrx_timers+1
    tst  r31
    breq 4f
    ldd  r24, Z+COUNT
    ldd  r25, Z+COUNT+1
    sbiw r24, 0
    rjmp 1b
4:  ret

; --- tasks ---

service AvrXSetKernelStack
    sbiw r24, 0
    brne 1f
    in   r24, SPL_
    in   r25, SPH_
    adiw r24, 2
1:  sbiw r24, IDLE_BYTES
    sts  avrx_stack, r24
    sts  avrx_stack+1, r25
    ldi  r30, lo8(avrx_idle)
    ldi  r31, hi8(avrx_idle)
    sts  avrx_run_queue, r30
    sts  avrx_run_queue+1, r31
    ldi  r20, PRIORITY_IDLE
    std  Z+PRIORITY, r20
    sbiw r24, PRESERVED_BYTES
    std  Z+CONTEXT, r24
    std  Z+CONTEXT+1, r25
    adiw r24, PRESERVED_BYTES+IDLE_BYTES
    ldi  r20, LEVEL_MAIN
    sts  avrx_level, r20
    ret

service AvrXRunTask
    rcall AvrXInitTask
service AvrXResume
    off_to_switch
    movw r30, r24
    ldd  r20, Z+FLAGS
    mov  r21, r20
    andi r20, 0xFF ^ (1 << SUSPEND_BIT | 1 << SUSPENDED_BIT)
    std  Z+FLAGS, r20
    sbrc r21, SUSPENDED_BIT
    rcall ready
    rjmp reschedule

service AvrXInitTask
    movw r30, r24
    lpm  r26, Z+
    lpm  r27, Z+
    lpm  r22, Z+
    lpm  r23, Z+
    lpm  r24, Z+
    lpm  r25, Z+
    lpm  r20, Z
    rcall urgent
    ; The frame of a task that begins: its way, and where it goes when it returns.
    ldi  r21, pm_lo8(AvrXTaskExit)
    st   -X, r21
    ldi  r21, pm_hi8(AvrXTaskExit)
    st   -X, r21
    st   -X, r22
    st   -X, r23
    ldi  r21, 0x80
    st   -X, r21
    sbiw r26, PRESERVED_BYTES+1
    movw r30, r24
    std  Z+PRIORITY, r20
    ldi  r21, 1 << SUSPEND_BIT | 1 << SUSPENDED_BIT
    std  Z+FLAGS, r21
    std  Z+CONTEXT, r26
    std  Z+CONTEXT+1, r27
    ret

; Priority r20, but more urgent than idle.
urgent:
    cpi  r20, PRIORITY_IDLE
    brne 1f
    dec  r20
1:  ret

service AvrXSuspend
    off_to_switch
    rcall dequeue_ready
    tst  r27
    movw r30, r24
    ldd  r20, Z+FLAGS
    breq 1f
    ori  r20, 1 << SUSPENDED_BIT
1:  ori  r20, 1 << SUSPEND_BIT
    std  Z+FLAGS, r20
    rjmp reschedule

service AvrXTaskExit
    rcall AvrXSelf
service AvrXTerminate
    off_to_switch
    rcall leave_queue
    movw r30, r24
    ldi  r20, 1 << DEAD_BIT
    std  Z+FLAGS, r20
    rjmp reschedule

; Takes task r24 out of the queue that it is in, which is left in r22; r23 is 0 when it is in none.
leave_queue:
    ldi  r22, lo8(avrx_run_queue)
    ldi  r23, hi8(avrx_run_queue)
    rcall dequeue_ready
    tst  r27
    brne 1f
    movw r30, r24
    clr  r23
    ldd  r20, Z+FLAGS
    andi r20, 1 << SUSPENDED_BIT | 1 << DEAD_BIT
    brne 1f
    ldd  r22, Z+WAITS
    ldd  r23, Z+WAITS+1
    movw r30, r22
    rjmp dequeue
1:  ret

service AvrXChangePriority
    off_to_switch
    mov  r20, r22
    rcall urgent
    movw r30, r24
    ldd  r18, Z+PRIORITY
    std  Z+PRIORITY, r20
    rcall leave_queue
    movw r30, r22
    tst  r23
    breq 1f
    rcall enqueue
1:  push r18
    rcall reschedule
    pop  r24
    ret

service AvrXYield
    off_to_switch
    rcall AvrXIntReschedule
    rjmp reschedule

service AvrXIntReschedule
    lds  r24, avrx_run_queue
    lds  r25, avrx_run_queue+1
    rcall dequeue_ready
    ; It was the first: Z is the queue still.
    rjmp enqueue

service AvrXSelf
    lds  r24, avrx_running
    lds  r25, avrx_running+1
    ret

service AvrXPriority
    movw r30, r24
    ldd  r24, Z+PRIORITY
    ret

service AvrXHalt
    cli
1:  rjmp 1b
