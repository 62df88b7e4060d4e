//! Config → findings about its meaning: one file and one row of [`CHECKS`] per topic.
//!
//! A check reads the typed configuration and the [`Tree`] around it, and reports findings. Values that the schema rejected
//! are not part of the configuration (see [`Context::is_removed`]).

mod auth;
pub mod boundary;
mod checkpointer;
mod conflicts;
mod credentials;
mod dependencies;
mod duplicates;
mod env;
mod foreign;
mod graphs;
mod http;
mod ignore;
mod image;
mod imports;
mod ineffective;
mod library;
mod links;
mod locations;
mod locks;
mod manifests;
mod modules;
mod named_files;
mod names;
mod node;
mod package_lock;
mod packages;
mod pip;
mod python;
mod references;
mod requirements;
mod server;
mod shadowing;
mod source;
mod store;
mod variables;
mod versions;
mod webhooks;
mod workspace;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Pointer, Rule};
use crate::files::Files;
use crate::front::base_image;
use crate::front::config::{Config, Variant};
use crate::front::document::Document;
use crate::front::reference::{self, Located};
use crate::front::workspace::locked;
use crate::manifests::Unreadable;
use crate::manifests::dependency::{self, Local};
use crate::manifests::installation::{self, Installation};
use crate::manifests::local_requirements::{Archive, Closure, Refused};
use crate::manifests::symbols::{Language, Module, PythonVersion};
use crate::paths;
use crate::tree::Tree;
pub use foreign::leave_foreign;
pub use graphs::graphs;
use imports::reached::{self, Reached};
use variables::Variable;

/// A topic.
pub struct Check {
    /// The check.
    pub run: fn(&mut Context<'_>),
    /// All rules that `run` reports.
    pub rules: &'static [&'static Rule],
}

/// All checks, in the order in which they run.
pub const CHECKS: &[Check] = &[
    Check { run: locations::check, rules: locations::RULES },
    Check { run: dependencies::check, rules: dependencies::RULES },
    Check { run: duplicates::check, rules: duplicates::RULES },
    Check { run: packages::check, rules: packages::RULES },
    Check { run: requirements::check, rules: requirements::RULES },
    Check { run: conflicts::check, rules: conflicts::RULES },
    Check { run: credentials::check, rules: credentials::RULES },
    Check { run: shadowing::check, rules: shadowing::RULES },
    Check { run: names::check, rules: names::RULES },
    Check { run: references::check, rules: references::RULES },
    Check { run: graphs::check, rules: graphs::RULES },
    Check { run: imports::check, rules: imports::RULES },
    Check { run: manifests::check, rules: manifests::RULES },
    Check { run: workspace::check, rules: workspace::RULES },
    Check { run: package_lock::check, rules: package_lock::RULES },
    Check { run: library::check, rules: library::RULES },
    Check { run: ignore::check, rules: ignore::RULES },
    Check { run: links::check, rules: links::RULES },
    Check { run: image::check, rules: image::RULES },
    Check { run: env::check, rules: env::RULES },
    Check { run: variables::check, rules: variables::RULES },
    Check { run: auth::check, rules: auth::RULES },
    Check { run: store::check, rules: store::RULES },
    Check { run: checkpointer::check, rules: checkpointer::RULES },
    Check { run: http::check, rules: http::RULES },
    Check { run: webhooks::check, rules: webhooks::RULES },
    Check { run: versions::check, rules: versions::RULES },
    Check { run: python::check, rules: python::RULES },
    Check { run: node::check, rules: node::RULES },
    Check { run: named_files::check, rules: named_files::RULES },
    Check { run: pip::check, rules: pip::RULES },
    Check { run: ineffective::check, rules: ineffective::RULES },
    Check { run: source::check, rules: source::RULES },
    Check { run: locks::check, rules: locks::RULES },
    Check { run: server::check, rules: server::RULES },
    Check { run: boundary::check, rules: boundary::RULES },
    Check { run: foreign::check, rules: foreign::RULES },
];

