//! The load of deployments, by which their number of replicas changes.
//!
//! As a HorizontalPodAutoscaler does, it averages a short time, and looks back over a stabilization window before replicas are
//! stopped.

use std::collections::VecDeque;
use std::time::Duration;

use super::state::Load;

/// Time over which open requests are averaged.
const AVERAGED: Duration = Duration::from_secs(10);

/// Time for which a lower load must last before replicas are stopped.
pub(super) const STABILIZATION: Duration = Duration::from_secs(300);

/// Interval of the samples.
const INTERVAL: Duration = Duration::from_secs(1);

/// The load of a deployment over the stabilization window.
#[derive(Debug, Default)]
pub(super) struct LoadHistory {
    /// The time of the first sample.
    since: Option<Duration>,
    /// Open requests of the averaged time, with their times.
    samples: VecDeque<(Duration, usize)>,
    /// Averages of the stabilization window, each lower than the one before: the others are never the highest.
    averages: VecDeque<(Duration, usize)>,
}

impl LoadHistory {
    /// Adds a sample at `now`, unless the last one is too recent, and returns the load.
    pub(super) fn sample(&mut self, now: Duration, open: usize) -> Load {
        let since = *self.since.get_or_insert(now);
        let is_due = self.samples.back().is_none_or(|(last, _)| now.saturating_sub(*last) >= INTERVAL);
        if is_due {
            self.samples.push_back((now, open));
        }
        drop_before(&mut self.samples, now.saturating_sub(AVERAGED));
        // A load that has just begun counts from its first second on: the time before is zero.
        let expected = AVERAGED.as_secs().try_into().unwrap_or(1).max(self.samples.len());
        let present = self.samples.iter().map(|(_, open)| open).sum::<usize>().div_ceil(expected);
        if is_due {
            while self.averages.back().is_some_and(|(_, average)| *average <= present) {
                self.averages.pop_back();
            }
            self.averages.push_back((now, present));
        }
        drop_before(&mut self.averages, now.saturating_sub(STABILIZATION));
        let is_known = now.saturating_sub(since) >= STABILIZATION;
        let highest = is_known.then(|| self.averages.front().map_or(present, |(_, average)| *average));
        Load { present, highest }
    }
}

fn drop_before(entries: &mut VecDeque<(Duration, usize)>, time: Duration) {
    while entries.front().is_some_and(|(at, _)| *at < time) {
        entries.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The load after `open` requests were open for `seconds` more.
    fn hold(history: &mut LoadHistory, from: &mut u64, seconds: u64, open: usize) -> Load {
        let mut load = Load::default();
        for _ in 0..seconds {
            *from += 1;
            load = history.sample(Duration::from_secs(*from), open);
        }
        load
    }

    #[test]
    fn load_is_an_average_and_its_highest_lasts_for_the_window() {
        let (mut history, mut now) = (LoadHistory::default(), 0);
        assert_eq!(hold(&mut history, &mut now, 5, 20), Load { present: 10, highest: None });
        assert_eq!(hold(&mut history, &mut now, 20, 20), Load { present: 20, highest: None });
        assert_eq!(hold(&mut history, &mut now, 20, 0), Load { present: 0, highest: None });
        let window = STABILIZATION.as_secs();
        assert_eq!(hold(&mut history, &mut now, window - 30, 0).highest, Some(20));
        assert_eq!(hold(&mut history, &mut now, 31, 0), Load { present: 0, highest: Some(0) });
    }

    #[test]
    fn many_samples_count_once_in_a_second_and_take_little_memory() {
        let mut history = LoadHistory::default();
        for millisecond in 0..100_000 {
            history.sample(Duration::from_millis(millisecond), usize::from(millisecond % 7 == 0));
        }
        assert!(history.samples.len() <= 11 && history.averages.len() <= 301);
    }
}
