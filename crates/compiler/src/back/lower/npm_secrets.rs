//! Settings of JavaScript package managers that hold credentials: mounted while commands run, and in no layer.

use crate::back::lower::{Build, Input};
use crate::back::plan::{Action, Mount};
use crate::manifests::package_manager::NPMRC;
use crate::paths;

/// The stage that holds the settings of the root that have credentials.
const STAGE: &str = "npm";

/// The mount point of `.npmrc`, which all package managers read. Other settings are mounted at their own place.
const HOME_NPMRC: &str = "/root/.npmrc";

/// A stage that holds the settings with credentials.
pub(super) fn stage(input: &Input<'_>, build: &mut Build) {
    for (number, file) in at_root(input).enumerate() {
        let name = paths::file_name(file);
        let why = format!("credentials of {name}, mounted during installation only");
        if number == 0 {
            let image = "scratch".to_owned();
            build.step("/graphs", &why, Action::From { image, stage: Some(STAGE.to_owned()) });
        }
        let (sources, target) = (vec![input.layout.in_context(file)], format!("/{name}"));
        build.step("/graphs", &why, Action::Copy { from: None, sources, target });
    }
}

/// The settings with credentials that are part of the context, also those of members. None of them is in the image.
pub(super) fn files<'a>(input: &'a Input<'_>) -> impl Iterator<Item = &'a String> {
    let all = input.resolved.installation.iter().flat_map(|installation| &installation.secret);
    all.filter(|file| !input.ignore.excludes(&input.layout.in_context(file)))
}

/// Those of the root.
fn at_root<'a>(input: &'a Input<'_>) -> impl Iterator<Item = &'a String> {
    let root = input.resolved.installation.as_ref().map(|installation| installation.root.as_str());
    files(input).filter(move |file| Some(paths::parent(file)) == root)
}

/// The mounts of those files.
pub(super) fn mounts(input: &Input<'_>) -> Vec<Mount> {
    let mount = |file: &String| {
        let name = paths::file_name(file);
        let target = if name == NPMRC { HOME_NPMRC.to_owned() } else { input.layout.in_image(file) };
        Mount::Bind { from: STAGE.to_owned(), source: format!("/{name}"), target, is_writable: false }
    };
    at_root(input).map(mount).collect()
}
