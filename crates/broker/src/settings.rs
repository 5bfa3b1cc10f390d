//! The numbers that a deployment, an operator or a slow device may choose, each within its limit.

use std::time::Duration;

use crate::limits;
use crate::quota::Bounds;

/// Numbers that a deployment or a slow device may lower.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Requests at the device at a time. 1 makes a broker that waits for each answer.
    pub in_flight_max: usize,
    /// Their bytes; the first request is always let through.
    pub in_flight_bytes_max: usize,
    /// Transfers that are not on their way as a whole. 2 keep the device busy; 1 makes a broker that waits.
    pub transfers_max: usize,
    /// A transfer takes requests until it has so many bytes.
    pub transfer_bytes_max: usize,
    /// And begins so many at most: a part of those that may be at the device, so that others follow while these are
    /// answered.
    pub transfer_requests_max: usize,
    /// Whether requests are cut, so that no transfer is longer and a small request waits for no more than that.
    /// The device must put the pieces together.
    pub is_cut: bool,
    /// How long the device may take for a request.
    pub answer_max: Duration,
    /// How long a connection may leave its answers unread.
    pub unread_max: Duration,
    /// How long a request may take to come as a whole, once it has begun and as long as the connection is read from.
    pub request_max: Duration,
    /// How long the device is waited for at the start.
    pub start_max: Duration,
    /// Who may ask what the broker has done, besides root.
    pub operator: Option<u32>,
    /// A group whose members may too.
    pub operator_group: Option<u32>,
    /// How much the applications may have waiting.
    pub bounds: Bounds,
    /// How long a lane may wait for those before it.
    pub age_max: Duration,
    /// How long the loop looks out for more of an application that has just asked, and was alone, before it sleeps.
    pub attention: Duration,
    /// Which users get more of the device than others.
    pub weights: Weights,
    /// Nobody else is served, not even root.
    pub only_user: Option<u32>,
    /// The broker ends when it had no connection for so long.
    pub idle_max: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            in_flight_max: limits::IN_FLIGHT_MAX,
            in_flight_bytes_max: limits::IN_FLIGHT_BYTES_MAX,
            transfers_max: limits::TRANSFERS_MAX,
            transfer_bytes_max: limits::TRANSFER_BYTES_MAX,
            transfer_requests_max: limits::IN_FLIGHT_MAX,
            is_cut: false,
            answer_max: limits::ANSWER_MAX,
            unread_max: limits::UNREAD_MAX,
            request_max: limits::REQUEST_TIME,
            start_max: limits::START_MAX,
            operator: None,
            operator_group: None,
            bounds: Bounds::default(),
            age_max: limits::AGE_MAX,
            attention: limits::ATTENTION,
            weights: Weights::default(),
            only_user: None,
            idle_max: None,
        }
    }
}

/// What suits a device: it may narrow what the [`Settings`] say, and widens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// See [`Settings::is_cut`].
    pub is_cut: bool,
    /// See [`Settings::transfer_bytes_max`].
    pub transfer_bytes_max: usize,
    /// See [`Settings::transfer_requests_max`].
    pub transfer_requests_max: usize,
}

impl Default for Fit {
    /// Whatever the settings say.
    fn default() -> Fit {
        Fit {
            is_cut: false,
            transfer_bytes_max: limits::TRANSFER_BYTES_MAX,
            transfer_requests_max: limits::IN_FLIGHT_MAX,
        }
    }
}

impl Settings {
    /// The same for a device that this suits.
    #[must_use]
    pub(crate) fn fitting(self, fit: Fit) -> Settings {
        Settings {
            is_cut: self.is_cut || fit.is_cut,
            transfer_bytes_max: self.transfer_bytes_max.min(fit.transfer_bytes_max),
            transfer_requests_max: self.transfer_requests_max.min(fit.transfer_requests_max),
            ..self
        }
    }

    /// The most that what applications do can make the broker hold, besides what a broker without any takes: what is
    /// charged to them, what is not finished, and what each connection takes that holds nothing.
    pub fn memory_bytes_max(&self) -> usize {
        let bounds = &self.bounds;
        // A request and its answer are there at once while the answer is made, and at the device only.
        let charged_bytes = bounds.request_bytes + limits::IN_FLIGHT_BYTES_MAX;
        let besides_bytes = bounds.requests * limits::REQUEST_BESIDES_BYTES;
        let connections_bytes = bounds.connections * limits::CONNECTION_BYTES;
        charged_bytes + besides_bytes + bounds.unfinished_bytes + connections_bytes
    }

    /// # Panics
    /// When one is 0 or over its limit.
    pub(crate) fn check(&self) {
        assert!((1..=limits::IN_FLIGHT_MAX).contains(&self.in_flight_max));
        assert!((1..=limits::IN_FLIGHT_BYTES_MAX).contains(&self.in_flight_bytes_max));
        assert!((1..=limits::TRANSFERS_MAX).contains(&self.transfers_max));
        assert!((1..=limits::TRANSFER_BYTES_MAX).contains(&self.transfer_bytes_max));
        assert!((1..=limits::IN_FLIGHT_MAX).contains(&self.transfer_requests_max));
        assert!(!self.answer_max.is_zero() && self.answer_max <= limits::ANSWER_MAX);
        assert!(!self.unread_max.is_zero() && self.unread_max <= limits::UNREAD_MAX);
        assert!(!self.request_max.is_zero() && self.request_max <= limits::REQUEST_TIME_MAX);
        assert!((limits::AGE_MIN..=limits::AGE_MAX).contains(&self.age_max));
        assert!(self.attention <= limits::ATTENTION_MAX);
        assert!(self.bounds.are_sound());
        assert!(self.weights.said().all(|(_, weight)| (1..=limits::WEIGHT_MAX).contains(&weight)));
    }
}

/// How many times what others get some users get, while there is not enough for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights([Option<(u32, u32)>; limits::WEIGHTS_MAX]);

impl Weights {
    /// Says the weight of a user; `false`, and it is not said, when there are as many as there may be.
    #[must_use]
    pub fn say(&mut self, user: u32, weight: u32) -> bool {
        let place = self.0.iter_mut().find(|said| said.is_none_or(|(other, _)| other == user));
        place.map(|said| *said = Some((user, weight))).is_some()
    }

    /// A user's.
    pub fn of(&self, user: u32) -> u32 {
        self.said().find(|(other, _)| *other == user).map_or(1, |(_, weight)| weight)
    }

    /// Users whose weight was said.
    pub fn users(&self) -> impl Iterator<Item = u32> {
        self.said().map(|(user, _)| user)
    }

    fn said(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.into_iter().flatten()
    }
}
