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
