//! The node's story: boot, join the cell, then one superframe after another.
//!
//! Owns the order of things within a superframe, the tasks, and what is held in RAM. How each thing is done is its file's.
//!
//!     superframe f     | beacon | ......... | own slot | ... | downlink |        time ->
//!     samples of f     s   s   s   s   s   s   s   s   s   s   s   s   s     by interrupt, all the while
//!     frame of f-1     seal -------------->   send
//!     beacon of f        hear      verify                                    after sending when the slot is near
//!
//! Nothing is sampled or sent before a beacon was verified. After too many missed beacons in a row the node is back
//! at joining. A node that is not sure of a fresh counter, or of its provisioning, is silent until the next reset.
//!
//! Two tasks on the kernel: `mac` tells the story, and waits for one thing at a time, which is `clock_signal`; `rest` runs
//! when `mac` waits, sleeps, and lets the counter's reservation go on whenever the core is awake anyway. Two handlers
//! go through the kernel, the alarm's and the end of a frame's; all others are too short, or must not wait for it.
//! What a task may do while a frame comes in is link.h's.
#include <avr/interrupt.h>
#include <util/atomic.h>

#include "avrx.h"
#include "beacon.h"
#include "clock.h"
#include "counter.h"
#include "downlink.h"
#include "eeprom.h"
#include "frame.h"
#include "limits.h"
#include "link.h"
#include "phase.h"
#include "power.h"
#include "provision.h"
#include "sampler.h"
#include "timebase.h"

/// A frame that is being filled by the sampler, then sealed and sent.
struct outgoing {
    uint8_t bytes[FRAME_BYTES_MAX];
    uint32_t superframe;   // of its samples
    uint32_t filled_ticks; // when they are all taken
    uint16_t sealed;       // bytes to send; 0: not sealed
    bool is_armed;         // the sampler has it
};

static struct provision self;
static struct counter counter;
static struct timebase timebase;
static struct beacon beacon; // the last one believed: the map in force
static struct downlink downlink;
static struct outgoing outgoing[2]; // of even and of odd superframes
static bool was_in_cell;

/// Waits for the alarm, or for the frame that the link is open for.
static void wait(void)
{
    link_wait();
    AvrXWaitSemaphore(&clock_signal);
}

static void wait_until(uint32_t ticks)
{
    clock_alarm_set(ticks);
    wait();
}

AVRX_TASKDEF(rest, REST_STACK_BYTES, REST_PRIORITY)
{
    for (;;) {
        uint8_t offset, value, held;

        cli();
        power_sleep();
        if (counter_step(&counter, &offset, &value) &&
            eeprom_settle(PROVISION_COUNTER_SLOTS_AT + offset, value, &held)) {
            counter_stepped(&counter, held);
        }
    }
}

/// True when the EEPROM holds who the node is and counts that are surely fresh.
/// Not inlined, so that the image's bytes leave the stack again.
__attribute__((noinline)) static bool boot(void)
{
    uint8_t image[PROVISION_COUNTER_SLOTS_AT + COUNTER_SLOTS_BYTES];

    phase = PHASE_BOOTING;
    power_boot();
    link_boot();
    for (uint8_t at = 0; at < sizeof image; at++) {
        image[at] = eeprom_read(at);
    }
    if (!provision_parse(&self, image) ||
        !counter_boot(&counter, image + PROVISION_COUNTER_SLOTS_AT, self.epoch, self.counter_block)) {
        return false;
    }
    clock_boot();
    sampler_boot(self.adc_channel, self.clock_hz);
    return true;
}

/// Waits for the frame that the link was opened for, or is about to be. True when it is whole in link_buffer.
static bool receive(void)
{
    wait();
    bool is_whole = link_state() == LINK_RECEIVED;
    link_close();
    return is_whole;
}

/// Verifies what is in link_buffer as a beacon that is newer than the last.
static bool open_beacon(struct beacon *heard)
{
    phase = PHASE_VERIFYING;
    bool is_new = beacon_open(heard, link_buffer, link_received(), self.cell, self.node, self.cell_key) &&
                  (!was_in_cell || heard->superframe > beacon.superframe);
    phase = PHASE_WAITING;
    return is_new;
}

/// Hands the sampler the superframe after the present one.
static void arm_next(void)
{
    struct outgoing *frame = &outgoing[(timebase.number + 1) & 1];
    struct grid grid;

    timebase_next_grid(&timebase, self.samples_per_superframe, &grid);
    frame->superframe = timebase.number + 1;
    frame->sealed = 0;
    frame->filled_ticks = sampler_filled_ticks(&grid);
    frame->is_armed =
        grid.step_ticks >= sampler_interval_min_cycles() && sampler_arm(&grid, frame->bytes + FRAME_CODES_AT);
}

/// Listens until a beacon was verified, and sets the timebase by it.
static void join(void)
{
    struct beacon heard;

    sampler_stop();
    outgoing[0].is_armed = outgoing[1].is_armed = false;
    outgoing[0].sealed = outgoing[1].sealed = 0;
    do {
        uint32_t now = clock_now();
        clock_alarm_listen(now, now + LISTEN_TICKS_MAX, LISTEN_TICKS_MAX);
    } while (!receive() || !open_beacon(&heard));
    beacon = heard;
    was_in_cell = true;
    timebase_join(&timebase, heard.superframe, link_arrival(), heard.superframe_us, self.clock_hz);
    arm_next();
}

