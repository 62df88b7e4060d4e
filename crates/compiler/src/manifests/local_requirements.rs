//! Local directories that local dependencies require, directly or through others. Their names are never looked up in a
//! package index, where they may belong to someone else.

use super::dependency::{Local, local_dependencies};
use super::package::{Metadata, Source, local_path, metadata};
use super::requirement::{extras, file_url, normalized_name, written_name};
use super::requirements_txt;
use crate::files::{FileKind, Files, Refusal};
use crate::paths;
use crate::tree::Tree;

/// A local requirement that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The index of the entry in `dependencies` that leads to it.
    pub index: Option<usize>,
    /// The file that has it, relative to the configuration's directory.
    pub manifest: String,
    /// Its name or path, as written there.
    pub written: String,
    /// A lowercase fragment about it.
    pub reason: String,
    /// How to fix it, as an imperative.
    pub help: String,
}

/// One local requirement.
struct Required {
    written: String,
    source: Source,
    /// The normalised name that the project must have.
    name: Option<String>,
    extras: Vec<String>,
}

/// A local wheel or source archive that is required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The index of the entry in `dependencies` that leads to it.
    pub index: Option<usize>,
    /// The name of its package, with extras.
    pub name: String,
    /// Relative to the configuration's directory.
    pub path: String,
}

/// Local dependencies and everything local that they require.
#[derive(Clone, Debug, Default)]
pub struct Closure {
    /// The given ones first, then the others in the order in which they are required.
    pub locals: Vec<Local>,
    /// The archives that they require.
    pub archives: Vec<Archive>,
    /// Requirements that cannot be used.
    pub refused: Vec<Refused>,
}

impl Closure {
    /// The directories among these entries of `dependencies`, each once, and what they require. A file beside its directory
    /// has no effect.
    pub fn of_directories<'e>(entries: impl Iterator<Item = (usize, &'e str)>, files: &Tree) -> Self {
        let mut found: Vec<Local> = Vec::new();
        for local in local_dependencies(entries, files) {
            if local.is_directory() && !found.iter().any(|known| known.path == local.path) {
                found.push(local);
            }
        }
        Self::new(found, files)
    }

    /// Finds what the dependencies `direct` require.
    pub fn new(direct: Vec<Local>, files: &Tree) -> Self {
        let mut closure = Self { locals: direct, ..Self::default() };
        let mut at = 0;
        while let Some(local) = closure.locals.get(at) {
            at += 1;
            let index = local.index;
            let (manifest, required) = if local.is_directory() { required(local, files) } else { continue };
            for required in required {
                match closure.add(index, &required, files) {
                    // More extras of a known dependency may require more.
                    Ok(changed) => at = changed.map_or(at, |changed| at.min(changed)),
                    Err((reason, help)) => {
                        let (manifest, written) = (manifest.clone(), required.written);
                        let refused = Refused { index, manifest, written, reason, help };
                        if !closure.refused.contains(&refused) {
                            closure.refused.push(refused);
                        }
                    }
                }
            }
        }
        closure
    }

    /// Adds the directory of `required`. Returns the position of a known dependency that gets more extras, or the reason
    /// and the help why it cannot be used.
    fn add(
        &mut self,
        index: Option<usize>,
        required: &Required,
        files: &Tree,
    ) -> Result<Option<usize>, (String, String)> {
        let path = match &required.source {
            Source::Path(path) => path,
            Source::MissingMember => {
                return Err((
                    "is no member of the workspace".to_owned(),
                    "add its directory to `members` of the workspace's root, or name it with `path`"
                        .to_owned(),
                ));
            }
            Source::Url(_) | Source::Index => return Ok(None),
        };
        if let Some(at) = self.locals.iter().position(|local| local.path == *path) {
            let known = &mut self.locals[at].extras;
            let count = known.len();
            known
                .extend(required.extras.iter().filter(|it| !known.contains(it)).cloned().collect::<Vec<_>>());
            return Ok((known.len() > count).then_some(at));
        }
        let mut local = Local::new(index, path.clone(), files);
        check(&local, required, files)?;
        if local.found == Some(FileKind::File) {
            self.add_archive(index, required, path);
            return Ok(None);
        }
        local.extras.clone_from(&required.extras);
        self.locals.push(local);
        Ok(None)
    }

    fn add_archive(&mut self, index: Option<usize>, required: &Required, path: &str) {
        let extras = match &required.extras[..] {
            [] => String::new(),
            extras => format!("[{}]", extras.join(",")),
        };
        let name = required.name.clone().unwrap_or_default() + &extras;
        let archive = Archive { index, name, path: path.to_owned() };
        if !self.archives.iter().any(|it| it.name == archive.name && it.path == archive.path) {
            self.archives.push(archive);
        }
    }
}

impl Archive {
    /// The requirement (PEP 508) for it at `path`, from the installer's working directory.
    pub fn requirement(&self, path: &str) -> String {
        format!("{} @ {}", self.name, file_url(path))
    }
}

