//! Origins and hashes of packages, from lock files and the base image.

use std::collections::{BTreeSet, HashMap};

use super::component::{Component, Hash, Kind, Source};
use crate::compiler::locks::{Language, Pinned};

/// Start of the paths of projects in images.
const DIRECTORIES: &str = "/deps/";

/// Adds the origins and hashes that the lock files have. `server` is the name of the server, whose lock has no file.
pub fn attribute(components: &mut [Component], pinned: &[Pinned], server: &str) {
    let mut names: HashMap<&str, Vec<&Pinned>> = HashMap::new();
    for package in pinned {
        names.entry(&package.name).or_default().push(package);
    }
    for component in components {
        if let Source::Directory(path) = &component.source {
            if path.starts_with(DIRECTORIES) {
                component.origins.insert("project".to_owned());
            }
            continue;
        }
        let language = match component.kind {
            Kind::Python => Language::Python,
            Kind::JavaScript => Language::JavaScript,
            Kind::Apk | Kind::Deb => continue,
        };
        let key = component.key();
        let mut allowed = BTreeSet::new();
        for package in names.get(&*key).into_iter().flatten() {
            if !package.is(language, &key, &component.version) {
                continue;
            }
            component.origins.insert(match &package.lock {
                Some(lock) => format!("lock:{lock}"),
                None => format!("server:{server}"),
            });
            match installed(package, &component.wheel) {
                Some(hashes) if component.hashes.is_empty() => component.hashes = hashes,
                _ => allowed.extend(package.files.iter().flat_map(|file| Hash::read(&file.hash))),
            }
        }
        if component.hashes.is_empty() {
            component.locked = allowed.into_iter().collect();
        }
    }
}

/// The hashes of the file that the package was installed from, if only one can be that.
fn installed(package: &Pinned, wheel: &[String]) -> Option<Vec<Hash>> {
    let fits = |name: &Option<String>| match name {
        Some(name) => wheel.is_empty() || has_tags(name, wheel),
        None => true,
    };
    let mut fitting = package.files.iter().filter(|file| fits(&file.name));
    let (file, None) = (fitting.next()?, fitting.next()) else { return None };
    Some(Hash::read(&file.hash)).filter(|hashes| !hashes.is_empty())
}

/// Whether a wheel of this name has these tags: `py2.py3-none-any` for `py2-none-any` and `py3-none-any`.
fn has_tags(name: &str, tags: &[String]) -> bool {
    let Some(name) = name.strip_suffix(".whl") else { return false };
    let parts: Vec<&str> = name.rsplitn(4, '-').collect();
    let [platforms, abis, pythons, _] = parts[..] else { return false };
    tags.iter().all(|tag| {
        let parts: Vec<&str> = tag.split('-').collect();
        let [python, abi, platform] = parts[..] else { return false };
        [(pythons, python), (abis, abi), (platforms, platform)]
            .iter()
            .all(|(all, one)| all.split('.').any(|it| it == *one))
    })
}

/// Marks the packages that the base image `name` has at the same version in the same place.
pub fn mark_base(components: &mut [Component], base: &[Component], name: &str) {
    let known: HashMap<String, &Component> = base.iter().map(|it| (it.id(), it)).collect();
    for component in components {
        let same = known.get(&component.id());
        if same.is_some_and(|it| it.kind == component.kind && !it.locations.is_disjoint(&component.locations))
        {
            component.origins.insert(format!("base-image:{name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::locks::PinnedFile;

    fn pinned(lock: Option<&str>, files: &[(Option<&str>, &str)]) -> Pinned {
        let file = |(name, digit): &(Option<&str>, &str)| PinnedFile {
            name: name.map(str::to_owned),
            hash: format!("sha256:{}", digit.repeat(64)),
        };
        Pinned {
            language: Language::Python,
            name: "a".to_owned(),
            version: "1".to_owned(),
            files: files.iter().map(file).collect(),
            lock: lock.map(str::to_owned),
        }
    }

    fn attributed(wheel: &[&str], pinned: &[Pinned]) -> (Vec<String>, String, String) {
        let mut own = Component::new(Kind::Python, "A", "1.0", "site-packages");
        own.wheel = wheel.iter().map(|tag| (*tag).to_owned()).collect();
        let mut all = [own];
        attribute(&mut all, pinned, "memory");
        let [own] = all;
        let first = |hashes: &[Hash]| hashes.iter().map(|hash| &hash.digest()[..1]).collect::<String>();
        (own.origins.iter().cloned().collect(), first(&own.hashes), first(&own.locked))
    }

    #[test]
    fn a_hash_is_given_only_if_it_is_certain_which_file_was_installed() {
        let linux = Some("a-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl");
        let arm = Some("a-1-cp312-cp312-manylinux_2_17_aarch64.whl");
        let pure = Some("a-1-py2.py3-none-any.whl");
        let files = [(linux, "1"), (arm, "2"), (pure, "3"), (Some("a-1.tar.gz"), "4")];
        let lock = [pinned(Some("uv.lock"), &files)];
        for (wheel, hashes, locked) in [
            (&["cp312-cp312-manylinux2014_x86_64", "cp312-cp312-manylinux_2_17_x86_64"][..], "1", ""),
            (&["py2-none-any", "py3-none-any"], "3", ""),
            (&["cp312-cp312-linux_x86_64"], "", "1234"),
            (&[], "", "1234"),
        ] {
            let expected = (vec!["lock:uv.lock".to_owned()], hashes.to_owned(), locked.to_owned());
            assert_eq!(attributed(wheel, &lock), expected, "{wheel:?}");
        }
    }

    #[test]
    fn hashes_without_names_are_certain_if_there_is_one() {
        let wheel = ["py3-none-any"];
        let both =
            [pinned(Some("requirements.txt"), &[(None, "1"), (None, "2")]), pinned(None, &[(None, "2")])];
        let origins = ["lock:requirements.txt", "server:memory"].map(str::to_owned).to_vec();
        assert_eq!(attributed(&wheel, &both), (origins, "2".to_owned(), String::new()));
        let one = (vec!["lock:requirements.txt".to_owned()], String::new(), "12".to_owned());
        assert_eq!(attributed(&wheel, &both[..1]), one);
        assert_eq!(attributed(&wheel, &[pinned(Some("x"), &[])]).1, "");
        let other = Pinned { version: "2".to_owned(), ..pinned(None, &[(None, "1")]) };
        assert_eq!(attributed(&wheel, &[other]), (vec![], String::new(), String::new()));
    }

    #[test]
    fn packages_of_the_project_are_in_its_directories() {
        let package = |path: &str| {
            let source = Source::Directory(path.to_owned());
            Component { source, ..Component::new(Kind::Python, "a", "1", "x") }
        };
        let mut all = [package("/deps/app"), package("/api")];
        attribute(&mut all, &[], "");
        assert_eq!(all.map(|it| it.origins.len()), [1, 0]);
    }

    #[test]
    fn packages_of_the_base_image_are_in_the_same_place() {
        let package = |place| Component::new(Kind::Python, "a", "1", place);
        let mut all = [package("x"), package("y")];
        mark_base(&mut all, &[package("x")], "python:3.12");
        assert_eq!(all.map(|it| it.origins.len()), [1, 0]);
    }
}
