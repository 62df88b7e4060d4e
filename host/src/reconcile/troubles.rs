//! Notices about trouble for the operator: each reason once, and the end of all trouble.

use std::collections::{HashMap, HashSet};

use super::action::Key;

/// Maximum number of reasons in notices before the end of all trouble.
const TOLD: usize = 100;

/// The acts that cannot be done now, and the reasons that were reported.
#[derive(Default)]
pub(super) struct Troubles {
    /// The reasons by act; that of `None` holds up everything.
    current: HashMap<Option<Key>, String>,
    told: HashSet<String>,
}

impl Troubles {
    /// Notes the trouble of an act, or that it has none.
    pub(super) fn set(&mut self, of: Option<Key>, reason: Option<String>) {
        match reason {
            Some(reason) => self.current.insert(of, reason),
            None => self.current.remove(&of),
        };
    }

    /// Forgets the trouble of acts that are no longer wanted.
    pub(super) fn retain(&mut self, mut is_wanted: impl FnMut(&Key) -> bool) {
        self.current.retain(|of, _| of.as_ref().is_none_or(&mut is_wanted));
    }

    /// The notices that the operator has not had yet.
    pub(super) fn notices(&mut self) -> Vec<String> {
        if self.current.is_empty() {
            let was_told = !std::mem::take(&mut self.told).is_empty();
            return if was_told { vec!["the trouble is over".to_owned()] } else { Vec::new() };
        }
        let mut new = Vec::new();
        for reason in self.current.values() {
            if self.told.len() < TOLD && self.told.insert(reason.clone()) {
                new.push(reason.clone());
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn act_that_fails_again_and_again_is_told_once() {
        let (start, stop) = (Key::new("start", "a"), Key::new("stop", "b"));
        let mut troubles = Troubles::default();
        let mut told = Vec::new();
        for _ in 0..3 {
            troubles.set(Some(start.clone()), Some("waiting for the database".to_owned()));
            // Everything else goes well meanwhile.
            troubles.set(None, None);
            troubles.set(Some(stop.clone()), None);
            troubles.retain(|key| *key == start);
            told.extend(troubles.notices());
        }
        assert_eq!(told, ["waiting for the database"]);
        troubles.set(Some(stop.clone()), Some("the engine is busy".to_owned()));
        troubles.set(Some(start), None);
        assert_eq!(troubles.notices(), ["the engine is busy"]);
        troubles.retain(|key| *key != stop);
        assert_eq!(troubles.notices(), ["the trouble is over"]);
        assert_eq!(troubles.notices(), [""; 0]);
    }
}
