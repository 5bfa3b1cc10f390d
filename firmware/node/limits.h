//! Every number of the node that is a choice and not a fact of a chip or of a wire format.
//! The wire formats own theirs (frame.h, beacon.h, provision.h), the chips own theirs (chip.h).
#ifndef NODE_LIMITS_H
#define NODE_LIMITS_H

/// Superframes in a row without a verified beacon through which a node goes on sampling and sending.
#define FREE_RUN_SUPERFRAMES_MAX 8

/// A crystal of the node is within 100 ppm, one of the gateway too; 1/4096 = 244 ppm covers both and ageing.
#define DRIFT_SHIFT_UNMEASURED 12
/// What the rate may move from one superframe to the next once it is measured: 1/16384 = 61 ppm (temperature).
#define DRIFT_SHIFT_MEASURED 14
/// Share of a newly measured rate error that is believed: 1/4 (two beacons bear the error of two captures).
#define RATE_GAIN_SHIFT 2

/// How far from its instant the gateway may send a beacon. Also bounds how far one delayed beacon moves a node.
#define BEACON_JITTER_US 100UL

/// Longest superframe; keeps sixteenths of ticks in 32 bits at 20 MHz.
#define SUPERFRAME_US_MAX 10000000UL
/// Fastest clock of either chip (ATmega328P at 5 V) and slowest with an ADC clock of at least 50 kHz.
#define CLOCK_HZ_MAX 20000000UL
#define CLOCK_HZ_MIN 1000000UL

/// Longest time from the end of a beacon's reception to its verdict, in cycles, sampling interrupts included.
/// With less than this left before its slot a node transmits first and verifies after.
#define VERIFY_CYCLES_MAX 80000UL

/// Longest time from giving up on a downlink to listening for the next beacon, without a frame to verify.
#define TURN_CYCLES_MAX 8000UL

/// Shortest time between two sampling instants beyond the conversion itself: the ADC's interrupt and its arming.
#define SAMPLE_GAP_CYCLES_MIN 1500U

/// How soon a time that was past when it was set is made up for; longer than setting it takes, interrupts included.
#define CLOCK_LEAD_CYCLES_MIN 400

/// The longest frame that a node takes in: a beacon of sixteen slots. Also read by vectors.S.
#define LINK_BYTES_MAX 96

/// How long before its slot a node is awake: waking, with every interrupt and a step of the counter served.
#define SEND_LEAD_CYCLES 3600

/// From the end of that wait to the fall of SS: what link_send does before it.
#define SEND_LATENCY_CYCLES 92

/// What a transmitted byte costs beyond 8 * divider cycles, sampling interrupts included: by the polling loop (link.c), by the
/// compiled handler, and by the one by hand (sender.h), whose own time is longer than a byte at f/2.
#define POLLED_BYTE_OVERHEAD_CYCLES 24U
#define HANDLED_BYTE_OVERHEAD_CYCLES 80U
#define HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES 28U
#if defined(FILTERS_HANDLER_BY_HAND)
#define LINK_BYTE_OVERHEAD_CYCLES HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES
#elif defined(FILTERS_HANDLER)
#define LINK_BYTE_OVERHEAD_CYCLES HANDLED_BYTE_OVERHEAD_CYCLES
#else
#define LINK_BYTE_OVERHEAD_CYCLES POLLED_BYTE_OVERHEAD_CYCLES
#endif

/// Frames for which a pipe of the controller has room, in any of its states (controller.h). Two of those that are heard:
/// one is opened while the next comes in.
#ifndef PLAIN_FRAMES_MAX
#define PLAIN_FRAMES_MAX 2
#define SEALED_FRAMES_MAX 1
#define HEARD_FRAMES_MAX 2
#define OPENED_FRAMES_MAX 1
/// The longest frame that a node sends in a slot; a transfer counts in one byte.
#define SENT_BYTES_MAX 255
#endif

/// What a woven filter has on the line ends a page (filters.h); what a handler sends does, too (sender.h).
#ifdef FILTERS_SUITE
#define LINK_ROOM_BYTES 256
#define LINK_ALIGNED_BYTES 256
#else
#define LINK_ROOM_BYTES (LINK_BYTES_MAX + 1)
#define LINK_ALIGNED_BYTES 1
#endif
#if defined(FILTERS_SUITE) || defined(FILTERS_HANDLER)
#define SENT_ROOM_BYTES 256
#define SENT_ALIGNED_BYTES 256
#else
#define SENT_ROOM_BYTES SENT_BYTES_MAX
#define SENT_ALIGNED_BYTES 1
#endif

