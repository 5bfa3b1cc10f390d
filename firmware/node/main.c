//! The node's story: boot, join the cell, then one superframe after another.
//!
//! Owns the order of things within a superframe and the two tasks below. How each thing is done is its file's.
//!
//!     superframe f     | beacon | ......... | own slot | ... | downlink |        time ->
//!     samples of f     s   s   s   s   s   s   s   s   s   s   s   s   s     by interrupt, all the while
//!     frame of f-1     seal -------------->   send
//!     beacon of f        hear      verify                                    after sending when the slot is near
//!
//! With woven filters the frame of f-1 is sealed beside that of f-2, from the slot's instant on: it is sent a superframe
//! later, and mac goes on when both are done.
//!
//! Nothing is sampled or sent before a beacon was verified. After too many missed beacons in a row the node is back
//! at joining. A node that is not sure of a fresh counter, or of its provisioning, is silent until the next reset.
//!
//! Tasks on the kernel: `mac` tells the story, and waits for one thing at a time, which is `clock_signal`; `rest` runs when
//! nobody else does, sleeps, and lets the counter's reservation and a change of the epoch go on whenever the core is awake anyway. How frames are
//! sealed, sent and heard is traffic.h's, which has tasks of its own where the chip has room for them. Two handlers go
//! through the kernel, the alarm's and the end of a frame's; all others are too short, or must not wait for it.
//! What a task may do while a frame comes in is link.h's.
#include <avr/interrupt.h>
#include <util/atomic.h>

#include "../crypto/secret.h"
#include "avrx.h"
#include "beacon.h"
#include "clock.h"
#include "counter.h"
#include "eeprom.h"
#include "epoch.h"
#include "frame.h"
#include "limits.h"
#include "link.h"
#include "phase.h"
#include "power.h"
#include "provision.h"
#include "sampler.h"
#include "suite.h"
#include "timebase.h"
#include "traffic.h"

/// A superframe that the sampler has.
struct sampled {
    const uint8_t *codes;  // NULL: none
    uint32_t filled_ticks; // when they are all taken
    struct samples samples;
};

static struct provision self;
static struct counter counter;
static struct setting setting; // of the superframe that was armed last
static struct epoch_change change;
static struct timebase timebase;
static struct beacon beacon; // the last one believed: the map in force
static struct sampled sampled[2]; // of even and of odd superframes
static bool was_in_cell;

static void wait_until(uint32_t ticks)
{
    clock_alarm_set(ticks);
    clock_alarm_wait();
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
        if (epoch_step(&change, &offset, &value) && eeprom_settle(PROVISION_EPOCHS_AT + offset, value, &held)) {
            epoch_stepped(&change, held);
        }
    }
}

static void read_image(uint8_t *image, uint8_t at, uint8_t bytes)
{
    while (bytes--) {
        *image++ = eeprom_read(at++);
    }
}

/// True when the EEPROM holds who the node is, its key, and counts that are surely fresh.
/// Not inlined, so that the image's bytes leave the stack again.
__attribute__((noinline)) static bool know_self(void)
{
    uint8_t image[EPOCH_PLACES_BYTES]; // the longest of three parts

    read_image(image, 0, PROVISION_BYTES);
    bool is_known = provision_parse(&self, image);
    if (is_known) {
        read_image(image, PROVISION_COUNTER_SLOTS_AT, COUNTER_SLOTS_BYTES);
        is_known = counter_boot(&counter, image, self.epoch, self.counter_block);
    }
    if (is_known) {
        read_image(image, PROVISION_EPOCHS_AT, EPOCH_PLACES_BYTES);
        is_known = epoch_boot(&change, &self, image);
    }
    secret_wipe(image, sizeof image);
    return is_known;
}

static bool boot(void)
{
    phase = PHASE_BOOTING;
    power_boot();
    link_boot();
    if (!know_self()) {
        return false;
    }
    setting = (struct setting){self.adc_channel, 1};
    clock_boot();
    sampler_boot(self.clock_hz);
    return true;
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
    uint32_t number = timebase.number + 1;
    struct sampled *next = &sampled[number & 1];
    struct grid grid;

    traffic_set(number * self.samples_per_superframe, &setting);
    next->samples = frame_samples(&self, number, &setting);
    uint8_t *codes = traffic_codes(number, next->samples.count);
    timebase_next_grid(&timebase, next->samples.count, &grid);
    next->filled_ticks = sampler_filled_ticks(&grid);
    bool is_armed =
        codes && grid.step_ticks >= sampler_interval_min_cycles() && sampler_arm(&grid, codes, setting.channel);
    next->codes = is_armed ? codes : NULL;
}

