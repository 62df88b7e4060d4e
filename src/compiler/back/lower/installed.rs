//! The project's own packages, and what they need of each other.

use crate::compiler::back::lower::{Input, groups};
use crate::compiler::manifests::dependency::Local;
use crate::compiler::manifests::package::{self, Install, Package, UvSettings};
use crate::compiler::manifests::requirement;

/// A local dependency and what its manifests say.
pub(super) struct Installed<'a> {
    pub(super) local: &'a Local,
    /// Normalised.
    pub(super) name: Option<String>,
    pub(super) package: Package,
    /// The settings with which uv installs what it needs.
    pub(super) settings: Option<UvSettings>,
}

impl<'a> Installed<'a> {
    pub(super) fn new(local: &'a Local, input: &Input<'_>) -> Self {
        let mut package = package::package(local, input.files);
        let name = package.name.clone().or_else(|| local.distribution_name(input.files));
        let settings = groups::settings(input, &local.path);
        if settings.as_ref().is_some_and(|settings| settings.need_source) {
            package.requirements = None;
            package.install = Install::Plain("uv's settings name a place in the source".to_owned());
        }
        Self { local, name: name.map(|name| requirement::normalized_name(&name)), package, settings }
    }

    /// What installs it where it lies.
    pub(super) fn editable(&self, input: &Input<'_>) -> [String; 2] {
        ["-e".to_owned(), input.layout.in_image(&self.local.path)]
    }

    pub(super) fn is_early(&self) -> bool {
        matches!(self.package.install, Install::Skeleton { .. })
    }
}

/// A package that needs one of its neighbours cannot be installed before it: an index would be asked for it, which
/// has no such package, or somebody else's.
pub(super) fn wait_for_neighbours(packages: &mut [Installed<'_>]) {
    let mut late: Vec<String> = Vec::new();
    loop {
        let more = packages.iter().filter(|it| !it.is_early()).filter_map(|it| it.name.clone());
        let more: Vec<String> = more.filter(|name| !late.contains(name)).collect();
        if more.is_empty() {
            return;
        }
        late.extend(more);
        for Installed { package, .. } in packages.iter_mut().filter(|it| it.is_early()) {
            let requirements =
                package.requirements.as_ref().map(|all| all.iter().filter_map(|it| requirement::name(it)));
            let needed =
                |name: String| late.contains(&name).then(|| format!("it needs `{name}`, which is too"));
            match requirements {
                Some(mut names) => {
                    let why = names.find_map(needed);
                    drop(names);
                    package.install = why.map_or(package.install.clone(), Install::AfterCopy);
                }
                None => package.install = Install::Plain(format!("it may need `{}`, which is too", late[0])),
            }
        }
    }
}

/// Whether a package needs more of one of its neighbours than the neighbour's own requirements.
pub(super) fn has_extras_of(package: &Package, neighbours: &[Installed<'_>]) -> bool {
    let needed = package
        .requirements
        .iter()
        .flatten()
        .filter(|it| it.contains('['))
        .filter_map(|it| requirement::name(it));
    let own: Vec<&String> = neighbours.iter().filter_map(|it| it.name.as_ref()).collect();
    needed.into_iter().any(|name| own.contains(&&name))
}
