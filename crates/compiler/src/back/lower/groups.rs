//! Installations grouped by uv settings: uv reads the settings of one directory at a time, such as its indexes.

use indexmap::IndexMap;

use crate::back::lower::Input;
use crate::back::lower::tools::{Tools, words};
use crate::back::plan::Command;
use crate::manifests::package::UvSettings;

/// The requirements file with the server of the image, during installation.
const SERVER: &str = "/tmp/server.txt";

/// Installation arguments by the directory in the image whose uv settings apply. Most projects have no settings, and one
/// group.
#[derive(Clone, Default)]
pub(super) struct Groups {
    groups: IndexMap<Option<String>, Vec<String>>,
    /// The files of those settings.
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

    /// Adds a requirement, unless its group already has it.
    pub(super) fn require(&mut self, input: &Input<'_>, settings: Option<&UvSettings>, requirement: &String) {
        let directory = settings.map(|settings| input.layout.in_image(&settings.directory));
        if !self.groups.get(&directory).is_some_and(|group| group.contains(requirement)) {
            self.add(input, settings, [requirement.clone()]);
        }
    }

    /// Requires the local archives.
    pub(super) fn require_archives(&mut self, input: &Input<'_>) {
        for archive in &input.resolved.archives {
            let requirement = archive.requirement(&input.layout.in_image(&archive.path));
            self.require(input, None, &requirement);
        }
    }

    /// The local packages, editable.
    pub(super) fn packages(input: &Input<'_>) -> Self {
        let mut groups = Self::default();
        for package in &input.resolved.packages {
            let editable = ["-e".to_owned(), input.layout.in_image(&package.path)];
            groups.add(input, package.settings.as_ref(), editable);
        }
        groups
    }

    /// The local packages, named by requirements files in `directory`, and the commands that write these: uv builds a package
    /// each time that a command names it. A path that such a file would need quotes for remains an argument.
    pub(super) fn into_files(mut self, directory: &str) -> (Self, Vec<Command>) {
        let is_plain = |argument: &String| {
            argument.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'))
        };
        let mut commands = Vec::new();
        for arguments in self.groups.values_mut().filter(|arguments| arguments.iter().all(is_plain)) {
            let file = format!("{directory}/{}.txt", commands.len() + 1);
            let lines = arguments.chunks(2).map(|editable| editable.join(" ")).collect();
            *arguments = vec!["-r".to_owned(), file.clone()];
            commands.push(Command::Write { lines, file });
        }
        (self, commands)
    }

    /// Names the file instead of the requirements, and returns these, if one file can hold them: they have no settings, and
    /// are no files themselves.
    pub(super) fn name_file(&mut self, file: &str) -> Option<Vec<String>> {
        let mut groups = self.groups.iter_mut();
        let (directory, arguments) = groups.next()?;
        let is_requirement = |argument: &String| !argument.starts_with('-');
        if directory.is_some() || groups.next().is_some() || !arguments.iter().all(is_requirement) {
            return None;
        }
        let named = ["-r", file].map(str::to_owned).to_vec();
        Some(std::mem::replace(arguments, named))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// One command for each group, and those that keep the server of the image. Where a lock file may have older versions
    /// of what the server needs, it is one of the requirements: only then does the resolver change these, and does not take
    /// an older server for their sake.
    pub(super) fn commands(mut self, input: &Input<'_>, tools: &Tools) -> Vec<Command> {
        if self.is_empty() {
            return Vec::new();
        }
        let is_required = input.resolved.locks().next().is_some();
        if is_required {
            let arguments = ["-r", SERVER].map(str::to_owned);
            self.groups.values_mut().for_each(|group| group.extend_from_slice(&arguments));
        }
        let installations = self.ordered().map(|(directory, arguments)| tools.install(directory, arguments));
        if is_required {
            let first = [tools.write_server(SERVER)].into_iter();
            first.chain(installations).chain([words(["rm", SERVER])]).collect()
        } else {
            installations.chain([tools.restore_server(input.config.server)]).collect()
        }
    }

    /// The groups with settings first: what their indexes have, the others need not find.
    fn ordered(self) -> impl Iterator<Item = (Option<String>, Vec<String>)> {
        let (own, common): (Vec<_>, Vec<_>) = self.groups.into_iter().partition(|(it, _)| it.is_some());
        own.into_iter().chain(common)
    }

    /// Installs local packages, and what of their requirements is not installed before them.
    pub(super) fn installation(self, input: &Input<'_>, tools: &Tools) -> Vec<Command> {
        if input.resolved.has_all_requirements() {
            self.without_requirements(input, tools)
        } else {
            self.with_requirements(input, tools)
        }
    }

    /// Installs local packages without their requirements.
    pub(super) fn without_requirements(mut self, input: &Input<'_>, tools: &Tools) -> Vec<Command> {
        self.groups.values_mut().for_each(|arguments| arguments.extend(no_sources(input)));
        self.ordered().map(|(directory, arguments)| tools.alone(directory, arguments)).collect()
    }

    /// Installs local packages and their requirements. With several groups the packages are installed alone first, or
    /// an index would be asked for those of another group.
    fn with_requirements(mut self, input: &Input<'_>, tools: &Tools) -> Vec<Command> {
        let first =
            if self.groups.len() > 1 { self.clone().without_requirements(input, tools) } else { Vec::new() };
        for arguments in self.groups.values_mut() {
            arguments.extend(no_sources(input));
        }
        // An index would be asked for archives that are not part of the command.
        let archives = input.resolved.archives.iter();
        let archives = archives.map(|it| it.requirement(&input.layout.in_image(&it.path)));
        let archives: Vec<String> = archives.collect();
        self.groups.values_mut().for_each(|arguments| arguments.extend_from_slice(&archives));
        first.into_iter().chain(self.commands(input, tools)).collect()
    }
}

/// The option that keeps uv from reading the sources of local packages, where it must not.
fn no_sources(input: &Input<'_>) -> Option<String> {
    input.resolved.is_without_sources().then(|| "--no-sources".to_owned())
}
