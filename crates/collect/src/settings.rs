//! Which input a node converts when, how often, and when it is told.
//!
//! A setting holds from its sample on or not at all (`firmware/node/downlink.h`), and each frame names the channel that
//! it is from, and shows its stride. So nothing is remembered here: what a node is told follows from its latest frame, and
//! from what a person ordered (`orders`). The next setting is told
//! ahead of its sample; a node that has not taken one, or was reset, is told to take it from a later sample on, the same
//! one for many frames, because only one setting waits in a node.

use serde::Serialize;

use crate::frame::Setting;
use crate::record::Ordered;

/// What a node is to do from a sample of its grid on; what is not named stays as it was set or ordered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Planned {
    /// The sample, the first of a frame.
    pub first: u32,
    /// The input that it converts.
    pub channel: Option<u8>,
    /// It takes every so manieth sample.
    pub stride: Option<u8>,
}

/// The settings of a node, in the order of their samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    planned: Vec<Planned>,
    lead_samples: u32,
}

impl Settings {
    /// These settings, of which a node is told `lead_samples` ahead: more than what it samples until an answer has come.
    ///
    /// # Panics
    /// When there is no time for an answer.
    pub fn new(mut planned: Vec<Planned>, lead_samples: u32) -> Settings {
        assert!(lead_samples > 0, "an answer takes time");
        planned.sort_unstable();
        Settings { planned, lead_samples }
    }

    /// True when the node can be told anything.
    pub(crate) fn can_be_told(&self) -> bool {
        self.lead_samples > 0
    }

