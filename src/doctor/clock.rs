//! The clock, compared with those of the engine and of the deployment service.

use super::check::{Check, Group, Subject, Task};
use crate::api::time;

/// Difference from which certificates and tokens may be refused, in milliseconds.
const LIMIT: u64 = 60_000;

static CLOCK: Subject = Subject {
    id: "clock",
    name: "Clock",
    group: Group::Machine,
    needed_by: &[Task::Build, Task::Up, Task::Deploy],
};

/// The check of the clock against `theirs`, which was just read from `whose` clock.
pub(super) fn check(whose: &str, theirs: i64) -> Check {
    compare(whose, theirs, time::now())
}

fn compare(whose: &str, theirs: i64, ours: i64) -> Check {
    let difference = ours.abs_diff(theirs);
    if difference < LIMIT {
        return CLOCK.fine(format!("agrees with that of {whose}"));
    }
    let direction = if ours < theirs { "behind" } else { "ahead of" };
    CLOCK.degraded(
        format!("{} s {direction} that of {whose}", difference / 1000),
        "synchronise both clocks (`sudo timedatectl set-ntp true`)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_too_much() {
        let found = |theirs| compare("the engine", theirs, 100_000_000).found;
        assert_eq!(found(100_000_000 - 59_999), "agrees with that of the engine");
        assert_eq!(found(100_000_000 + 59_999), "agrees with that of the engine");
        assert_eq!(found(100_000_000 + 61_000), "61 s behind that of the engine");
        assert_eq!(found(100_000_000 - 3_600_000), "3600 s ahead of that of the engine");
        assert!(compare("the engine", 0, 100_000_000).help.is_some());
    }
}
