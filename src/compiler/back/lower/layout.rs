//! Where things lie: the context root in the user's tree, and what each path is called in the image.

use crate::compiler::back::lower::Options;
use crate::compiler::back::lower::tools::pip_config;
use crate::compiler::back::plan::{Context, Variant};
use crate::compiler::files::Files;
use crate::compiler::front::config::{Config, EnvConfig};
use crate::compiler::manifests::dependency::{self, Local, LocalKind};
use crate::compiler::manifests::dockerignore::Ignore;
use crate::compiler::manifests::package::uv_settings;
use crate::compiler::manifests::requirements_txt::{self, RequirementsFile};
use crate::compiler::{paths, server};

/// What no build needs where the project has no .dockerignore of its own.
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
    "**/.langgraph_api",
    "**/.agentcli",
];

/// Where everything lies.
pub(super) struct Layout {
    /// The context root, relative to the configuration's directory.
    root: String,
    /// The configuration's directory, relative to the root.
    directory: String,
    /// Where the root lies in the image.
    base: String,
    /// Where the configuration's directory lies in the image.
    pub(super) project: String,
    /// The local dependencies.
    pub(super) locals: Vec<Local>,
    include: Vec<String>,
}

impl Layout {
    pub(super) fn new(config: &Config, files: &dyn Files, variant: Variant, options: &Options) -> Self {
        let locals = locals(config, files);
        let mut wanted: Vec<String> = locals.iter().map(|local| local.path.clone()).collect();
        if variant != Variant::Python || wanted.is_empty() {
            wanted.push(".".to_owned());
        }
        if options.install_command.is_some() {
            wanted.push(paths::normalize(&options.called_from));
        }
        let mut outside: Vec<String> = pip_config(config, variant).into_iter().collect();
        if variant != Variant::Javascript && !config.uses_pip() {
            outside.extend(uv_settings(".", files).into_iter().flat_map(|settings| settings.manifests));
        }
        outside.extend(locals.iter().filter_map(|local| requirements(local, files)).flat_map(|it| it.files));
        let up = wanted.iter().chain(&outside).map(|path| paths::levels_up(path)).max().unwrap_or(0);
        let directory = files.directory();
        let own = directory[directory.len().saturating_sub(up)..].join("/");
        let root = if up == 0 { ".".to_owned() } else { vec![".."; up].join("/") };
        let directory = if own.is_empty() { ".".to_owned() } else { own };
        let mut layout = Self {
            root,
            directory,
            base: String::new(),
            project: String::new(),
            locals,
            include: Vec::new(),
        };
        layout.base = layout.base(files);
        layout.project = layout.in_image(".");
        wanted.extend(outside);
        layout.include = outermost(wanted.iter().map(|path| layout.in_context(path)).collect());
        layout
    }

    /// Where the root lies in the image. A package whose directory is the root needs its own name there.
    fn base(&self, files: &dyn Files) -> String {
        let is_flat_root =
            |local: &Local| local.kind == LocalKind::Flat && self.in_context(&local.path) == ".";
        let levels = paths::levels_up(&self.root);
        let directory = files.directory();
        match directory.len().checked_sub(levels + 1).and_then(|at| directory.get(at)) {
            Some(name) if self.locals.iter().any(is_flat_root) => format!("{}/{name}", server::PROJECT),
            _ => server::PROJECT.to_owned(),
        }
    }

    /// What a path relative to the configuration's directory is called in the context.
    pub(super) fn in_context(&self, path: &str) -> String {
        paths::join(&self.directory, path)
    }

    /// What a path relative to the configuration's directory is called in the image.
    pub(super) fn in_image(&self, path: &str) -> String {
        self.image_path(&self.in_context(path))
    }

    /// Where a path of the context lies in the image.
    pub(super) fn image_path(&self, in_context: &str) -> String {
        if in_context == "." { self.base.clone() } else { format!("{}/{in_context}", self.base) }
    }

    /// The directory in the image that the whole context is copied to, with a `/` at its end.
    pub(super) fn target(&self) -> String {
        format!("{}/", self.base)
    }

