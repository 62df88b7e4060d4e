//! The .dockerignore of the build context.

use crate::back::lower::layout::Layout;
use crate::back::plan::Variant;
use crate::back::resolve::Resolved;
use crate::files::Files;
use crate::front::config::{Config, EnvConfig};
use crate::manifests::dockerignore::{
    ALWAYS_IGNORED, CREDENTIALS, DEFAULT_IGNORE, Ignore, escaped, is_credential, naming_credentials,
};
use crate::options::Options;
use crate::paths;
use crate::tree::Tree;

/// The files that the build context leaves out.
pub(super) struct Ignored {
    /// The lines of the .dockerignore.
    pub(super) lines: Vec<String>,
    /// The .dockerignore files of the project that they come from, relative to the context root.
    pub(super) from: Vec<String>,
    /// The same lines, parsed.
    pub(super) rules: Ignore,
    /// Those without [`CREDENTIALS`] and the lines that follow.
    pub(super) own: Ignore,
}

impl Ignored {
    pub(super) fn new(
        config: &Config,
        files: &Tree,
        options: &Options,
        resolved: &Resolved,
        layout: &Layout,
    ) -> Self {
        let mut lines = Vec::new();
        if layout.include != ["."] {
            lines.push("*".to_owned());
            lines.extend(layout.include.iter().map(|path| format!("!{}", escaped(path))));
        }
        lines.extend(DEFAULT_IGNORE.iter().map(|&line| line.to_owned()));
        let (mut own, mut from) = (Vec::new(), Vec::new());
        for directory in directories(layout, resolved) {
            let file = paths::join(&directory, ".dockerignore");
            if let Some(text) = files.text(&file) {
                own.extend(rebased(&text, &layout.in_context(&directory)));
                from.push(layout.in_context(&file));
            }
        }
        lines.extend(own.iter().cloned());
        let without_credentials = Ignore::parse(&lines.join("\n")).unwrap_or_default();
        lines.extend(CREDENTIALS.iter().map(|&line| line.to_owned()));
        lines.extend(naming_credentials(&own));
        lines.extend(npm_settings(resolved, layout, &without_credentials));
        lines.extend(ALWAYS_IGNORED.iter().map(|&line| line.to_owned()));
        let is_custom = resolved.variant == Variant::Javascript && options.install_command.is_some();
        if let Some(installation) = resolved.installation.as_ref().filter(|_| !is_custom) {
            let modules = |directory: &String| layout.in_context(&paths::join(directory, "node_modules"));
            ignore_modules(&installation.directories.iter().map(modules).collect::<Vec<_>>(), &mut lines);
        }
        if let Some(EnvConfig::File(path)) = &config.env {
            lines.extend(pattern(layout, path));
        }
        if let Some(path) = &config.pip_config_file {
            let mark = if resolved.pip_config.is_some() { "!" } else { "" };
            lines.extend(pattern(layout, path).map(|pattern| format!("{mark}{pattern}")));
        }
        let rules = Ignore::parse(&lines.join("\n")).unwrap_or_default();
        Self { lines, from, rules, own: without_credentials }
    }
}

/// The pattern for exactly this path; none for a path outside of the context.
fn pattern(layout: &Layout, path: &str) -> Option<String> {
    let path = layout.in_context(&paths::normalize(path));
    paths::below(&path, ".").map(escaped)
}

/// Exceptions for the settings of a package manager that the installation needs, with or without credentials, unless `own`
/// excludes them.
fn npm_settings<'a>(
    resolved: &'a Resolved,
    layout: &'a Layout,
    own: &'a Ignore,
) -> impl Iterator<Item = String> + 'a {
    let read = resolved.installation.iter().flat_map(|installation| &installation.files);
    let read = read.map(|file| layout.in_context(file));
    read.filter(|file| is_credential(file) && !own.excludes(file)).map(|file| format!("!{}", escaped(&file)))
}

/// Directories whose .dockerignore applies: the root, the project, and each local dependency.
fn directories(layout: &Layout, resolved: &Resolved) -> Vec<String> {
    let mut directories = vec![layout.root.clone(), ".".to_owned()];
    directories.extend(resolved.locals.iter().map(|local| local.path.clone()));
    let mut seen = Vec::new();
    for directory in directories {
        if !seen.contains(&directory) {
            seen.push(directory);
        }
    }
    seen
}

fn rebased(text: &str, prefix: &str) -> Vec<String> {
    let text = if prefix == "." { text.to_owned() } else { Ignore::rebased(text, prefix) };
    let lines =
        text.trim_start_matches('\u{feff}').lines().filter(|line| !line.starts_with('#')).map(str::trim);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Ignores `directories`, with the packages installed on this machine: they would replace those of the image, and may be
/// built for another system. Lines of the project that mention `node_modules` are repeated if they include some of them.
fn ignore_modules(directories: &[String], ignore: &mut Vec<String>) {
    let known = Ignore::parse(&ignore.join("\n")).unwrap_or_default();
    let left: Vec<String> =
        directories.iter().filter(|path| !known.excludes(path)).map(|path| escaped(path)).collect();
    if left.is_empty() {
        return;
    }
    let own: Vec<String> = ignore.iter().filter(|line| line.contains("node_modules")).cloned().collect();
    ignore.push("# The image installs its own: these may be built for another system.".to_owned());
    ignore.extend(left);
    if own.iter().any(|line| line.starts_with('!')) {
        ignore.extend(own);
    }
}