/// Stacks of the controller's tasks beyond the kernel's share: a suite, and a filter's own.
#if defined(FILTERS_HANDLER)
#define CONTROLLER_STACK_BYTES 364
#elif defined(FILTERS_SUITE)
#define CONTROLLER_STACK_BYTES 300
#else
#define CONTROLLER_STACK_BYTES 220
#endif
#define SECURITY_STACK_BYTES 340
/// What the controller does goes before everything; what it leaves to the security task comes after everything.
#define CONTROLLER_PRIORITY 0
#define SECURITY_PRIORITY 250

/// How often a byte that is received outside of interrupts is asked for, some ten cycles each (filters.c).
#define LINE_BYTE_POLLS_MAX 500

/// The node's tasks. `mac` is more urgent than `rest`, and needs room for a suite and for the sampler's handler.
#define MAC_PRIORITY 1
#if defined(__AVR_ATmega128__) // traffic_pipes.c: security has a task of its own
#define MAC_STACK_BYTES 244
#else
#define MAC_STACK_BYTES 404
#endif
/// What was heard is taken before anything is sealed.
#define ANSWERS_PRIORITY 200
#define ANSWERS_STACK_BYTES 68
#define REST_PRIORITY 254
#define REST_STACK_BYTES 68

/// How long a node that joins listens before it opens the link again; ticks wrap at twice that.
#define LISTEN_TICKS_MAX 0x70000000UL

/// Longest stretch with interrupts off: a handler that wakes a task, and the switch to it.
#define KERNEL_CYCLES_MAX 300
/// How old a match of compare A may be that is not served yet where interrupts have just been switched off.
#define MATCH_AGE_CYCLES_MAX 24
/// How long after a match it may not be said whether that was before the flag was cleared: the sampler's handler.
#define MATCH_DOUBT_CYCLES 1000
/// From an alarm to a conversion that it would keep waiting: the alarm itself may wait for a switch that has just begun.
#define ALARM_AHEAD_CYCLES (KERNEL_CYCLES_MAX + 200)
/// From the start of a conversion to an alarm that gives way to it: the handler of that.
#define ALARM_BEHIND_CYCLES 60
/// The shortest time for which the link is opened.
#define LISTEN_CYCLES_MIN (CLOCK_LEAD_CYCLES_MIN + ALARM_AHEAD_CYCLES + ALARM_BEHIND_CYCLES)
/// How long before a frame may begin the link is opened: a conversion that goes first has begun, whoever called the kernel
/// just before is done with it, and so is the controller, if that was woken.
#if defined(__AVR_ATmega128__)
#define OPEN_LEAD_CYCLES 4600
#else
#define OPEN_LEAD_CYCLES 900
#endif

/// How long before a frame may begin the node is awake: waking, as above, and opening the link.
#define HEAR_LEAD_CYCLES (SEND_LEAD_CYCLES + OPEN_LEAD_CYCLES)

/// How long before a frame may begin a woven filter is called: an interrupt that is served just then, and its way in.
#define ASK_LEAD_CYCLES 1700
/// How long it asks for the first byte (guest_transfer_rx.S), and what a byte and the lead of SS take of that. Where a byte
/// takes longer nothing is woven that receives.
#define ASK_CYCLES_MAX 4096
#define FIRST_BYTE_CYCLES_MAX 800
/// The longest that sealing or opening a frame takes, while the line is served and until it is done.
#define SECURITY_CYCLES_MAX 200000UL

/// Budgets, checked against the linker map and the stack analysis by test/run.sh.
#define FLASH_BYTES_MAX 22016
#define STATIC_BYTES_MAX_ATMEGA128 3200
#define STATIC_BYTES_MAX_ATMEGA328P 1536
/// Where filters are woven, and frames end pages: all that the ATmega128 has but the kernel's stack.
#define STATIC_BYTES_MAX_WOVEN 3840
/// Of the kernel's stack, which is main's until the tasks run; theirs are static.
#define STACK_BYTES_MAX 256
/// What other interrupts may add to the start of a conversion: the jitter of sampling.
#define START_DELAY_CYCLES_MAX 300

#endif
