//! What the node seals and sends, and what it hears from the server and opens: frames from their first code on.
//!
//! Two ways, one for each kind of chip (chip.h). With the controller's pipes (traffic_pipes.c) a frame is sealed by a task
//! of its own while nothing else is to be done, and keeps its place until a slot has sent it. Without (traffic_direct.c)
//! it is sealed by who calls, and has the one slot that follows.
//!
//! Called by the MAC's task. When a superframe begins, and when a slot, is that task's to know.
#ifndef NODE_TRAFFIC_H
#define NODE_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"
#include "epoch.h"
#include "frame.h"
#include "provision.h"

/// Before the first task runs. All three are used from now on.
void traffic_boot(struct provision *provision, struct counter *counter, struct epoch_change *change);

/// Makes of the setting of a superframe that of the next one, which begins with sample `first`.
void traffic_set(uint32_t first, struct setting *setting);

/// Room for so many codes of a superframe that will be sampled; NULL when there is none. Two superframes in a row are in
/// hand.
uint8_t *traffic_codes(uint32_t superframe, uint8_t count);

/// The codes of a superframe are there: its frame is sealed now, or as soon as nobody else needs the core. Without a fresh
/// count they are dropped.
void traffic_seal(uint32_t superframe, const struct samples *samples);

/// What was asked for will not be filled.
void traffic_forget(void);

/// Returns when nothing is being sealed or opened. A change of the epoch that the EEPROM holds is in force then: what was
/// sealed before goes out as it is.
void traffic_settle(void);

/// Sends a frame whose SS falls at `start_ticks`, if one is sealed. It does not when `last_start_ticks` are past, and when
/// the bus is taken. At least SEND_LEAD_CYCLES before. `hears_surely` when what is heard next will be sure (traffic_hear).
void traffic_send(uint32_t start_ticks, uint32_t last_start_ticks, bool hears_surely);

/// Hears a frame whose SS falls within `drift_ticks` of `start_ticks` and rises before `until_ticks`, and takes what it
/// says. `is_sure` when nothing else may come, and nobody needs the core for SECURITY_CYCLES_MAX: the frame's length is
/// known then, and it may be heard by a woven filter. At least HEAR_LEAD_CYCLES before.
void traffic_hear(uint32_t start_ticks, uint32_t drift_ticks, uint32_t until_ticks, bool is_sure);

#endif
