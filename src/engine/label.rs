//! The record, in a label, of everything before the source of an image: an image whose record is the same needs another
//! layer of the source only.
//!
//! Images inherit labels, so the record alone says nothing about the layers: whoever uses it compares those, too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::again::changed;
use super::events::StepOrigin;
use super::inputs::Inputs;
use super::request::BuildRequest;
use crate::context::{self, Listing};

/// The label.
pub const LABEL: &str = "agentcli.inputs";

/// Version of the layout of images; it changes if the same inputs make another image.
const LAYOUT: u32 = 1;

/// Instructions that change the configuration of an image only.
const SETTINGS: &[&str] =
    &["cmd", "entrypoint", "env", "expose", "healthcheck", "label", "stopsignal", "user"];

/// Everything before the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    layout: u32,
    steps: Vec<String>,
    files: BTreeMap<String, String>,
    arguments: BTreeMap<String, String>,
    options: BTreeMap<String, String>,
}

impl SourceRecord {
    /// The record of a build; the error is the reason why an image of it is more than its source on something known.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn new(request: &BuildRequest, listing: &Listing) -> Result<Result<Self, String>, context::Error> {
        if let Err(reason) = request.source() {
            return Ok(Err(reason));
        }
        Ok(Ok(Self::of(&Inputs::new(request, listing)?)))
    }

    /// The record of these inputs of an image whose source is its last layer.
    pub(super) fn of(inputs: &Inputs) -> Self {
        let copied = inputs.steps.iter().flat_map(|step| &step.files);
        Self {
            layout: LAYOUT,
            steps: inputs.steps.iter().map(|step| step.instruction.clone()).collect(),
            files: copied.map(|path| (path.clone(), inputs.files[path].digest.clone())).collect(),
            arguments: inputs.arguments.clone(),
            options: inputs.options.clone(),
        }
    }

    /// The value of the label.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The first difference from the value of a label, as a fragment.
    pub fn difference(&self, request: &BuildRequest, label: &str) -> Option<String> {
        let Some(old) = serde_json::from_str::<Self>(label).ok().filter(|old| old.layout == self.layout)
        else {
            return Some("another version of agentcli built it".to_owned());
        };
        if let Some(path) = changed(&old.files, &self.files) {
            return Some(format!("`{path}` differs, which is copied before the source"));
        }
        if let Some(name) = changed(&old.arguments, &self.arguments) {
            return Some(format!("the build argument `{name}` differs"));
        }
        if let Some(name) = changed(&old.options, &self.options) {
            return Some(format!("{name} differs"));
        }
        let at = (0..old.steps.len().max(self.steps.len()))
            .find(|at| old.steps.get(*at) != self.steps.get(*at))?;
        let step = request.steps.get(at);
        if let Some(image) = step.and_then(StepOrigin::base_image) {
            return Some(format!("the base image is `{image}`"));
        }
        let title = step.map(|origin| origin.title()).filter(|title| !title.is_empty());
        Some(
            title
                .map_or_else(|| "its steps differ".to_owned(), |title| format!("the step `{title}` differs")),
        )
    }
}

impl BuildRequest {
    /// The directory in the image that the source is copied to, if it is the last layer and the layers before it read
    /// nothing that is not recorded; else the reason why not, as a fragment.
    pub fn source(&self) -> Result<&str, String> {
        if !self.images_known {
            return Err("`dockerfile_lines` use other images or add files".to_owned());
        }
        let is_setting = |origin: &StepOrigin| SETTINGS.iter().any(|keyword| origin.is(keyword));
        let last = self.steps.iter().rposition(|origin| !is_setting(origin));
        let source = last.map(|at| &self.steps[at]).filter(|origin| origin.copies_everything());
        let source = source.ok_or("steps run after the source is copied")?;
        let reads = self.steps.iter().find(|origin| {
            let is_read = origin.is("copy") && origin.sources.is_empty();
            let is_mounted = origin.instruction.to_lowercase().contains("type=bind");
            (is_read || is_mounted) && origin.stages.is_empty()
        });
        if reads.is_some() {
            return Err("`dockerfile_lines` read files of the build context".to_owned());
        }
        let target = source.instruction.split_whitespace().nth(2).filter(|target| target.starts_with('/'));
        // Relative to the working directory.
        let before = self.steps[..last.unwrap_or_default()].iter().rev();
        let directory = || {
            let workdir = before.clone().find(|origin| origin.is("workdir"))?;
            workdir.instruction.split_whitespace().nth(1)
        };
        target.or_else(directory).ok_or_else(|| "its source has no directory".to_owned())
    }
}
