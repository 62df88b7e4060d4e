//! Installation after the source is copied. Every edit repeats it, so it is only for packages that need their source.

use std::rc::Rc;

use crate::back::lower::groups::Groups;
use crate::back::lower::tools::{Tools, removal, uv_removal};
use crate::back::lower::{Build, Input};
use crate::back::plan::Command;
use crate::back::resolve::Installer;
use crate::manifests::requirements_txt::RequirementsFile;
use crate::paths;

/// The commands to run after the source is copied.
pub(super) struct Late {
    commands: Vec<Command>,
}

impl Late {
    pub(super) fn new(input: &Input<'_>, build: &mut Build) -> Self {
        let resolved = input.resolved;
        let tools = &Tools::for_builds(resolved);
        let mut commands = Vec::new();
        if !resolved.is_early() {
            commands = Groups::packages(input).installation(input, tools);
            commands.extend(tools.tidying());
        }
        let files: Vec<_> = resolved.files.iter().map(Rc::as_ref).filter(|file| file.is_local()).collect();
        for file in &files {
            let settings = resolved.uv_settings(paths::parent(&file.path), input.files);
            let mut group = Groups::default();
            group.add(input, settings.as_ref(), ["-r".to_owned(), input.layout.in_image(&file.path)]);
            commands.extend(group.commands(input, tools));
        }
        note(input, &files, build);
        Self { commands }
    }

    /// Commands that remove package tools before the source is copied, since removing them with every edit takes time.
    /// The installer stays if it is still needed.
    pub(super) fn early_removal(&self, input: &Input<'_>) -> Vec<Command> {
        let installer = input.resolved.installer;
        match installer {
            _ if self.commands.is_empty() => {
                [removal(input.config, installer), uv_removal(input.config)].concat()
            }
            Installer::Uv => removal(input.config, installer),
            Installer::Pip => Vec::new(),
        }
    }

    /// Adds one step for all of it, since every edit runs it.
    pub(super) fn step(self, input: &Input<'_>, tools: &Tools, build: &mut Build) {
        if self.commands.is_empty() {
            return;
        }
        let mut commands = self.commands;
        if input.resolved.installer == Installer::Pip {
            commands.extend(removal(input.config, Installer::Pip));
        }
        commands.extend(uv_removal(input.config));
        build.step("/dependencies", "local packages that need their source", tools.run(commands));
    }
}

fn note(input: &Input<'_>, files: &[&RequirementsFile], build: &mut Build) {
    let message = |path: &str, why: &str| format!("each edit of the source installs `{path}` again: {why}");
    for package in &input.resolved.packages {
        if let Err(why) = &package.skeleton {
            let key = package.index.map_or("/source".to_owned(), |index| format!("/dependencies/{index}"));
            build.note(&key, message(&package.path, why));
        }
    }
    for file in files {
        build.note("/dependencies", message(&file.path, "it names files of the source"));
    }
}
