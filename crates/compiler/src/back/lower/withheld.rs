//! Configurations in the build context that hold values of `env`.

use std::collections::BTreeSet;

use crate::back::lower::Input;
use crate::files::{FileKind, Files};
use crate::front::dialect::CONFIGURATIONS;
use crate::front::without_env::without_env_values;
use crate::manifests::dockerignore::Trail;
use crate::paths;

/// Longest chain of links, as on Linux. A longer one is a loop.
const MAX_CHAIN: usize = 40;

/// The files of the context, relative to its root, that hold values of `env`: those with the name of a configuration,
/// and those that they link to. `name` is the name of the configuration at hand.
pub(super) fn find(input: &Input<'_>, name: &str) -> Vec<String> {
    let mut search = Search { input, name, found: BTreeSet::new() };
    search.directory("", &Trail::default());
    search.found.into_iter().collect()
}

struct Search<'a> {
    input: &'a Input<'a>,
    name: &'a str,
    found: BTreeSet<String>,
}

impl Search<'_> {
    /// Searches the directory at `at`, which is empty or ends with `/`.
    fn directory(&mut self, at: &str, trail: &Trail) {
        for (name, kind) in self.input.files.list(&paths::join(&self.input.layout.root, at)) {
            let path = format!("{at}{name}");
            let is_configuration = name == self.name || CONFIGURATIONS.contains(&&*name);
            match kind {
                FileKind::File if is_configuration => self.file(path),
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