    /// What a build sees; `installs_modules` says whether it installs JavaScript packages itself.
    pub(super) fn context(
        &self,
        config: &Config,
        files: &dyn Files,
        variant: Variant,
        installs_modules: bool,
    ) -> Context {
        let mut ignore = Vec::new();
        if self.include != ["."] {
            ignore.push("*".to_owned());
            ignore.extend(self.include.iter().map(|path| format!("!{}", escaped(path))));
        }
        let mut ignore_from = Vec::new();
        for directory in self.ignore_directories() {
            let file = paths::join(&directory, ".dockerignore");
            if let Some(text) = files.text(&file) {
                ignore.extend(rebased(&text, &self.in_context(&directory)));
                ignore_from.push(self.in_context(&file));
            }
        }
        if ignore_from.is_empty() {
            ignore.extend(DEFAULT_IGNORE.iter().map(|&line| line.to_owned()));
        }
        if installs_modules {
            leave_out_modules(&self.in_context("node_modules"), &mut ignore);
        }
        if let Some(EnvConfig::File(path)) = &config.env {
            ignore.extend(self.pattern(path));
        }
        if let Some(path) = &config.pip_config_file {
            let mark = if pip_config(config, variant).is_some() { "!" } else { "" };
            ignore.extend(self.pattern(path).map(|pattern| format!("{mark}{pattern}")));
        }
        Context {
            root: self.root.clone(),
            project: self.directory.clone(),
            include: self.include.clone(),
            ignore,
            ignore_from,
        }
    }

    /// The pattern that means just this path of the configuration; none for what lies outside of the context.
    fn pattern(&self, path: &str) -> Option<String> {
        let path = self.in_context(&paths::normalize(path));
        paths::below(&path, ".").map(escaped)
    }

    /// Directories whose .dockerignore counts: the root's, the project's, and each local dependency's.
    fn ignore_directories(&self) -> Vec<String> {
        let mut directories = vec![self.root.clone(), ".".to_owned()];
        directories.extend(self.locals.iter().map(|local| local.path.clone()));
        let mut seen = Vec::new();
        for directory in directories {
            if !seen.contains(&directory) {
                seen.push(directory);
            }
        }
        seen
    }
}

/// The local dependencies, each directory once.
fn locals(config: &Config, files: &dyn Files) -> Vec<Local> {
    let mut found: Vec<Local> = Vec::new();
    for local in dependency::local_dependencies(config.entries(), files) {
        if !found.iter().any(|known| known.path == local.path) {
            found.push(local);
        }
    }
    found
}

/// What the directory of `local` wants to have installed, where its requirements file says it.
pub(super) fn requirements(local: &Local, files: &dyn Files) -> Option<RequirementsFile> {
    let is_read = local.kind != LocalKind::Package;
    if is_read { requirements_txt::find(&local.path, files) } else { None }
}

/// Without what lies in another of them.
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

/// Leaves out `path`, the packages that are installed on this machine: in the image they would lie over those that were
/// installed there, and may be for another system. Where the project wants some of them, its own lines come again.
fn leave_out_modules(path: &str, ignore: &mut Vec<String>) {
    if Ignore::parse(&ignore.join("\n")).is_ok_and(|ignore| ignore.excludes(path)) {
        return;
    }
    let own: Vec<String> = ignore.iter().filter(|line| line.contains("node_modules")).cloned().collect();
    ignore.push(
        "# The image installs these itself: those of this machine may be for another system.".to_owned(),
    );
    ignore.push(escaped(path));
    if own.iter().any(|line| line.starts_with('!')) {
        ignore.extend(own);
    }
}

/// `path` as a pattern that means just that path. What a line cannot hold matches any character.
fn escaped(path: &str) -> String {
    let last = path.chars().count() - 1;
    let letters = path.chars().enumerate().flat_map(|(at, c)| match c {
        c if c.is_control() || c.is_whitespace() && (at == 0 || at == last) => [None, Some('?')],
        '\\' | '*' | '?' | '[' => [Some('\\'), Some(c)],
        '#' | '!' if at == 0 => [Some('\\'), Some(c)],
        c => [None, Some(c)],
    });
    letters.flatten().collect()
}