/// The input of a check, and its findings.
pub struct Context<'a> {
    document: &'a Document,
    /// The configuration, without the values that the schema rejected.
    pub config: &'a Config,
    /// The user's tree.
    pub files: &'a Tree,
    /// The server that the configuration needs.
    variant: Variant,
    /// The Python version of the image; unknown if the tag of the base image decides it.
    python_version: Option<PythonVersion>,
    /// Local dependencies, which may be missing. Shared, so that a check can report while it iterates.
    locals: Vec<Rc<Local>>,
    /// The same with the local directories that they require.
    all_locals: Vec<Rc<Local>>,
    /// The archives that they require.
    archives: Vec<Archive>,
    /// Local requirements that cannot be used.
    refused: Vec<Refused>,
    removed: &'a BTreeSet<Pointer>,
    found: Vec<Diagnostic>,
    /// The paths of the configuration that cannot be used, normalised: they were reported, and are used by no check.
    refused_paths: BTreeSet<String>,
    modules: BTreeMap<String, Option<Rc<Module>>>,
    variables: OnceCell<Rc<[Variable]>>,
    /// The references to code. Shared, so that a check can report while it iterates.
    references: Rc<[Located]>,
    /// The directories that modules may be imported from.
    search_path: OnceCell<modules::SearchPath>,
    /// The Python files that the server loads, once they are known.
    reached: Option<Rc<[Reached]>>,
}

impl<'a> Context<'a> {
    fn new(
        document: &'a Document,
        config: &'a Config,
        files: &'a Tree,
        removed: &'a BTreeSet<Pointer>,
    ) -> Self {
        let (variant, locked) = (config.variant(), locked(config, files));
        let is_closed = variant == Variant::Javascript || locked.is_some();
        let locals = match locked {
            Some(locked) => locked.locals,
            None => dependency::local_dependencies(config.entries(), files),
        };
        let closure = if is_closed {
            Closure { locals: locals.clone(), ..Closure::default() }
        } else {
            Closure::new(locals.clone(), files)
        };
        let Closure { locals: all, archives, refused } = closure;
        let [locals, all_locals] = [locals, all].map(|them| them.into_iter().map(Rc::new).collect());
        let found = Vec::new();
        let modules = BTreeMap::new();
        let (variables, search_path) = (OnceCell::new(), OnceCell::new());
        let refused_paths = BTreeSet::new();
        let mut context = Self {
            document,
            config,
            files,
            variant,
            python_version: None,
            locals,
            all_locals,
            archives,
            refused,
            removed,
            found,
            refused_paths,
            modules,
            variables,
            references: reference::all(&config.value).into(),
            search_path,
            reached: None,
        };
        if context.variant != Variant::Javascript && !context.is_removed("/python_version") {
            context.python_version = base_image::python(config).map(|(version, _)| version);
        }
        context
    }

    /// The same after all checks.
    fn checked(
        document: &'a Document,
        config: &'a Config,
        files: &'a Tree,
        removed: &'a BTreeSet<Pointer>,
    ) -> Self {
        let mut context = Self::new(document, config, files, removed);
        for check in CHECKS {
            (check.run)(&mut context);
        }
        context
    }

    /// Adds a finding.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// Whether a value at, above or below `pointer` was rejected, so that its absence means nothing.
    pub fn is_removed(&self, pointer: &str) -> bool {
        if self.removed.is_empty() {
            return false;
        }
        let pointer = Pointer::parse(pointer);
        let below = Pointer::parse(&format!("{pointer}/"));
        let is_below = |removed: &Pointer| removed.is_within(&pointer);
        pointer.ancestors().any(|it| self.removed.contains(&it))
            || self.removed.range(below..).next().is_some_and(is_below)
    }

    /// Whether there is certainly no value at `pointer`: a broken text may have one that could not be read.
    fn is_absent(&self, pointer: &str) -> bool {
        let is_read = !self.document.broken && !self.document.is_partial(&Pointer::parse(pointer));
        is_read && self.config.at(pointer).is_none() && !self.is_removed(pointer)
    }

    /// Whether `path`, or something below it, was to be read and is none of the project's files: this is reported by
    /// itself.
    fn was_refused(&self, path: &str) -> bool {
        let read = self.files.refused();
        let mut all = self.refused_paths.iter().chain(read.iter().map(|(refused, _)| refused));
        all.any(|refused| paths::below(refused, path).is_some())
    }

    /// The variables of `env`, read once for all checks.
    fn variables(&self) -> Rc<[Variable]> {
        self.variables.get_or_init(|| variables::read(self).into()).clone()
    }

