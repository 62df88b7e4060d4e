//! Timeouts and retries.

use std::time::{Duration, Instant};

use super::Error;
use super::failure::{Failure, Outcome};

/// Timeouts and retries of calls to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Timeout of one attempt.
    pub attempt: Duration,
    /// Timeout of one call: all attempts and the pauses between them.
    pub total: Duration,
    /// Timeout of one upload: all attempts and the pauses between them.
    pub upload: Duration,
    /// Timeout for a push to make progress.
    pub push: Duration,
    /// Maximum number of attempts of a call.
    pub attempts: u32,
    /// Pause before the second attempt; it doubles for each further attempt.
    pub pause: Duration,
    /// Longest pause, unless the service asks for a longer one.
    pub longest_pause: Duration,
    /// Interval between two queries for a status.
    pub poll: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(30),
            total: Duration::from_secs(90),
            upload: Duration::from_secs(1800),
            push: Duration::from_secs(300),
            attempts: 5,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(8),
            poll: Duration::from_secs(2),
        }
    }
}

impl RetryPolicy {
    /// The pause after the failed attempt number `attempt`, from 1: exponential backoff.
    pub fn pause_after(&self, attempt: u32) -> Duration {
        let doubled = self.pause.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        doubled.min(self.longest_pause)
    }
}

/// Maximum number of attempts to connect.
const ATTEMPTS_TO_CONNECT: u32 = 3;

/// The attempts of one call.
pub(super) struct Attempts {
    policy: RetryPolicy,
    started: Instant,
    made: u32,
}

impl Attempts {
    pub(super) fn new(policy: RetryPolicy) -> Self {
        Self { policy, started: Instant::now(), made: 0 }
    }

    /// Timeout of the next attempt.
    pub(super) fn limit(&self) -> Duration {
        self.policy.attempt.min(self.left())
    }

    /// Time that is left for all further attempts.
    pub(super) fn left(&self) -> Duration {
        self.policy.total.saturating_sub(self.started.elapsed())
    }

    /// The pause before the next attempt, or `None` if the call has failed.
    pub(super) fn pause_before_next(&mut self, failure: &Failure) -> Option<Duration> {
        self.made += 1;
        let attempts = match failure.error {
            Error::Unreachable { .. } => self.policy.attempts.min(ATTEMPTS_TO_CONNECT),
            _ => self.policy.attempts,
        };
        let pause = self.pause().max(failure.retry_after.unwrap_or_default());
        let is_hopeless = failure.outcome == Outcome::Refused;
        (!is_hopeless && self.made < attempts && pause < self.left()).then_some(pause)
    }

    /// Backoff with jitter: between half of the pause and all of it.
    fn pause(&self) -> Duration {
        self.policy.pause_after(self.made).mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// The error of the last attempt; a timeout counts all attempts.
    pub(super) fn at_last(&self, error: Error) -> Error {
        match error {
            Error::Deadline { call, .. } => Error::Deadline { call, after: self.started.elapsed() },
            error => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Call;

    fn busy(retry_after: Option<Duration>) -> Failure {
        let call = Call { method: "GET".to_owned(), path: "/".to_owned() };
        let error = Error::TryAgainLater { call, status: 503, detail: String::new() };
        Failure { error, outcome: Outcome::Unknown, retry_after }
    }

    #[test]
    fn pauses_grow_up_to_a_limit_and_vary() {
        let mut attempts = Attempts::new(RetryPolicy { attempts: 9, ..RetryPolicy::default() });
        let longest = [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0];
        for longest in longest {
            let pause = attempts.pause_before_next(&busy(None)).unwrap();
            assert!((longest / 2.0..=longest).contains(&pause.as_secs_f64()), "{pause:?} of {longest}");
        }
        assert_eq!(attempts.pause_before_next(&busy(None)), None);
        let first = || Attempts::new(RetryPolicy::default()).pause_before_next(&busy(None));
        let pauses: Vec<_> = (0..20).map(|_| first()).collect();
        assert!(pauses.iter().any(|pause| pause != &pauses[0]));
    }

    #[test]
    fn the_service_may_ask_for_a_pause_that_is_left() {
        let asked = |seconds| {
            Attempts::new(RetryPolicy::default()).pause_before_next(&busy(Some(Duration::from_secs(seconds))))
        };
        assert_eq!(asked(20).unwrap(), Duration::from_secs(20));
        assert!(asked(0).unwrap() >= Duration::from_millis(250));
        assert_eq!(asked(3600), None);
    }
}
