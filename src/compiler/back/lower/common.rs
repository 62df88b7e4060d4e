//! What the images of both servers have in common: what they are built on, and how the source comes into them.

use indexmap::IndexMap;

use crate::compiler::back::lower::tools::{pip_config, words};
use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::Action;
use crate::compiler::paths;

/// The stage that holds the source without the pip configuration.
const SOURCE_STAGE: &str = "source";

/// The image that everything is built on, and the user's own lines; a stage of its own where it has a name.
pub(super) fn base(input: &Input<'_>, image: &str, stage: Option<&str>, build: &mut Build) {
    let key = if input.config.base_image.is_some() { "/base_image" } else { "/graphs" };
    let stage = stage.map(str::to_owned);
    build.step(key, "the server", Action::From { image: image.to_owned(), stage });
    if let Some(lines) = input.config.dockerfile_lines.as_ref().filter(|lines| !lines.is_empty()) {
        build.step("/dockerfile_lines", "the project's own lines", Action::Lines { lines: lines.clone() });
    }
}

/// The context holds the pip configuration, for it is mounted; a stage of its own keeps it out of the copy.
pub(super) fn source_stage(input: &Input<'_>, image: &str, build: &mut Build) {
    let key = "/pip_config_file";
    let Some(file) = pip_config(input.config, input.variant) else { return };
    let stage = Some(SOURCE_STAGE.to_owned());
    let why = "the source without the pip configuration";
    build.step(key, why, Action::From { image: image.to_owned(), stage });
    let target = "/source/".to_owned();
    build.step(key, why, Action::Copy { from: None, sources: vec![".".to_owned()], target });
    let secret = format!("/source/{}", input.layout.in_context(&file));
    let commands = vec![words(["rm", "-f", secret.as_str()])];
    build.step(key, why, Action::Run { mounts: Vec::new(), commands });
}

/// The source, in one step.
pub(super) fn source(input: &Input<'_>, build: &mut Build) {
    let (from, sources) = match pip_config(input.config, input.variant) {
        Some(_) => (Some(SOURCE_STAGE.to_owned()), vec!["/source/".to_owned()]),
        None => (None, vec![".".to_owned()]),
    };
    build.step("/dependencies", "the source", Action::Copy { from, sources, target: input.layout.target() });
}

/// Copies files, given relative to the configuration's directory, to where they lie in the image; one copy for
/// each directory, and none for what is there.
pub(super) fn copy_manifests(input: &Input<'_>, manifests: &[String], build: &mut Build) {
    let mut directories: IndexMap<String, Vec<String>> = IndexMap::new();
    for manifest in manifests {
        let file = input.layout.in_context(manifest);
        directories.entry(paths::parent(&file)).or_default().push(file);
    }
    for (directory, mut sources) in directories {
        let target = format!("{}/", input.layout.image_path(&directory));
        let is_there = |file: &String| {
            build.steps.iter().any(|step| match &step.action {
                Action::Copy { from: None, sources, target: known } => {
                    *known == target && sources.contains(file)
                }
                _ => false,
            })
        };
        sources.retain(|file| !is_there(file));
        if sources.is_empty() {
            continue;
        }
        build.step("/dependencies", "manifests", Action::Copy { from: None, sources, target });
    }
}