/// Seals the frame that the superframe before filled. Without a fresh count the samples are dropped.
static void seal(struct outgoing *frame)
{
    uint32_t count;

    if (!frame->is_armed) {
        return;
    }
    bool is_filled;
    do {
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            is_filled = sampler_has_filled(frame->bytes + FRAME_CODES_AT);
        }
    } while (!is_filled);
    frame->is_armed = false;
    if (!counter_take(&counter, &count)) {
        return;
    }
    phase = PHASE_SEALING;
    frame->sealed = frame_seal(frame->bytes, &self, count, frame->superframe * self.samples_per_superframe,
                               self.samples_per_superframe);
    phase = PHASE_WAITING;
}

/// The tick `us` after the present superframe's start.
static uint32_t at_us(uint32_t us)
{
    return timebase.start_ticks + timebase_ticks(&timebase, us);
}

static uint32_t own_slot_ticks(void)
{
    return at_us((uint32_t)beacon.slot * beacon.slot_us + beacon.guard_us);
}

/// Sends the frame in the node's own slot, or drops it: a frame has one slot. It is dropped when the node has no slot,
/// when the clock may be further off than the guard, when it would not end within the slot, and when the bus is taken.
static void send(struct outgoing *frame)
{
    uint16_t bytes = frame->sealed;

    frame->sealed = 0;
    if (bytes == 0 || beacon.slot == 0 || timebase_drift_ticks(&timebase) > timebase_ticks(&timebase, beacon.guard_us)) {
        return;
    }
    uint32_t last_start = at_us((beacon.slot + 1UL) * beacon.slot_us) - link_send_cycles(bytes, self.spi_divider_log2);
    // Waking takes a while that depends on what else is served; the last stretch is waited for awake.
    uint32_t start = own_slot_ticks() - SEND_LATENCY_CYCLES;
    wait_until(start - SEND_LEAD_CYCLES);
    if (clock_is_past(clock_now(), last_start)) {
        return;
    }
    phase = PHASE_TRANSMITTING;
    clock_wait(start);
    link_send(frame->bytes, bytes, self.spi_divider_log2);
    phase = PHASE_WAITING;
}

/// Takes the beacon that was received. False when it changes the superframe's length: the node has to join again.
static bool take_beacon(void)
{
    struct beacon heard;

    if (!open_beacon(&heard) || !timebase_heard(&timebase, heard.superframe, link_arrival())) {
        return true;
    }
    bool is_same_length = heard.superframe_us == beacon.superframe_us;
    beacon = heard;
    return is_same_length;
}

static void hear_downlink(void)
{
    uint32_t start_us = (uint32_t)beacon.downlink_slot * beacon.slot_us;
    uint32_t start = at_us(start_us), end = at_us(start_us + beacon.slot_us);
    uint32_t next_beacon = timebase_next_listen_ticks(&timebase) - TURN_CYCLES_MAX;

    // Where the slots fill the superframe, the next beacon comes first.
    if (clock_is_past(end, next_beacon)) {
        end = next_beacon;
    }
    clock_alarm_listen(start - timebase_drift_ticks(&timebase) - KERNEL_CYCLES_MAX, end, end - start);
    if (receive()) {
        phase = PHASE_VERIFYING;
        downlink_open(&downlink, link_buffer, link_received(), &self);
        phase = PHASE_WAITING;
    }
}

/// One superframe. False when the node has to join again.
static bool superframe(void)
{
    struct outgoing *frame = &outgoing[timebase.number & 1]; // filled in the superframe that ends

    if (!timebase_advance(&timebase)) {
        return false;
    }
    uint32_t margin_ticks = timebase_margin_ticks(&timebase), slot_ticks = timebase_ticks(&timebase, beacon.slot_us);
    uint32_t opens = timebase.start_ticks - margin_ticks - KERNEL_CYCLES_MAX;
    if (frame->is_armed && clock_is_past(opens - CLOCK_LEAD_CYCLES_MIN, frame->filled_ticks)) {
        wait_until(frame->filled_ticks);
    }
    clock_alarm_listen(opens, timebase.start_ticks + margin_ticks, slot_ticks);
    seal(frame);
    bool has_beacon = receive();
    // Sending does not wait for the verdict: the estimate of the superframes before is good enough for that, and a
    // node in an early slot has no time for both.
    bool slot_is_near = clock_is_past(clock_now() + VERIFY_CYCLES_MAX, own_slot_ticks());
    bool is_same_length = true;
    if (has_beacon && !slot_is_near) {
        is_same_length = take_beacon();
    }
    send(frame);
    if (has_beacon && slot_is_near) {
        is_same_length = take_beacon();
    }
    if (!is_same_length) {
        return false;
    }
    arm_next();
    hear_downlink();
    return true;
}

AVRX_TASKDEF(mac, MAC_STACK_BYTES, MAC_PRIORITY)
{
    for (;;) {
        join();
        while (superframe()) {
            if (counter_is_spent(&counter)) {
                power_silence();
            }
        }
    }
}

int main(void)
{
    AvrXSetKernelStack(0);
    if (!boot()) {
        power_silence();
    }
    AvrXRunTask(TCB(mac));
    AvrXRunTask(TCB(rest));
    AvrXLeaveKernel();
}