/// Refuses directories and archives that cannot be installed in an image.
fn check(local: &Local, required: &Required, files: &Tree) -> Result<(), (String, String)> {
    let path = &local.path;
    let refuse = |reason: String, help: &str| Err((reason, help.to_owned()));
    if path.starts_with('/') {
        return refuse(format!("has the absolute path `{path}`"), "write a path relative to the manifest");
    }
    match local.found {
        None if files.refusal(path) == Some(Refusal::Outside) => {
            return refuse(format!("is at `{path}`, outside of the project"), "copy it into the project");
        }
        None => return refuse(format!("is at `{path}`, which does not exist"), "correct the path"),
        Some(FileKind::File) if !requirements_txt::is_archive(path) => {
            return refuse(
                format!("is at `{path}`, which is neither a directory nor an archive"),
                "name a wheel, a source archive or the directory of its source",
            );
        }
        Some(FileKind::File | FileKind::Directory) => {}
    }
    if let Some((link, target)) = files.link(path) {
        return refuse(
            format!("is reached by `{link}`, a symbolic link to `{target}`"),
            "write the target of the link",
        );
    }
    if local.found == Some(FileKind::File) {
        return Ok(());
    }
    if !local.is_project() {
        return refuse(
            format!("is at `{path}`, which has no project to install"),
            "add a pyproject.toml to it, or list the directory in `dependencies` of the configuration",
        );
    }
    let name = local.distribution_name(files).map(|name| normalized_name(&name));
    match (name, &required.name) {
        (Some(name), Some(wanted)) if name != *wanted => {
            refuse(format!("is at `{path}`, which is named `{name}`"), "use the name of that project")
        }
        _ => Ok(()),
    }
}

/// The manifest of a directory and its local requirements.
fn required(local: &Local, files: &Tree) -> (String, Vec<Required>) {
    if !local.is_project() {
        let found = requirements_txt::find(&local.path, files);
        let all = found.iter().flat_map(|file| file.locals.iter().cloned()).map(|local| Required {
            written: local.written,
            source: Source::Path(local.path),
            name: None,
            extras: local.extras,
        });
        return (paths::join(&local.path, "requirements.txt"), all.collect());
    }
    let Metadata { requirements, extras: optional, sources, .. } = metadata(local, files);
    let by_source = |name: &str, extras| {
        let source = sources.get(name).filter(|it| matches!(it, Source::Path(_) | Source::MissingMember))?;
        Some(Required {
            written: name.to_owned(),
            source: source.clone(),
            name: Some(name.to_owned()),
            extras,
        })
    };
    let of = |text: &String| {
        let name = written_name(text);
        let extras = extras(text);
        match local_path(text, &local.path, files) {
            Some(path) => Some(Required { written: text.clone(), source: Source::Path(path), name, extras }),
            None => by_source(&name?, extras),
        }
    };
    let asked = local.extras.iter().filter_map(|extra| optional.as_ref()?.get(&normalized_name(extra)));
    let all: Vec<Required> = match &requirements {
        Some(all) => all.iter().chain(asked.flatten()).filter_map(of).collect(),
        // Any of them may be required.
        None => sources.keys().filter_map(|name| by_source(name, Vec::new())).collect(),
    };
    (paths::join(&local.path, "pyproject.toml"), all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    const BUILT: &str = "[build-system]\nrequires = ['hatchling']\n";

    fn closure(files: &[(&str, String)]) -> Closure {
        let files = Tree::new(MemoryFiles::new(files.iter().map(|(path, text)| (*path, text.as_str()))));
        Closure::new(vec![Local::new(None, ".".to_owned(), &files)], &files)
    }

    fn project(name: &str, rest: &str) -> String {
        format!("{BUILT}[project]\nname = '{name}'\n{rest}")
    }

    #[test]
    fn requirements_of_requirements_are_found() {
        let closure = closure(&[
            (
                "pyproject.toml",
                project(
                    "agent",
                    "dependencies = ['One', 'two @ {root:uri}/../two', 'httpx']\n[tool.uv.sources]\n\
                     one = {path = 'libs/one'}\nunused = {path = 'nowhere'}",
                ),
            ),
            (
                "libs/one/pyproject.toml",
                project(
                    "one",
                    "dependencies = ['two[more]']\n[tool.uv.sources]\ntwo = {path = '../../../two'}",
                ),
            ),
            (
                "../two/pyproject.toml",
                project(
                    "two",
                    "[project.optional-dependencies]\nmore = ['three']\n[tool.uv.sources]\nthree = {path = '../three'}",
                ),
            ),
            ("../three/setup.py", "from setuptools import setup\nsetup(name='three')".to_owned()),
        ]);
        let found: Vec<&str> = closure.locals.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(found, [".", "libs/one", "../two", "../three"], "{:?}", closure.refused);
        assert!(closure.refused.is_empty(), "{:?}", closure.refused);
    }

    #[test]
    fn requirements_that_cannot_be_used_are_refused() {
        let closure = closure(&[
            (
                "pyproject.toml",
                project(
                    "agent",
                    "dependencies = ['member', 'gone', 'wheel', 'plain', 'other', 'x @ file:///srv/x']\n\
                     [tool.uv.sources]\nmember = {workspace = true}\ngone = {path = 'gone'}\n\
                     wheel = {path = 'x.whl'}\nplain = {path = 'plain'}\nother = {path = 'libs/other'}",
                ),
            ),
            ("x.whl", String::new()),
            ("plain/a.py", String::new()),
            ("libs/other/pyproject.toml", project("another", "")),
        ]);
        assert_eq!(closure.locals.len(), 1);
        let archives: Vec<String> = closure.archives.iter().map(|it| it.requirement(&it.path)).collect();
        assert_eq!(archives, ["wheel @ file:x.whl"]);
        let reasons: Vec<&str> = closure.refused.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "is no member of the workspace",
                "is at `gone`, which does not exist",
                "is at `plain`, which has no project to install",
                "is at `libs/other`, which is named `another`",
                "has the absolute path `/srv/x`",
            ]
        );
    }
}
