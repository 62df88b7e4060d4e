//! Injected faults: a list of rules, for drills and tests.
//!
//! ```json
//! [
//!   { "method": "POST", "path": "/v2/deployments", "nth": 1, "do": "lost" },
//!   { "path": "/v2/deployments/**", "nth": [2, 3], "do": { "delay": 500 } },
//!   { "path": "/v2/*", "do": { "answer": { "status": 429, "headers": { "retry-after": "1" } } } },
//!   { "revision": 2, "do": { "fail": { "status": "BUILD_FAILED", "line": "out of memory" } } }
//! ]
//! ```
//!
//! The first rule that matches a request applies. `*` matches a segment of a path and `**` the rest of it; `nth` counts the
//! requests that match the method and the path of the rule, from 1 [default: all of them]. `revision` counts the
//! revisions of each deployment, from 1.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;

use agentcli::api::wire::RevisionStatus;

use super::lock;

/// A fault of a request.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// The response is delayed.
    Delay(Duration),
    /// There is no response.
    Hang,
    /// The connection is reset before the request is processed.
    Reset,
    /// The request is processed, and the connection closed without a response.
    Lost,
    /// The request is processed, and the connection closed in the middle of the response.
    Truncate,
    /// Another response is sent, and the request is not processed.
    Answer(Box<Answer>),
}

/// A configured response.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    status: u16,
    #[serde(default = "json_type")]
    content_type: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

fn json_type() -> String {
    "application/json".to_owned()
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

/// Statuses of failed revisions.
const FAILURES: [RevisionStatus; 3] =
    [RevisionStatus::CreateFailed, RevisionStatus::BuildFailed, RevisionStatus::DeployFailed];

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Delay(u64),
    Hang,
    Reset,
    Lost,
    Truncate,
    Answer(Box<Answer>),
    Fail(Failure),
    Stall,
}

/// A selection of the matching requests or revisions.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a number from 1, or a list of them")]
enum Numbers {
    One(u64),
    Several(Vec<u64>),
}