/// Listens until a beacon was verified, and sets the timebase by it.
static void join(void)
{
    struct beacon heard;

    sampler_stop();
    sampled[0].codes = sampled[1].codes = NULL;
    traffic_forget();
    do {
        uint32_t now = clock_now();
        clock_alarm_listen(now, now + LISTEN_TICKS_MAX, LISTEN_TICKS_MAX);
    } while (!link_receive() || !open_beacon(&heard));
    beacon = heard;
    was_in_cell = true;
    timebase_join(&timebase, heard.superframe, link_arrival(), heard.superframe_us, self.clock_hz);
    arm_next();
}

/// Waits for the last code of the superframe before, and hands them on.
static void seal(void)
{
    struct sampled *last = &sampled[(timebase.number - 1) & 1];
    bool is_filled;

    do {
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            is_filled = sampler_has_filled(last->codes);
        }
    } while (!is_filled);
    last->codes = NULL;
    traffic_seal(timebase.number - 1, &last->samples);
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

/// The downlink slot of the present superframe, as far as the node has the time to listen.
struct downlink_slot {
    uint32_t start_ticks, end_ticks; // of a frame, and of the slot
    bool has_time; // for what a woven filter does behind a frame, before the next beacon
};

static struct downlink_slot downlink_slot(void)
{
    uint32_t slot_us = (uint32_t)beacon.downlink_slot * beacon.slot_us;
    uint32_t start = at_us(slot_us + beacon.guard_us), end = at_us(slot_us + beacon.slot_us);
    uint32_t next_beacon = timebase_next_listen_ticks(&timebase) - TURN_CYCLES_MAX;

    // Where the slots fill the superframe, the next beacon comes first.
    return (struct downlink_slot){start, clock_is_past(end, next_beacon) ? next_beacon : end,
                                  clock_is_past(next_beacon, end + SECURITY_CYCLES_MAX)};
}

/// Sends a frame in the node's own slot; `has_beacon` tells whether the superframe's was heard. It does not when the node
/// has no slot, when the clock may be further off than the guard, when a frame would not end within the slot, and when the
/// bus is taken.
static void send(bool has_beacon)
{
    uint16_t bytes = FRAME_CODES_AT + 2 * self.samples_per_superframe + suite_tag_bytes(self.suite);

    if (beacon.slot == 0 || timebase_drift_ticks(&timebase) > timebase_ticks(&timebase, beacon.guard_us)) {
        return;
    }
    uint32_t last_start = at_us((beacon.slot + 1UL) * beacon.slot_us) - link_send_cycles(bytes, self.spi_divider_log2);
    bool hears_surely = has_beacon && downlink_slot().has_time; // which takes a while to work out
    // Waking takes a while that depends on what else is served; the last stretch is waited for awake.
    uint32_t start = own_slot_ticks();
    wait_until(start - SEND_LEAD_CYCLES);
    traffic_send(start, last_start, hears_surely);
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

/// Hears what comes down, and hands the sampler the next superframe: behind that, where there is time for it, because a
/// frame that is sealed in this slot leaves its room. Where the beacon was not believed, slots may have changed.
static void hear_downlink(void)
{
    struct downlink_slot slot = downlink_slot();
    uint32_t drift_ticks = timebase_slot_drift_ticks(&timebase);

    if (!slot.has_time) {
        arm_next();
    }
    wait_until(slot.start_ticks - drift_ticks - HEAR_LEAD_CYCLES);
    traffic_hear(slot.start_ticks, drift_ticks, slot.end_ticks, slot.has_time && timebase.unheard == 0);
    if (slot.has_time) {
        arm_next();
    }
}

/// One superframe. False when the node has to join again.
static bool superframe(void)
{
    const struct sampled *last = &sampled[timebase.number & 1]; // in the superframe that ends

    if (!timebase_advance(&timebase)) {
        return false;
    }
    uint32_t margin_ticks = timebase_margin_ticks(&timebase), slot_ticks = timebase_ticks(&timebase, beacon.slot_us);
    uint32_t opens = timebase.start_ticks - margin_ticks - OPEN_LEAD_CYCLES;
    if (last->codes && clock_is_past(opens - CLOCK_LEAD_CYCLES_MIN, last->filled_ticks)) {
        wait_until(last->filled_ticks);
    }
    clock_alarm_listen(opens, timebase.start_ticks + margin_ticks, slot_ticks);
    if (last->codes) {
        seal();
    }
    bool has_beacon = link_receive();
    traffic_settle();
    // Sending does not wait for the verdict: the estimate of the superframes before is good enough for that, and a
    // node in an early slot has no time for both.
    bool slot_is_near = clock_is_past(clock_now() + VERIFY_CYCLES_MAX, own_slot_ticks());
    bool is_same_length = true;
    if (has_beacon && !slot_is_near) {
        is_same_length = take_beacon();
    }
    send(has_beacon);
    if (has_beacon && slot_is_near) {
        is_same_length = take_beacon();
    }
    if (!is_same_length) {
        return false;
    }
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
    traffic_boot(&self, &counter, &change);
    AvrXRunTask(TCB(mac));
    AvrXRunTask(TCB(rest));
    AvrXLeaveKernel();
}
