//! The build context, and the place of each path in the image.

use crate::compiler::back::lower::{Input, Options, locked};
use crate::compiler::back::plan::{Context, Variant};
use crate::compiler::back::resolve::Resolved;
use crate::compiler::files::Files;
use crate::compiler::front::config::EnvConfig;
use crate::compiler::manifests::dependency::{Local, LocalKind};
use crate::compiler::manifests::dockerignore::{Ignore, escaped};
use crate::compiler::tree::Tree;
use crate::compiler::{paths, server};

/// Ignored unless the project has a .dockerignore of its own.
pub(super) const DEFAULT_IGNORE: &[&str] = &[
    "**/.git",
    "**/.hg",
    "**/.svn",
    "**/.venv",
    "**/venv",
    "**/node_modules",
    "**/__pycache__",
    "**/*.pyc",
    "**/*.egg-info",
    "**/.mypy_cache",
    "**/.pytest_cache",
    "**/.ruff_cache",
    "**/.tox",
    "**/.nox",
    "**/.cache",
    "**/.DS_Store",
    "**/.env",
    "**/.env.*",
];

/// Always ignored: the state and the environments of `dev`.
const ALWAYS_IGNORED: &[&str] = &["**/.langgraph_api", "**/.agentcli"];

/// Places of the source in the context and in the image.
pub(super) struct Layout {
    /// The context root, relative to the configuration's directory.
    pub(super) root: String,
    /// The configuration's directory, relative to the root.
    directory: String,
    /// The root in the image.
    base: String,
    /// The configuration's directory in the image.
    pub(super) project: String,
    include: Vec<String>,
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
        let (base, project, include) = (String::new(), String::new(), Vec::new());
        let mut layout = Self { root, directory, base, project, include };
        layout.base = layout.base(resolved, files);
        layout.project = layout.in_image(".");
        wanted.extend(outside);
        layout.include = outermost(wanted.iter().map(|path| layout.in_context(path)).collect());
        layout
    }

    /// The root in the image. A package whose directory is the root keeps its name there.
    fn base(&self, resolved: &Resolved, files: &Tree) -> String {
        let is_flat_root =
            |local: &Local| local.kind == LocalKind::Flat && self.in_context(&local.path) == ".";
        let levels = paths::levels_up(&self.root);
        let directory = files.directory();
        match directory.len().checked_sub(levels + 1).and_then(|at| directory.get(at)) {
            Some(name) if resolved.locals.iter().any(is_flat_root) => format!("{}/{name}", server::PROJECT),
            _ => server::PROJECT.to_owned(),
        }
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

    /// The directory that the context is copied to, with a `/` at its end.
    pub(super) fn target(&self) -> String {
        format!("{}/", self.base)
    }

    /// The build context.
    pub(super) fn context(&self, input: &Input<'_>) -> Context {
        let mut ignore = Vec::new();
        if self.include != ["."] {
            ignore.push("*".to_owned());
            ignore.extend(self.include.iter().map(|path| format!("!{}", escaped(path))));
        }
        let mut ignore_from = Vec::new();
        for directory in self.ignore_directories(input.resolved) {
            let file = paths::join(&directory, ".dockerignore");
            if let Some(text) = input.files.text(&file) {
                ignore.extend(rebased(&text, &self.in_context(&directory)));
                ignore_from.push(self.in_context(&file));
            }
        }
        if ignore_from.is_empty() {
            ignore.extend(DEFAULT_IGNORE.iter().map(|&line| line.to_owned()));
        }
        ignore.extend(ALWAYS_IGNORED.iter().map(|&line| line.to_owned()));
        let is_custom =
            input.resolved.variant == Variant::Javascript && input.options.install_command.is_some();
        if let Some(installation) = input.resolved.installation.as_ref().filter(|_| !is_custom) {
            let modules = |directory: &String| self.in_context(&paths::join(directory, "node_modules"));
            ignore_modules(&installation.directories.iter().map(modules).collect::<Vec<_>>(), &mut ignore);
        }
        if let Some(EnvConfig::File(path)) = &input.config.env {
            ignore.extend(self.pattern(path));
        }
        if let Some(path) = &input.config.pip_config_file {
            let mark = if input.resolved.pip_config.is_some() { "!" } else { "" };
            ignore.extend(self.pattern(path).map(|pattern| format!("{mark}{pattern}")));
        }
        let (root, project) = (self.root.clone(), self.directory.clone());
        let (include, withheld) = (self.include.clone(), Vec::new());
        Context { root, project, include, ignore, ignore_from, withheld }
    }

    /// The pattern for exactly this path; none for a path outside of the context.
    fn pattern(&self, path: &str) -> Option<String> {
        let path = self.in_context(&paths::normalize(path));
        paths::below(&path, ".").map(escaped)
    }

    /// Directories whose .dockerignore applies: the root, the project, and each local dependency.
    fn ignore_directories(&self, resolved: &Resolved) -> Vec<String> {
        let mut directories = vec![self.root.clone(), ".".to_owned()];
        directories.extend(resolved.locals.iter().map(|local| local.path.clone()));
        let mut seen = Vec::new();
        for directory in directories {
            if !seen.contains(&directory) {
                seen.push(directory);
            }
        }
        seen
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
