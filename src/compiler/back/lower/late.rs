//! What has to be installed behind the copy of the source. Every edit pays for it, so as much as can be done before is.

use crate::compiler::back::lower::builder::{Builder, SERVER_STAGE};
use crate::compiler::back::lower::groups::{self, Groups};
use crate::compiler::back::lower::installed::{Installed, has_extras_of};
use crate::compiler::back::lower::tools::{Tools, prefixed, removal, removed_tools};
use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::Command;
use crate::compiler::manifests::dependency::Local;
use crate::compiler::manifests::package::Install;
use crate::compiler::manifests::requirements_txt::RequirementsFile;
use crate::compiler::{paths, server};

/// What is run behind the copy.
pub(super) struct Late {
    commands: Vec<Command>,
    /// Whether it may install more than the source.
    pub(super) brings_requirements: bool,
    /// What builds the packages, where it can be there before they are.
    builder: Option<Builder>,
}

impl Late {
    pub(super) fn new(
        input: &Input<'_>,
        tools: &Tools,
        packages: &[Installed<'_>],
        files: &[RequirementsFile],
        build: &mut Build,
    ) -> Self {
        let (bare, whole) = by_requirements(tools, packages);
        let files: Vec<&RequirementsFile> = files.iter().filter(|file| file.is_local()).collect();
        note(packages, &files, build);
        let brings_requirements = !(whole.is_empty() && files.is_empty());
        let locals: Vec<&Local> = bare.iter().map(|it| it.local).collect();
        let builder = if brings_requirements { None } else { Builder::new(input, &locals) };
        // Those whose requirements are there come first: the others may need them.
        let mut commands = Vec::new();
        match &builder {
            Some(builder) => {
                let editable = bare.iter().flat_map(|it| it.editable(input));
                let arguments = ["--no-deps".to_owned()].into_iter().chain(editable).collect();
                commands.push(builder.install(tools, arguments));
            }
            None => commands.extend(grouped(input, &bare).bare(tools)),
        }
        let without_sources = tools.without_sources(packages.iter().map(|it| &it.package));
        commands.extend(grouped(input, &whole).editable(tools, without_sources.as_ref()));
        for file in files {
            let settings = groups::settings(input, &paths::parent(&file.path));
            let mut group = Groups::default();
            group.add(input, settings.as_ref(), ["-r".to_owned(), input.layout.in_image(&file.path)]);
            commands.extend(group.commands(tools));
        }
        Self { commands, brings_requirements, builder }
    }

    /// The name of the stage that the builder and the image both start from.
    pub(super) fn server_stage(&self) -> Option<&'static str> {
        self.builder.is_some().then_some(SERVER_STAGE)
    }

    /// What can be done before anything of the project is there.
    pub(super) fn prepare(&self, tools: &Tools, build: &mut Build) {
        if let Some(builder) = &self.builder {
            builder.stage(tools, build);
        }
    }

    /// Whether the image has to keep its package tools until the source is there.
    pub(super) fn uses_tools_of_image(&self) -> bool {
        !self.commands.is_empty() && self.builder.is_none()
    }

    /// All of it in one step: each more would cost every edit another container.
    pub(super) fn step(self, input: &Input<'_>, tools: &Tools, build: &mut Build) {
        if self.commands.is_empty() {
            return;
        }
        let uses_tools_of_image = self.uses_tools_of_image();
        let mut commands = self.commands;
        if self.brings_requirements {
            commands.extend(own_packages(tools));
        }
        if uses_tools_of_image {
            commands.extend(removal(&removed_tools(input.config)));
        }
        let mounts = if self.builder.is_some() { Builder::mounts() } else { Vec::new() };
        build.step("/dependencies", "packages that need their source", tools.run_with(mounts, commands));
    }
}

/// The packages that need their source: those whose requirements are there before, and those that bring their own.
fn by_requirements<'a, 'b>(
    tools: &Tools,
    packages: &'b [Installed<'a>],
) -> (Vec<&'b Installed<'a>>, Vec<&'b Installed<'a>>) {
    let reads_sources = tools.reads_sources(packages.iter().map(|it| &it.package));
    let late = packages.iter().filter(|it| !it.is_early());
    late.partition(|Installed { package, .. }| {
        matches!(package.install, Install::AfterCopy(_))
            && !has_extras_of(package, packages)
            && (package.sources.elsewhere.is_empty() || !reads_sources)
    })
}

fn note(packages: &[Installed<'_>], files: &[&RequirementsFile], build: &mut Build) {
    let message =
        |path: &str, why: &str| format!("`{path}` is installed again on every edit of the source: {why}");
    for Installed { local, package, .. } in packages {
        if let Install::AfterCopy(why) | Install::Plain(why) = &package.install {
            build.note(&format!("/dependencies/{}", local.index), message(&local.path, why));
        }
    }
    for file in files {
        build.note("/dependencies", message(&file.path, "it names packages of the source"));
    }
}

fn grouped(input: &Input<'_>, packages: &[&Installed<'_>]) -> Groups {
    let mut groups = Groups::default();
    for package in packages {
        groups.add(input, package.settings.as_ref(), package.editable(input));
    }
    groups
}

/// The server's own packages, whatever was installed over them.
pub(super) fn own_packages(tools: &Tools) -> Vec<Command> {
    let mut directories: Vec<String> = server::OWN_PACKAGES.iter().map(|file| paths::parent(file)).collect();
    directories.sort();
    let files = server::OWN_PACKAGES.iter().map(|&file| file.to_owned()).collect();
    let own = ["--no-deps", "-e", server::OWN_PROJECT].map(str::to_owned);
    vec![
        prefixed(&["mkdir", "-p"], directories),
        prefixed(&["touch"], files),
        tools.unconstrained(own.to_vec()),
    ]
}
