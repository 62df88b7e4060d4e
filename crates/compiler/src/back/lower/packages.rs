//! Local packages, installed before their source is copied: from their manifests and empty files.
//!
//! These stand in a stage of their own, and are mounted for the installation. uv builds the packages in a further stage,
//! while the requirements are installed, and then takes them from its cache.

use crate::back::lower::common::{base, copy_manifests, mount};
use crate::back::lower::groups::Groups;
use crate::back::lower::tools::{Tools, prefixed};
use crate::back::lower::{Build, Input};
use crate::back::plan::{Action, Command};
use crate::back::resolve::Installer;
use crate::manifests::dockerfile::start_stage;
use crate::{paths, server};

/// The stage with the manifests and empty files, and its purpose.
const SKELETONS: (&str, &str) =
    ("skeletons", "manifests of local packages, and empty files in place of their source");

/// The stage that builds the packages.
const BUILT: &str = "packages";

/// The directory of requirements files in that stage, and its mount point.
const DIRECTORY: &str = "/run/agentcli/packages";

/// Local packages to install, and whether they are built in a stage.
pub(super) struct Packages {
    groups: Groups,
    is_staged: bool,
}

impl Packages {
    /// Adds the stages. There are no packages to install early if one of them needs its source.
    pub(super) fn stages(input: &Input<'_>, tools: &Tools, build: &mut Build) -> Self {
        let groups = if input.resolved.is_early() { Groups::packages(input) } else { Groups::default() };
        let (listed, files) = groups.clone().into_files(DIRECTORY);
        // pip has no cache for such packages, and an old one writes metadata beside their source.
        let is_pip = input.resolved.installer == Installer::Pip;
        if is_pip
            || files.is_empty()
            || start_stage(input.config.dockerfile_lines.as_deref().unwrap_or_default())
        {
            return Self { groups, is_staged: false };
        }
        base(input, Some(SKELETONS), build);
        let commands = skeletons(input, &groups, build);
        build.step("/dependencies", SKELETONS.1, Action::Run { mounts: Vec::new(), commands });
        let why = "local packages, built while the requirements are installed";
        let (image, stage) = (SKELETONS.0.to_owned(), Some(BUILT.to_owned()));
        build.step("/dependencies", why, Action::From { image, stage });
        let mut commands = groups.without_requirements(input, tools);
        commands.push(prefixed(&["mkdir", "-p", DIRECTORY], Vec::new()));
        commands.extend(files);
        build.step("/dependencies", why, tools.run(commands));
        Self { groups: listed, is_staged: true }
    }

    /// Installs them, if there are any, and returns whether there are.
    pub(super) fn install(self, input: &Input<'_>, tools: &Tools, build: &mut Build) -> bool {
        if self.groups.is_empty() {
            return false;
        }
        let mut commands = if self.is_staged { Vec::new() } else { skeletons(input, &self.groups, build) };
        commands.extend(self.groups.installation(input, tools));
        commands.extend(tools.tidying());
        let (why, mounts) = if self.is_staged {
            (
                "local packages, from the cache of uv",
                vec![mount(SKELETONS.0, server::PROJECT, true), mount(BUILT, DIRECTORY, false)],
            )
        } else {
            ("local packages, installed before their source from manifests and empty files", Vec::new())
        };
        build.step("/dependencies", why, tools.run_with(commands, mounts));
        true
    }
}

/// Copies manifests, and returns the commands that make the empty files.
fn skeletons(input: &Input<'_>, groups: &Groups, build: &mut Build) -> Vec<Command> {
    let start = build.steps.len();
    let mut placeholders = Vec::new();
    for local in &input.resolved.packages {
        let Ok(skeleton) = &local.skeleton else { continue };
        let here = |file: &String| paths::join(&local.path, file);
        copy_manifests(input, &skeleton.manifests.iter().map(here).collect::<Vec<_>>(), build);
        let is_copied = |file: &&String| !input.ignore.excludes(&input.layout.in_context(&here(file)));
        // The installation fails without the files that the metadata names.
        let needed =
            skeleton.placeholders.iter().filter(|it| skeleton.metadata.contains(*it) || is_copied(it));
        placeholders.extend(needed.map(|file| input.layout.in_image(&here(file))));
    }
    copy_manifests(input, &groups.manifests, build);
    if !input.resolved.has_all_requirements() {
        let archives = input.resolved.archives.iter().map(|it| it.path.clone());
        copy_manifests(input, &archives.collect::<Vec<_>>(), build);
    }
    build.steps[start..].iter_mut().for_each(|step| SKELETONS.1.clone_into(&mut step.why));
    let mut directories: Vec<String> =
        placeholders.iter().map(|file| paths::parent(file).to_owned()).collect();
    directories.push(server::PROJECT.to_owned());
    directories.sort();
    directories.dedup();
    let mut commands = vec![prefixed(&["mkdir", "-p"], directories)];
    if !placeholders.is_empty() {
        commands.push(prefixed(&["touch"], placeholders));
    }
    commands
}
