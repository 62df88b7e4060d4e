//! The packages of an image.

use std::collections::BTreeMap;

use super::component::Component;
use super::reader::Metadata;
use super::{distribution, javascript, python};

/// The packages that the metadata shows, sorted. A package in several places is one.
pub fn components(metadata: &Metadata) -> Vec<Component> {
    let files = &metadata.files;
    let os =
        ["usr/lib/os-release", "etc/os-release"].iter().find_map(|path| distribution::id(files.get(*path)?));
    let (debian, alpine) = (os.unwrap_or("debian"), os.unwrap_or("alpine"));
    let mut found: BTreeMap<_, Component> = BTreeMap::new();
    for (path, text) in files {
        let name = path.rsplit('/').next().unwrap_or_default();
        let of_file: Vec<Component> = match name {
            "WHEEL" | "direct_url.json" | "os-release" => Vec::new(),
            "package.json" => javascript::component(path, text).into_iter().collect(),
            "installed" => distribution::apk(path, text, alpine).collect(),
            _ if path.starts_with("var/lib/dpkg/") => distribution::dpkg(path, text, debian).collect(),
            _ => python::component(path, text, files).into_iter().collect(),
        };
        for component in of_file {
            let key = (component.kind, component.id());
            match found.get_mut(&key) {
                Some(known) => known.locations.extend(component.locations),
                None => _ = found.insert(key, component),
            }
        }
    }
    let mut components: Vec<Component> = found.into_values().collect();
    components.sort_by_cached_key(|it| (it.kind, it.key(), it.version.clone(), it.id()));
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(files: &[(&str, &str)]) -> Metadata {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Metadata { files, ..Metadata::default() }
    }

    #[test]
    fn packages_are_sorted_and_named_once() {
        let found = components(&metadata(&[
            ("a/node_modules/x/package.json", r#"{"name": "@s/x", "version": "1"}"#),
            ("b/node_modules/x/package.json", r#"{"name": "@s/x", "version": "1"}"#),
            ("l/site-packages/Z_z-1.dist-info/METADATA", "Name: Z_z\nVersion: 1+l"),
            ("l/site-packages/Z_z-1.dist-info/WHEEL", "Tag: py3-none-any"),
            ("l/site-packages/a-1.dist-info/METADATA", "Name: a ü\nVersion: 1"),
            ("etc/os-release", "ID=ubuntu"),
            ("var/lib/dpkg/status", "Package: p\nVersion: 1\n"),
        ]));
        let shown = found.iter().map(|it| (it.purl().unwrap(), it.locations.len()));
        let expected = [
            ("pkg:deb/ubuntu/p@1", 1),
            ("pkg:npm/%40s/x@1", 2),
            ("pkg:pypi/a%20%C3%BC@1", 1),
            ("pkg:pypi/z-z@1%2Bl", 1),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected.map(|(purl, count)| (purl.to_owned(), count)));
        assert_eq!(found[3].wheel, ["py3-none-any"]);
        assert!(components(&Metadata::default()).is_empty());
    }
}