impl Numbers {
    fn holds(&self, number: u64) -> bool {
        match self {
            Self::One(one) => *one == number,
            Self::Several(several) => several.contains(&number),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::One(one) => *one == 0,
            Self::Several(several) => several.is_empty() || several.contains(&0),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    method: Option<String>,
    path: Option<String>,
    nth: Option<Numbers>,
    revision: Option<Numbers>,
    #[serde(rename = "do")]
    action: Action,
    #[serde(skip)]
    seen: u64,
}

/// A fault of a revision.
#[derive(Clone, Debug)]
pub(super) enum Mishap {
    /// It fails.
    Fail(Failure),
    /// It stays in a status while it is built or deployed.
    Stall,
}

/// Injected faults.
#[derive(Default)]
pub struct Faults(Mutex<Vec<Rule>>);

impl FromStr for Faults {
    type Err = String;

    /// Parses rules. Errors are lowercase fragments with line and column.
    fn from_str(text: &str) -> Result<Self, String> {
        let rules: Vec<Rule> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for (index, rule) in rules.iter().enumerate() {
            rule.check().map_err(|reason| format!("rule {}: {reason}", index + 1))?;
        }
        Ok(Self(Mutex::new(rules)))
    }
}

impl Faults {
    /// Counts the request, and returns its fault.
    pub(super) fn for_request(&self, method: &Method, path: &str) -> Option<Fault> {
        let mut rules = lock(&self.0);
        let mut fault = None;
        for rule in rules.iter_mut().filter(|rule| rule.revision.is_none() && rule.matches(method, path)) {
            rule.seen += 1;
            if fault.is_none() && rule.nth.as_ref().is_none_or(|nth| nth.holds(rule.seen)) {
                fault = rule.action.fault();
            }
        }
        fault
    }

    /// The fault of the revision of this number, from 1.
    pub(super) fn for_revision(&self, number: u64) -> Option<Mishap> {
        let rules = lock(&self.0);
        let mut of_revisions = rules.iter().filter_map(|rule| Some((rule.revision.as_ref()?, &rule.action)));
        let (_, action) = of_revisions.find(|(numbers, _)| numbers.holds(number))?;
        match action {
            Action::Fail(failure) => Some(Mishap::Fail(failure.clone())),
            Action::Stall => Some(Mishap::Stall),
            _ => None,
        }
    }
}

impl Action {
    fn fault(&self) -> Option<Fault> {
        Some(match self {
            Self::Delay(milliseconds) => Fault::Delay(Duration::from_millis(*milliseconds)),
            Self::Hang => Fault::Hang,
            Self::Reset => Fault::Reset,
            Self::Lost => Fault::Lost,
            Self::Truncate => Fault::Truncate,
            Self::Answer(answer) => Fault::Answer(answer.clone()),
            Self::Fail(_) | Self::Stall => return None,
        })
    }
}

impl Rule {
    fn check(&self) -> Result<(), String> {
        let is_for_revisions = matches!(self.action, Action::Fail(_) | Action::Stall);
        match (&self.revision, is_for_revisions) {
            (None, true) => return Err("`fail` and `stall` need `revision`".to_owned()),
            (Some(_), false) => return Err("`revision` goes with `fail` and `stall` only".to_owned()),
            (Some(_), true) if self.method.is_some() || self.path.is_some() || self.nth.is_some() => {
                return Err("`revision` goes with neither `method`, `path` nor `nth`".to_owned());
            }
            _ => {}
        }
        if [&self.nth, &self.revision].into_iter().flatten().any(Numbers::is_empty) {
            return Err("`nth` and `revision` count from 1".to_owned());
        }
        if let Some(path) = self.path.as_ref().filter(|path| !path.starts_with('/')) {
            return Err(format!("`path` begins with `/`, not `{path}`"));
        }
        if let Some(method) = self.method.as_ref().filter(|method| !METHODS.contains(&method.as_str())) {
            return Err(format!("`method` is one of {}, not `{method}`", METHODS.join(", ")));
        }
        match &self.action {
            Action::Answer(answer) => answer.check(),
            Action::Fail(failure) if !FAILURES.contains(&failure.status) => {
                let words = FAILURES.map(|status| status.word().to_owned()).join(", ");
                Err(format!("`status` of a revision that fails is one of {words}, not `{}`", failure.status))
            }
            _ => Ok(()),
        }
    }

    fn matches(&self, method: &Method, path: &str) -> bool {
        self.method.as_ref().is_none_or(|wanted| wanted == method.as_str())
            && self.path.as_ref().is_none_or(|pattern| matches(pattern, path))
    }
}

const METHODS: [&str; 5] = ["DELETE", "GET", "PATCH", "POST", "PUT"];

fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    for wanted in pattern.split('/') {
        match (wanted, parts.next()) {
            ("**", _) => return true,
            ("*", Some(_)) => {}
            (wanted, Some(part)) if wanted == part => {}
            _ => return false,
        }
    }
    parts.next().is_none()
}

impl Answer {
    fn check(&self) -> Result<(), String> {
        // A status below 200 would be no answer as yet, and the connection would wait for another.
        if !(200..=599).contains(&self.status) {
            return Err(format!("`status` is a number from 200 to 599, not {}", self.status));
        }
        let kind = ("content-type".to_owned(), self.content_type.clone());
        for (name, value) in self.headers.iter().chain([(&kind.0, &kind.1)]) {
            let is_valid = HeaderName::from_str(name).is_ok() && HeaderValue::from_str(value).is_ok();
            if !is_valid || name.eq_ignore_ascii_case("content-length") {
                return Err(format!("`{name}` cannot be a header of an answer"));
            }
        }
        Ok(())
    }

    /// The response, whose parts are valid.
    pub(super) fn response(&self) -> Box<Response> {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::IM_A_TEAPOT);
        let kind = (header::CONTENT_TYPE, &self.content_type);
        let others = self.headers.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value)));
        for (name, value) in [kind].into_iter().chain(others) {
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(name, value);
            }
        }
        Box::new(response)
    }
}
