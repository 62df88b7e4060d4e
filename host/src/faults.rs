//! Injected faults of revisions, for tests: `[{ "revision": 2, "do": { "fail": { "status": "BUILD_FAILED" } } }]`.

use std::str::FromStr;

use agentcli::api::wire::RevisionStatus;
use serde::Deserialize;

/// A fault of a revision.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    /// It fails.
    Fail(Failure),
    /// It stays in a status while it is built or deployed.
    Stall,
}

/// The failure of a revision.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    /// Its final status.
    pub(super) status: RevisionStatus,
    /// The last line of its log.
    #[serde(default = "on_purpose")]
    pub(super) line: String,
}

fn on_purpose() -> String {
    "failed on purpose".to_owned()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    revision: u64,
    #[serde(rename = "do")]
    fault: Fault,
}

/// Injected faults.
#[derive(Default)]
pub struct Faults(Vec<Rule>);

impl FromStr for Faults {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text).map(Self)
    }
}

impl Faults {
    /// The fault of the revision of this number, from 1.
    pub(super) fn of(&self, number: u64) -> Option<Fault> {
        self.0.iter().find(|rule| rule.revision == number).map(|rule| rule.fault.clone())
    }
}
