//! Which input a node converts when, and when it is told.
//!
//! A setting holds from its sample on or not at all (`firmware/node/downlink.h`), and each frame names the channel that
//! it is from. So nothing is remembered here: what a node is told follows from its latest frame. The next setting is told
//! ahead of its sample; a node that has not taken one, or was reset, is told to take it from a later sample on, the same
//! one for many frames, because only one setting waits in a node.

use crate::frame::Setting;

/// The settings of a node, in the order of their samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    settings: Vec<Setting>,
    lead_samples: u32,
}

impl Settings {
    /// These settings, of which a node is told `lead_samples` ahead: more than what it samples until an answer has come.
    ///
    /// # Panics
    /// When there is no time for an answer.
    pub fn new(mut settings: Vec<Setting>, lead_samples: u32) -> Settings {
        assert!(lead_samples > 0, "an answer takes time");
        settings.sort_unstable();
        Settings { settings, lead_samples }
    }

    /// What a node has to be told, of which the latest frame began with sample `first` of `channel`.
    pub(crate) fn due(&self, first: u32, channel: u8) -> Option<Setting> {
        let behind = self.settings.partition_point(|setting| setting.first <= first);
        let next = self.settings.get(behind).filter(|next| next.first - first <= self.lead_samples);
        next.copied().or_else(|| {
            let present = self.settings[..behind].last().filter(|present| present.channel != channel)?;
            let again = (first / self.lead_samples + 1).checked_mul(self.lead_samples)?;
            Some(Setting { first: again, ..*present })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn setting(first: u32, channel: u8) -> Setting {
        Setting { first, channel }
    }

    #[test]
    fn a_setting_is_told_ahead_and_again_until_a_frame_is_of_its_channel() {
        let settings = Settings::new(vec![setting(1000, 0), setting(500, 3)], 100);
        assert_eq!(settings.due(399, 0), None);
        assert_eq!(settings.due(400, 0), Some(setting(500, 3)));
        assert_eq!(settings.due(499, 0), Some(setting(500, 3)));
        assert_eq!(settings.due(500, 3), None);
        // It was lost, or the node was reset.
        assert_eq!(settings.due(500, 0), Some(setting(600, 3)));
        assert_eq!(settings.due(599, 0), Some(setting(600, 3)));
        assert_eq!(settings.due(600, 0), Some(setting(700, 3)));
        assert_eq!(settings.due(900, 0), Some(setting(1000, 0)), "the next one goes before");
        assert_eq!(settings.due(1000, 3), Some(setting(1100, 0)));
        assert_eq!((settings.due(1100, 0), settings.due(u32::MAX, 0)), (None, None));
        assert_eq!(settings.due(u32::MAX, 3), None, "there is no later sample");
        assert_eq!(Settings::default().due(7, 7), None);
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
            let list: Vec<_> = firsts.iter().map(|(&frame, &channel)| setting(frame * 10, channel)).collect();
            let last = list.last().expect("one at least").channel;
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
                answers.push_back(settings.due(first, channel));
                let heard = answers.pop_front().flatten();
                waits = heard.filter(|_| !lost.get(frame as usize).unwrap_or(&false)).or(waits);
            }
            prop_assert_eq!(channel, last);
        }
    }
}