    /// What a node has to be told whose latest frame is `frame`, and which was `ordered` what the last person who asked
    /// for something wanted.
    pub(crate) fn due(&self, frame: Setting, ordered: Option<&Ordered>) -> Option<Setting> {
        let (past, coming) =
            self.planned.split_at(self.planned.partition_point(|planned| planned.first <= frame.first));
        let holds = |planned_to: fn(&Planned) -> Option<u8>, ordered_to: fn(&Ordered) -> Option<u8>| {
            let set = past.iter().rev().find_map(|planned| Some((planned.first, planned_to(planned)?)));
            // An order that no frame was stored behind yet is later than whatever was set before.
            let is_later = |ordered: &&Ordered| {
                set.is_none_or(|(first, _)| ordered.since.is_none_or(|since| since >= first))
            };
            ordered.filter(is_later).and_then(ordered_to).or(set.map(|(_, to)| to))
        };
        let channel = holds(|planned| planned.channel, |ordered| ordered.channel).unwrap_or(frame.channel);
        let stride = holds(|planned| planned.stride, |ordered| ordered.stride).unwrap_or(1);
        if let Some(next) = coming.first().filter(|next| next.first - frame.first <= self.lead_samples) {
            let (channel, stride) = (next.channel.unwrap_or(channel), next.stride.unwrap_or(stride));
            return Some(Setting { first: next.first, channel, stride });
        }
        if (channel, stride) == (frame.channel, frame.stride) || !self.can_be_told() {
            return None;
        }
        let again = (frame.first / self.lead_samples + 1).checked_mul(self.lead_samples)?;
        Some(Setting { first: again, channel, stride })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn setting(first: u32, channel: u8) -> Setting {
        Setting { first, channel, stride: 1 }
    }

    fn input(first: u32, channel: u8) -> Planned {
        Planned { first, channel: Some(channel), stride: None }
    }

    #[test]
    fn a_setting_is_told_ahead_and_again_until_a_frame_is_of_its_channel() {
        let settings = Settings::new(vec![input(1000, 0), input(500, 3)], 100);
        assert_eq!(settings.due(setting(399, 0), None), None);
        assert_eq!(settings.due(setting(400, 0), None), Some(setting(500, 3)));
        assert_eq!(settings.due(setting(499, 0), None), Some(setting(500, 3)));
        assert_eq!(settings.due(setting(500, 3), None), None);
        // It was lost, or the node was reset.
        assert_eq!(settings.due(setting(500, 0), None), Some(setting(600, 3)));
        assert_eq!(settings.due(setting(599, 0), None), Some(setting(600, 3)));
        assert_eq!(settings.due(setting(600, 0), None), Some(setting(700, 3)));
        assert_eq!(settings.due(setting(900, 0), None), Some(setting(1000, 0)), "the next one goes before");
        assert_eq!(settings.due(setting(1000, 3), None), Some(setting(1100, 0)));
        assert_eq!(
            (settings.due(setting(1100, 0), None), settings.due(setting(u32::MAX, 0), None)),
            (None, None)
        );
        assert_eq!(settings.due(setting(u32::MAX, 3), None), None, "there is no later sample");
        assert_eq!(Settings::default().due(setting(7, 7), None), None);
    }

    #[test]
    fn what_a_person_ordered_holds_over_what_was_set_before_it_and_until_the_next_setting() {
        let settings = Settings::new(vec![input(500, 3), input(1000, 2)], 100);
        let frame = |first, channel, stride| Setting { first, channel, stride };
        let ordered = |channel, stride, since| Ordered { node: 1, channel, stride, since, is_done: false };
        let other = ordered(Some(6), None, Some(600));
        let due =
            |first, channel, stride, ordered| settings.due(frame(first, channel, stride), Some(ordered));
        assert_eq!(due(600, 3, 1, &other), Some(frame(700, 6, 1)));
        assert_eq!(due(700, 6, 1, &other), None);
        assert_eq!(due(920, 6, 1, &other), Some(frame(1000, 2, 1)), "a setting that is due goes before");
        assert_eq!(due(1000, 2, 1, &other), None, "and behind the order");
        let fresh = ordered(Some(6), None, None);
        assert_eq!(due(1000, 2, 1, &fresh), Some(frame(1100, 6, 1)), "nothing was stored since");
        let stride = ordered(None, Some(2), Some(0));
        assert_eq!(due(100, 0, 1, &stride), Some(frame(200, 0, 2)), "its input stays");
        assert_eq!(due(200, 0, 2, &stride), None);
        assert_eq!(due(450, 0, 2, &stride), Some(frame(500, 3, 2)), "and its stride does over a setting");
        assert_eq!(due(500, 3, 1, &stride), Some(frame(600, 3, 2)), "it was reset");
        let each = ordered(None, Some(1), Some(0));
        assert_eq!(due(500, 3, 2, &each), Some(frame(600, 3, 1)));
    }

    #[test]
    fn a_rate_holds_over_settings_that_name_only_an_input_until_one_names_a_rate_or_a_person_orders_one() {
        let planned = |first, channel, stride| Planned { first, channel, stride };
        let list = [(500, None, Some(2)), (1000, Some(3), None), (2000, None, Some(1))];
        let list = list.map(|(first, channel, stride)| planned(first, channel, stride));
        let settings = Settings::new(list.to_vec(), 100);
        let frame = |first, channel, stride| Setting { first, channel, stride };
        let due = |first, channel, stride| settings.due(frame(first, channel, stride), None);
        assert_eq!(due(450, 7, 1), Some(frame(500, 7, 2)), "its input stays");
        assert_eq!(due(500, 7, 2), None);
        assert_eq!(due(950, 7, 2), Some(frame(1000, 3, 2)), "its rate does");
        assert_eq!(due(1000, 7, 1), Some(frame(1100, 3, 2)), "it was reset");
        assert_eq!(due(1950, 3, 2), Some(frame(2000, 3, 1)));
        let faster = Ordered { node: 1, channel: None, stride: Some(3), since: Some(600), is_done: false };
        let due = |first, channel, stride| settings.due(frame(first, channel, stride), Some(&faster));
        assert_eq!(due(1000, 3, 2), Some(frame(1100, 3, 3)), "who orders a rate orders no input");
        assert_eq!(due(2000, 3, 1), None, "a later setting goes before");
    }

    proptest! {
        /// A node that hears `lag` frames late, if at all, and is reset now and then, converts in the end what it should.
        #[test]
        fn whatever_is_lost_the_right_input_is_converted_in_the_end(
            firsts in prop::collection::btree_map(1u32..40, 0u8..8, 1..4),
            lag in 0usize..7,
            lost in prop::collection::vec(any::<bool>(), 80),
            resets in prop::collection::vec(0usize..60, 0..3),
        ) {
            let list: Vec<_> = firsts.iter().map(|(&frame, &channel)| input(frame * 10, channel)).collect();
            let last = list.last().and_then(|planned| planned.channel).expect("one at least");
            let settings = Settings::new(list, 80);
            let (mut channel, mut waits) = (0, None::<Setting>);
            let mut answers = std::collections::VecDeque::from(vec![None; lag]);
            for frame in 0..100u32 {
                if resets.contains(&(frame as usize)) {
                    (channel, waits) = (0, None);
                }
                let first = frame * 10;
                if let Some(due) = waits.filter(|due| first >= due.first) {
                    channel = if due.first == first { due.channel } else { channel };
                    waits = None;
                }
                answers.push_back(settings.due(setting(first, channel), None));
                let heard = answers.pop_front().flatten();
                waits = heard.filter(|_| !lost.get(frame as usize).unwrap_or(&false)).or(waits);
            }
            prop_assert_eq!(channel, last);
        }
    }
}
