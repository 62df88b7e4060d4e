//! The packages that one package of a lock needs on Linux.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::str::FromStr;

use pep508_rs::ExtraName;

use super::{Dependency, Lock, Package};
use crate::manifests::marker::{Environment, MACHINES};

/// The package to run, and what to install with it.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The name of a local package.
    pub package: &'a str,
    /// Extras of it, normalised.
    pub extras: Vec<String>,
    /// Dependency groups of it, normalised.
    pub groups: Vec<String>,
    /// The Python version, major.minor.
    pub python: &'a str,
}

/// A package of the closure.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The package.
    pub package: Package,
    /// The machines that it is needed on, of [`MACHINES`].
    pub machines: Vec<&'static str>,
    /// Whether the lock has several versions of it, for different environments.
    pub is_forked: bool,
}

impl Lock {
    /// The requested package and all that it needs, in the order of the lock; or why the lock does not tell that, as a
    /// lowercase fragment.
    pub fn closure(&self, request: &Request<'_>) -> Result<Vec<Selected>, String> {
        let mut found: BTreeMap<usize, Vec<&'static str>> = BTreeMap::new();
        for machine in MACHINES {
            for index in Walk::new(self, request, machine)?.run(request)? {
                found.entry(index).or_default().push(machine);
            }
        }
        let mut versions: HashMap<&str, usize> = HashMap::new();
        self.packages.iter().for_each(|package| *versions.entry(&package.name).or_default() += 1);
        let selected = |(index, machines): (usize, _)| {
            let package = self.packages[index].clone();
            let is_forked = versions[&*package.name] > 1;
            Selected { package, machines, is_forked }
        };
        Ok(found.into_iter().map(selected).collect())
    }
}

struct Walk<'a> {
    lock: &'a Lock,
    environment: Environment,
    /// Indices of packages by name.
    names: HashMap<&'a str, Vec<usize>>,
    /// Extras, groups and projects that are in use, as markers of conflicts name them.
    active: Vec<ExtraName>,
    /// Packages, and extras of packages.
    queue: VecDeque<(usize, Option<&'a str>)>,
    seen: HashSet<(usize, Option<&'a str>)>,
}

impl<'a> Walk<'a> {
    fn new(lock: &'a Lock, request: &Request<'_>, machine: &str) -> Result<Self, String> {
        let environment = Environment::linux(request.python, machine)
            .ok_or_else(|| format!("`{}` is not a Python version", request.python))?;
        let mut names: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, package) in lock.packages.iter().enumerate() {
            names.entry(&package.name).or_default().push(index);
        }
        let active = Vec::new();
        let queue = VecDeque::new();
        let seen = HashSet::new();
        Ok(Self { lock, environment, names, active, queue, seen })
    }

    /// The indices of the packages that are needed.
    fn run(mut self, request: &Request<'_>) -> Result<HashSet<usize>, String> {
        let missing = || format!("`{}` is not a local package of the lock", request.package);
        let target = self.lock.local(request.package).ok_or_else(missing)?;
        let index = self.lock.packages.iter().position(|it| std::ptr::eq(it, target)).ok_or_else(missing)?;
        self.activate("project", &target.name, None);
        request.extras.iter().for_each(|extra| self.activate("extra", &target.name, Some(extra)));
        request.groups.iter().for_each(|group| self.activate("group", &target.name, Some(group)));
        self.push(index, None);
        for extra in &request.extras {
            let known = target.optional_dependencies.get_key_value(extra);
            known.into_iter().for_each(|(extra, _)| self.push(index, Some(extra)));
        }
        for group in &request.groups {
            self.follow(target, target.dev_dependencies.get(group).map(Vec::as_slice).unwrap_or_default())?;
        }
        while let Some((index, extra)) = self.queue.pop_front() {
            let package = &self.lock.packages[index];
            let dependencies = match extra {
                None => &package.dependencies[..],
                Some(extra) => {
                    package.optional_dependencies.get(extra).map(Vec::as_slice).unwrap_or_default()
                }
            };
            self.follow(package, dependencies)?;
        }
        Ok(self.seen.into_iter().map(|(index, _)| index).collect())
    }

    fn follow(&mut self, from: &Package, dependencies: &'a [Dependency]) -> Result<(), String> {
        for dependency in dependencies {
            let mut active = self.active.clone();
            active.extend(
                dependency.extra.iter().filter_map(|it| conflicting("extra", &dependency.name, Some(it))),
            );
            let marker = dependency.marker.as_deref();
            let holds = marker.map_or(Some(true), |marker| self.environment.holds(marker, &active));
            let unreadable = || {
                format!("`{}` needs `{}` under a condition that cannot be read", from.name, dependency.name)
            };
            if !holds.ok_or_else(unreadable)? {
                continue;
            }
            let index = self.find(from, dependency)?;
            self.push(index, None);
            for extra in &dependency.extra {
                self.activate("extra", &dependency.name, Some(extra));
                self.push(index, Some(extra));
            }
        }
        Ok(())
    }

    fn find(&self, from: &Package, dependency: &Dependency) -> Result<usize, String> {
        let is_meant = |index: &&usize| {
            let package = &self.lock.packages[**index];
            dependency.source.as_ref().is_none_or(|source| *source == package.source)
                && (dependency.version.is_none() || dependency.version == package.version)
        };
        let mut all = self.names.get(&*dependency.name).into_iter().flatten().filter(is_meant);
        match (all.next(), all.next()) {
            (Some(index), None) => Ok(*index),
            (None, _) => Err(format!("`{}` needs `{}`, which is not in it", from.name, dependency.name)),
            (Some(_), Some(_)) => {
                Err(format!("`{}` needs `{}`, which is in it more than once", from.name, dependency.name))
            }
        }
    }

    fn push(&mut self, index: usize, extra: Option<&'a str>) {
        if self.seen.insert((index, extra)) {
            self.queue.push_back((index, extra));
        }
    }

    fn activate(&mut self, kind: &str, package: &str, name: Option<&str>) {
        let name = conflicting(kind, package, name).filter(|name| !self.active.contains(name));
        self.active.extend(name);
    }
}

/// The name of an extra, a group or a project in conflict markers, where uv writes all of them as extras.
fn conflicting(kind: &str, package: &str, name: Option<&str>) -> Option<ExtraName> {
    let name = name.map(|name| format!("-{name}")).unwrap_or_default();
    ExtraName::from_str(&format!("{kind}-{}-{package}{name}", package.len())).ok()
}
