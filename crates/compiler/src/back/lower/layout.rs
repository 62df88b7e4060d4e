//! The root of the build context, and the place of each path in the image.

use crate::back::lower::locked;
use crate::back::plan::Variant;
use crate::back::resolve::Resolved;
use crate::files::Files;
use crate::manifests::dependency::{Local, LocalKind};
use crate::options::Options;
use crate::tree::Tree;
use crate::{paths, server};

/// Places of the source in the context and in the image.
pub(super) struct Layout {
    /// The context root, relative to the configuration's directory.
    pub(super) root: String,
    /// The configuration's directory, relative to the root.
    pub(super) directory: String,
    /// The root in the image.
    base: String,
    /// The configuration's directory in the image.
    pub(super) project: String,
    /// Directories and files of the root that the build needs.
    pub(super) include: Vec<String>,
}

impl Layout {
    pub(super) fn new(resolved: &Resolved, files: &Tree, options: &Options) -> Self {
        let mut wanted: Vec<String> = resolved.locals.iter().map(|local| local.path.clone()).collect();
        if resolved.variant != Variant::Python || wanted.is_empty() {
            wanted.push(".".to_owned());
        }
        wanted.extend(resolved.installation.as_ref().map(|installation| installation.root.clone()));
        if options.install_command.is_some() {
            wanted.push(paths::normalize(&options.called_from));
        }
        let has_python = resolved.variant != Variant::Javascript;
        let settings = resolved.uv_settings(".", files).filter(|_| has_python);
        let mut outside: Vec<String> = resolved.pip_config.iter().cloned().collect();
        outside.extend(settings.into_iter().flat_map(|settings| settings.manifests));
        outside.extend(resolved.files.iter().flat_map(|file| file.files.clone()));
        outside.extend(resolved.locks().flat_map(locked::archives));
        outside.extend(resolved.archives.iter().map(|archive| archive.path.clone()));
        outside.extend(resolved.locked.iter().flat_map(|locked| locked.manifests(files)));
        let up = wanted.iter().chain(&outside).map(|path| paths::levels_up(path)).max().unwrap_or(0);
        let directory = files.directory();
        let own = directory[directory.len().saturating_sub(up)..].join("/");
        let root = if up == 0 { ".".to_owned() } else { vec![".."; up].join("/") };
        let directory = if own.is_empty() { ".".to_owned() } else { own };
        let in_context = |path: &String| paths::join(&directory, path);
        let is_flat_root = |local: &Local| local.kind == LocalKind::Flat && in_context(&local.path) == ".";
        let base = base(up, resolved.locals.iter().any(is_flat_root), files);
        wanted.extend(outside);
        let include = outermost(wanted.iter().map(in_context).collect());
        let project = paths::join(&base, &directory);
        Self { root, directory, base, project, include }
    }

    /// A path relative to the configuration's directory, relative to the context root.
    pub(super) fn in_context(&self, path: &str) -> String {
        paths::join(&self.directory, path)
    }

    /// A path relative to the configuration's directory, in the image.
    pub(super) fn in_image(&self, path: &str) -> String {
        self.image_path(&self.in_context(path))
    }

    /// A path relative to the context root, in the image.
    pub(super) fn image_path(&self, in_context: &str) -> String {
        paths::join(&self.base, in_context)
    }
}

/// The place in the image of the context root, which is `up` levels above the configuration. A package whose directory is
/// the root keeps its name there.
fn base(up: usize, is_package: bool, files: &Tree) -> String {
    let directory = files.directory();
    match directory.len().checked_sub(up + 1).and_then(|at| directory.get(at)) {
        Some(name) if is_package => format!("{}/{name}", server::PROJECT),
        _ => server::PROJECT.to_owned(),
    }
}

/// The paths that are not inside of another one.
fn outermost(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    paths.dedup();
    let all = paths.clone();
    paths.retain(|path| !all.iter().any(|other| other != path && paths::below(path, other).is_some()));
    paths
}