    /// The local dependencies that are directories, and those that they require.
    fn directories(&self) -> Vec<Rc<Local>> {
        self.all_locals.iter().filter(|local| local.is_directory()).cloned().collect()
    }

    /// Those of them that Python installs: none, if the image has no Python.
    fn installed_directories(&self) -> Vec<Rc<Local>> {
        if self.variant == Variant::Javascript { Vec::new() } else { self.directories() }
    }

    /// The directory of the package.json of the project.
    fn package_home(&self) -> Option<String> {
        installation::home(&self.config.package_directories(self.files), self.files)
    }

    /// The installation of the JavaScript packages, or the file that cannot be read.
    fn installation(&self) -> Option<Result<Installation, Unreadable>> {
        installation::find(&self.config.package_directories(self.files), self.files)
    }

    /// The module in the file at `path`, read and parsed once for all references to it.
    fn module(&mut self, path: &str) -> Option<Rc<Module>> {
        let (files, version) = (self.files, self.python_version);
        let module = || Some(Rc::new(Module::new(Language::of(path)?, files.text(path)?, version)));
        self.modules.entry(path.to_owned()).or_insert_with(module).clone()
    }

    /// The Python files that the server loads.
    fn reached(&mut self) -> Rc<[Reached]> {
        let reached = self.reached.take().unwrap_or_else(|| reached::find(self).into());
        self.reached.insert(reached).clone()
    }
}

/// Runs all checks, and returns their findings: one for each mistake, with all of its places.
pub fn check(
    document: &Document,
    config: &Config,
    files: &Tree,
    removed: &BTreeSet<Pointer>,
) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for diagnostic in Context::checked(document, config, files, removed).found {
        match found.iter_mut().find(|earlier| earlier.is_repeated_by(&diagnostic)) {
            Some(earlier) => earlier.absorb(diagnostic),
            None => found.push(diagnostic),
        }
    }
    found
}

/// The place of the entry of `dependencies` with this index, or else of `source`.
fn entry(index: impl Into<Option<usize>>) -> Pointer {
    match index.into() {
        Some(index) => Pointer::root().join("dependencies").join(index),
        None => Pointer::root().join("source"),
    }
}

/// `path` as users write it in the configuration: with `./`, unless it leads out of the directory.
fn written(path: &str) -> String {
    if path == "." || path.starts_with("..") || path.starts_with('/') {
        path.to_owned()
    } else {
        format!("./{path}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::analyze;
    use crate::files::MemoryFiles;
    use crate::tree::Tree;

    proptest! {
        #[test]
        fn no_text_makes_a_check_panic(text in "([a-zé0-9.*!@:/\\\\= \\n\\[\\];,~^>-]|\\$\\{\\{|\\}\\}|env\\.|://|agent\\.py|:graph|\\.\\./){0,10}") {
            let config = json!({
                "dependencies": [".", text],
                "graphs": {"a": text, text.clone(): "./agent.py:graph"},
                "auth": {"path": format!("./{text}.py:{text}")},
                "env": text,
                "store": {"index": {"embed": text}},
                "ui": {"a": text},
                "pip_config_file": text,
                "node_version": text,
                "api_version": text,
                "base_image": text,
                "dockerfile_lines": [text],
                "http": {"mount_prefix": text},
                "webhooks": {"headers": {text.clone(): text}, "url": {"allowed_domains": [text]}},
            });
            let files = ["agent.py", ".dockerignore", "requirements.txt", "pyproject.toml"];
            analyze("agent.json", &config.to_string(), &Tree::new(MemoryFiles::new(files.map(|name| (name, text.as_str())))));
        }
    }

    #[test]
    fn codes_are_unique_and_examples_are_json() {
        let rules = crate::rules();
        let codes: std::collections::BTreeSet<_> = rules.iter().map(|rule| rule.code).collect();
        assert_eq!(codes.len(), rules.len());
        for rule in super::CHECKS.iter().flat_map(|check| check.rules) {
            // This rule is about another file, and its example of that file is not JSON.
            let skipped = usize::from(rule.code == "invalid-package-json");
            for example in [rule.wrong(), rule.right()].iter().skip(skipped) {
                assert!(serde_json::from_str::<Value>(example).is_ok(), "{}: {example}", rule.code);
            }
        }
    }
}
