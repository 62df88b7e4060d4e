//! Which steps of a build run again, and why: the inputs of the last build of a name, compared with those of this one.

use std::collections::{BTreeMap, BTreeSet};

use super::events::{BuildEvent, StepOrigin};
use super::history::History;
use super::inputs::{FileInput, Inputs, LABELS};

/// Maximum number of names in a cause.
const MAX_NAMES: usize = 3;

/// A step before the source that runs again.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// Index of the instruction.
    pub(super) index: usize,
    /// Purpose of the step in a few words.
    pub step: String,
    /// The change that causes it, as a fragment.
    pub cause: String,
    /// How long it ran the last time, if that is known.
    pub seconds: Option<f64>,
}

impl Again {
    /// One entry for each step, of which a stage beside the image may have a part.
    pub(super) fn merged(all: &[Self]) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for again in all {
            match merged.iter_mut().find(|it| (&it.step, &it.cause) == (&again.step, &again.cause)) {
                Some(known) => {
                    // Engines run equal steps of several stages once.
                    known.seconds =
                        [known.seconds, again.seconds].into_iter().flatten().reduce(|one, two| one + two);
                }
                None => merged.push(again.clone()),
            }
        }
        merged
    }

    pub(super) fn event(self) -> BuildEvent {
        BuildEvent::RunsAgain { step: self.step, cause: self.cause, seconds: self.seconds }
    }
}

/// The state of a stage, from its steps so far.
#[derive(Clone, Default)]
struct Stage {
    name: String,
    /// Why its next step runs again.
    cause: Option<String>,
    /// Whether it has the source.
    has_source: bool,
}

/// Compares two builds.
pub(super) struct Comparison<'a> {
    before: &'a History,
    inputs: &'a Inputs,
    origins: &'a [StepOrigin],
    no_cache: bool,
    stages: Vec<Stage>,
    /// Build arguments that are declared so far.
    declared: BTreeSet<&'a str>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        before: &'a History,
        inputs: &'a Inputs,
        origins: &'a [StepOrigin],
        no_cache: bool,
    ) -> Self {
        Self { before, inputs, origins, no_cache, stages: Vec::new(), declared: BTreeSet::new() }
    }

    /// The commands before the source that run again.
    pub(super) fn again(mut self) -> Vec<Again> {
        let mut found = Vec::new();
        for index in 0..self.origins.len() {
            let cause = self.cause(index);
            let origin = &self.origins[index];
            let has_source = self.stages.last().is_some_and(|stage| stage.has_source);
            if let Some(cause) = cause.filter(|_| origin.is_command() && !has_source) {
                found.push(Again {
                    index,
                    step: origin.title().to_owned(),
                    cause,
                    seconds: self.before.seconds(self.inputs, index),
                });
            }
        }
        found
    }

    /// Why a step runs again; steps are asked in order.
    fn cause(&mut self, index: usize) -> Option<String> {
        let origin = &self.origins[index];
        if let Some(stage) = origin.starts_stage() {
            self.stages.push(Stage { name: stage.to_owned(), ..Stage::default() });
        }
        let used: Vec<&Stage> =
            self.stages.iter().filter(|stage| origin.stages.contains(&stage.name)).collect();
        let inherited = used.iter().find_map(|stage| stage.cause.clone());
        let has_source = origin.copies_everything() || used.iter().any(|stage| stage.has_source);
        if let Some(argument) = origin.argument() {
            self.declared.insert(argument);
        }
        let own = self.own_cause(index).or(inherited);
        let stage = self.stages.last_mut()?;
        stage.has_source |= has_source;
        stage.cause = stage.cause.take().or(own);
        stage.cause.clone()
    }

    /// The cause in the step itself.
    fn own_cause(&self, index: usize) -> Option<String> {
        let (origin, now) = (&self.origins[index], &self.inputs.steps[index]);
        if self.no_cache && origin.is_command() {
            return Some("--no-cache is given".to_owned());
        }
        let past = &self.before.inputs;
        if let Some(cause) = now.files.iter().find_map(|path| self.file(path)) {
            return Some(cause);
        }
        let option = changed(&past.options, &self.inputs.options);
        if let Some(option) = option.filter(|option| origin.is_command() && *option != LABELS) {
            return Some(format!("{option} changed"));
        }
        let argument = changed(&past.arguments, &self.inputs.arguments);
        if let Some(name) = argument.filter(|name| origin.is_command() && self.declared.contains(name)) {
            return Some(format!("the build argument `{name}` changed"));
        }
        let same = self.before.same_step(self.inputs, index);
        if same.is_some_and(|step| step.instruction == now.instruction) {
            return None;
        }
        if let Some(image) = origin.base_image() {
            return Some(format!("the base image is `{image}`"));
        }
        let causes = self.inputs.files.keys().filter_map(|path| self.file(path));
        causes.min_by_key(|cause| cause.starts_with(&self.configuration())).or_else(|| {
            let cause = if self.before.program != History::PROGRAM {
                "another version of agentcli wrote it"
            } else {
                "its command changed"
            };
            Some(cause.to_owned())
        })
    }

    /// The configuration, as causes begin with it: manifests tell more.
    fn configuration(&self) -> String {
        let copied: BTreeSet<&String> = self.inputs.steps.iter().flat_map(|step| &step.files).collect();
        let own = self.inputs.files.keys().find(|path| !copied.contains(path));
        own.map_or_else(|| "\0".to_owned(), |path| format!("`{path}`"))
    }

    /// How a file changed.
    fn file(&self, path: &str) -> Option<String> {
        match (self.before.inputs.files.get(path), self.inputs.files.get(path)) {
            (Some(old), Some(new)) if old.digest == new.digest => None,
            (Some(old), Some(new)) => Some(format!("`{path}` {}", difference(old, new))),
            (None, Some(_)) => Some(format!("`{path}` is new")),
            (_, None) => None,
        }
    }
}

/// The first name with another value.
pub(super) fn changed<'a>(
    old: &'a BTreeMap<String, String>,
    new: &'a BTreeMap<String, String>,
) -> Option<&'a str> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    names.into_iter().find(|name| old.get(*name) != new.get(*name)).map(String::as_str)
}

/// `adds X and removes Y`, `changes X`, or `changed`.
fn difference(old: &FileInput, new: &FileInput) -> String {
    let (old, new) = (&old.lines, &new.lines);
    let missing_in = |other: &BTreeMap<String, String>, from: &BTreeMap<String, String>| -> Vec<String> {
        from.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    let kept = old.iter().filter(|(name, line)| new.get(*name).is_some_and(|other| other != *line));
    // The key whose list has a changed item on the same line changed, too.
    let lists = ["adds", "removes"].into_iter().zip([missing_in(old, new), missing_in(new, old)]);
    let mut parts: Vec<String> =
        lists.filter(|(_, names)| !names.is_empty()).map(|(verb, names)| sentence(verb, &names)).collect();
    if parts.is_empty() {
        let kept: Vec<String> = kept.map(|(name, _)| name.clone()).collect();
        parts.extend((!kept.is_empty()).then(|| sentence("changes", &kept)));
    }
    if parts.is_empty() { "changed".to_owned() } else { parts.join(" and ") }
}

fn sentence(verb: &str, names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
    match names.len() - shown.len() {
        0 => format!("{verb} {}", shown.join(", ")),
        more => format!("{verb} {} and {more} more", shown.join(", ")),
    }
}
