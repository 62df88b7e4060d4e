//! Configurations in the build context that hold values of `env`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::back::lower::{Build, Input};
use crate::files::{FileKind, Files};
use crate::front::dialect::CONFIGURATIONS;
use crate::front::without_env::without_env_values;
use crate::manifests::dockerignore::{Ignore, Trail};
use crate::paths;

/// Longest chain of links, as on Linux. A longer one is a loop.
const MAX_CHAIN: usize = 40;

/// Number of bytes of a copy of a configuration that are read: real ones have some kilobytes.
const MAX_COPY: usize = 64 * 1024;

/// Endings of files that often hold no secret, such as certificates.
const MAY_BE_PUBLIC: &[&str] = &[".pem", ".key", ".p12", ".pfx"];

/// The files of the context, relative to its root, that hold values of `env`: those with the name of a configuration,
/// and those that they link to. `name` is the name of the configuration at hand. Notes tell of copies of a configuration,
/// which are sent as they are, and of files that are left out only since they look like credentials, which `own` includes.
pub(super) fn find(input: &Input<'_>, own: &Ignore, name: &str, build: &mut Build) -> Vec<String> {
    let mut search = Search { input, own, name, found: BTreeSet::new(), notes: Vec::new() };
    search.directory("", &Trail::default());
    search.notes.iter().for_each(|(key, message)| build.note(key, message));
    search.found.into_iter().collect()
}

struct Search<'a> {
    input: &'a Input<'a>,
    own: &'a Ignore,
    name: &'a str,
    found: BTreeSet<String>,
    notes: Vec<(&'static str, String)>,
}

impl Search<'_> {
    /// Searches the directory at `at`, which is empty or ends with `/`.
    fn directory(&mut self, at: &str, trail: &Trail) {
        for (name, kind) in self.input.files.list(&paths::join(&self.input.layout.root, at)) {
            let path = format!("{at}{name}");
            let is_configuration = name == self.name || CONFIGURATIONS.contains(&&*name);
            match kind {
                FileKind::File if is_configuration => self.file(path),
                FileKind::File if self.may_be_copy(&name) => self.copy(&path),
                FileKind::File if MAY_BE_PUBLIC.iter().any(|ending| name.ends_with(ending)) => {
                    self.credential(&path);
                }
                FileKind::File => {}
                FileKind::Directory => {
                    let (excluded, trail) = self.input.ignore.step(trail, &path);
                    if !excluded || self.input.ignore.may_include_below(&path) {
                        self.directory(&format!("{path}/"), &trail);
                    }
                }
            }
        }
    }

    fn file(&mut self, path: String) {
        let on_disk = paths::join(&self.input.layout.root, &path);
        if self.input.files.text(&on_disk).and_then(|text| without_env_values(&text)).is_none() {
            return;
        }
        let target = self.input.layout.in_context(&self.linked(on_disk));
        let both = [path, target].into_iter().filter(|path| paths::below(path, ".").is_some());
        self.found.extend(both.filter(|path| !self.input.ignore.excludes(path)));
    }

    /// Whether a file of this name may be a copy of a configuration, such as `agent.prod.json` and `agent.json.bak`.
    fn may_be_copy(&self, name: &str) -> bool {
        name.contains("json") || name.contains(self.name)
    }

    fn copy(&mut self, path: &str) {
        let head = self.input.files.head(&paths::join(&self.input.layout.root, path), MAX_COPY);
        let text = String::from_utf8_lossy(&head);
        // A schema has both words elsewhere; a broken copy has them somewhere.
        let is_configuration = serde_json::from_str(&text).map_or_else(
            |_| text.contains("\"graphs\""),
            |value: Value| ["graphs", "env"].iter().all(|key| value.get(key).is_some_and(Value::is_object)),
        );
        let has_values = is_configuration && without_env_values(&text).is_some();
        if has_values && !self.input.ignore.excludes(path) {
            let message = format!(
                "`{path}` is copied into the image with its values of `env`; exclude it in .dockerignore, or move the values \
                 to a .env file"
            );
            self.notes.push(("/env", message));
        }
    }

    fn credential(&mut self, path: &str) {
        if self.input.ignore.excludes(path) && !self.own.excludes(path) {
            let message = format!(
                "`{path}` is not in the image, since such files hold credentials; `!{path}` in .dockerignore includes it"
            );
            self.notes.push(("/dependencies", message));
        }
    }

    /// The file that `path` leads to, relative to the configuration's directory.
    fn linked(&self, mut path: String) -> String {
        for _ in 0..MAX_CHAIN {
            let Some((link, target)) = self.input.files.link(&path) else { break };
            let rest = path[link.len()..].to_owned();
            path = self.relative(&(paths::join(paths::parent(&link), &target) + &rest));
        }
        path
    }

    /// An absolute path, relative to the configuration's directory.
    fn relative(&self, path: &str) -> String {
        let Some(absolute) = path.strip_prefix('/') else { return path.to_owned() };
        let directory = self.input.files.directory();
        let shared =
            directory.iter().zip(absolute.split('/')).take_while(|(one, other)| one == other).count();
        let up = "../".repeat(directory.len() - shared);
        paths::normalize(&(up + &absolute.split('/').skip(shared).collect::<Vec<_>>().join("/")))
    }
}
