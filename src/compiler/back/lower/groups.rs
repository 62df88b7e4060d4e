//! What is installed together: uv reads one directory's settings at a time, such as where packages come from.

use indexmap::IndexMap;

use crate::compiler::back::lower::Input;
use crate::compiler::back::lower::tools::Tools;
use crate::compiler::back::plan::Command;
use crate::compiler::manifests::package::{UvSettings, uv_settings_for};

/// Arguments of installations, by the directory in the image whose settings count; of most projects, there is none.
#[derive(Clone, Default)]
pub(super) struct Groups {
    groups: IndexMap<Option<String>, Vec<String>>,
    /// The files that those settings stand in.
    pub(super) manifests: Vec<String>,
}

impl Groups {
    pub(super) fn add(
        &mut self,
        input: &Input<'_>,
        settings: Option<&UvSettings>,
        arguments: impl IntoIterator<Item = String>,
    ) {
        let directory = settings.map(|settings| input.layout.in_image(&settings.directory));
        self.groups.entry(directory).or_default().extend(arguments);
        for manifest in settings.into_iter().flat_map(|settings| &settings.manifests) {
            if !self.manifests.contains(manifest) {
                self.manifests.push(manifest.clone());
            }
        }
    }

    /// The same for a requirement, which counts once.
    pub(super) fn require(&mut self, input: &Input<'_>, settings: Option<&UvSettings>, requirement: &String) {
        let directory = settings.map(|settings| input.layout.in_image(&settings.directory));
        if !self.groups.get(&directory).is_some_and(|group| group.contains(requirement)) {
            self.add(input, settings, [requirement.clone()]);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// One installation for each group, first of all those that have settings: what they find, nobody else has to.
    pub(super) fn commands(self, tools: &Tools) -> Vec<Command> {
        let (own, common): (Vec<_>, Vec<_>) = self.groups.into_iter().partition(|(it, _)| it.is_some());
        let all = own.into_iter().chain(common);
        all.map(|(directory, arguments)| tools.install_in(directory, arguments)).collect()
    }

    /// The same without what the packages need.
    pub(super) fn bare(mut self, tools: &Tools) -> Vec<Command> {
        for arguments in self.groups.values_mut() {
            arguments.insert(0, "--no-deps".to_owned());
        }
        self.commands(tools)
    }

    /// The same for the project's own packages, with an option for all. Where there are several groups, the packages are
    /// there before anything is asked for that they need: no index has them, or somebody else's.
    pub(super) fn editable(mut self, tools: &Tools, option: Option<&String>) -> Vec<Command> {
        let first = if self.groups.len() > 1 { self.clone().bare(tools) } else { Vec::new() };
        for arguments in self.groups.values_mut() {
            arguments.extend(option.cloned());
        }
        first.into_iter().chain(self.commands(tools)).collect()
    }
}

/// The settings that count for what the directory `path` asks for: its own, else those of the project.
pub(super) fn settings(input: &Input<'_>, path: &str) -> Option<UvSettings> {
    if input.config.uses_pip() { None } else { uv_settings_for(path, input.files) }
}
