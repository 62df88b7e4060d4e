//! Steps that the images of both servers have: the base image, the manifests and the source.

use indexmap::IndexMap;

use crate::back::lower::tools::prefixed;
use crate::back::lower::{Build, Input, image_server, npm_secrets};
use crate::back::plan::{Action, Mount};
use crate::paths;

/// The stage that holds the source without files that hold credentials, and its directory there: not at the root, since
/// BuildKit hashes all files beside a directory that it takes from a stage.
const SOURCE_STAGE: (&str, &str) = ("source", "/run/agentcli/source/");

/// The base image and the lines of `dockerfile_lines`, for the image or for a stage with a name and a purpose.
pub(super) fn base(input: &Input<'_>, stage: Option<(&str, &str)>, build: &mut Build) {
    let key = if input.config.base_image.is_some() { "/base_image" } else { "/graphs" };
    let image = input.resolved.base_image.reference.clone();
    let (stage, why) = stage.map_or((None, "base image"), |(stage, why)| (Some(stage.to_owned()), why));
    build.step(key, why, Action::From { image, stage });
    image_server::install(input, build);
    if let Some(lines) = input.config.dockerfile_lines.as_ref().filter(|lines| !lines.is_empty()) {
        let lines = lines.clone();
        build.step("/dockerfile_lines", "lines of `dockerfile_lines`", Action::Lines { lines });
    }
}

/// Files of the context that are mounted during installation, and must not reach the image.
fn secret_files(input: &Input<'_>) -> Vec<String> {
    input.resolved.pip_config.iter().chain(npm_secrets::files(input)).cloned().collect()
}

/// A stage for the source without [`secret_files`].
pub(super) fn source_stage(input: &Input<'_>, build: &mut Build) {
    let (key, why) = match input.resolved.pip_config {
        Some(_) => ("/pip_config_file", "source without the pip configuration"),
        None => ("/graphs", "source without the credentials of package managers"),
    };
    let secret = secret_files(input);
    if secret.is_empty() {
        return;
    }
    let (image, (stage, directory)) = (input.resolved.base_image.reference.clone(), SOURCE_STAGE);
    build.step(key, why, Action::From { image, stage: Some(stage.to_owned()) });
    let (sources, target) = (vec![".".to_owned()], directory.to_owned());
    build.step(key, why, Action::Copy { from: None, sources, target });
    let secret = secret.iter().map(|file| format!("{directory}{}", input.layout.in_context(file))).collect();
    let commands = vec![prefixed(&["rm", "-f"], secret)];
    build.step(key, why, Action::Run { mounts: Vec::new(), commands });
}

/// Copies the source.
pub(super) fn source(input: &Input<'_>, build: &mut Build) {
    let (from, sources) = if !secret_files(input).is_empty() {
        (Some(SOURCE_STAGE.0.to_owned()), vec![SOURCE_STAGE.1.to_owned()])
    } else {
        (None, vec![".".to_owned()])
    };
    build.step("/dependencies", "source", Action::Copy { from, sources, target: input.layout.target() });
}

/// A directory of a stage, mounted at its own path.
pub(super) fn mount(stage: &str, path: &str, is_writable: bool) -> Mount {
    Mount::Bind { from: stage.to_owned(), source: path.to_owned(), target: path.to_owned(), is_writable }
}

/// Copies files, given relative to the configuration's directory, to their places in the image. There is one step for
/// each directory, without the files that an earlier step copied.
pub(super) fn copy_manifests(input: &Input<'_>, manifests: &[String], build: &mut Build) {
    let mut directories: IndexMap<String, Vec<String>> = IndexMap::new();
    for manifest in manifests {
        let file = input.layout.in_context(manifest);
        directories.entry(paths::parent(&file).to_owned()).or_default().push(file);
    }
    for (directory, mut sources) in directories {
        let target = format!("{}/", input.layout.image_path(&directory));
        let stage = build.steps.iter().rev().take_while(|step| !matches!(step.action, Action::From { .. }));
        let is_there = |file: &String| {
            stage.clone().any(|step| match &step.action {
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
