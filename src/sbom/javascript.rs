//! Packages in directories `node_modules`.

use serde_json::Value;

use super::component::{Component, Kind};
use super::licence::Licence;

/// Whether a package.json is that of an installed package.
pub(super) fn is_installed(path: &str) -> bool {
    let Some((directory, _)) = path.rsplit_once('/') else { return false };
    let mut parts = directory.rsplit('/').skip(1);
    match parts.next() {
        Some("node_modules") => true,
        Some(scope) => scope.starts_with('@') && parts.next() == Some("node_modules"),
        None => false,
    }
}

/// The members of a package.json that are used, as JSON.
pub(super) fn shortened(text: &str) -> String {
    let content: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    let members = ["name", "version", "license", "licenses"].iter();
    let members = members.filter_map(|&name| Some((name.to_owned(), content.get(name)?.clone())));
    Value::Object(members.collect()).to_string()
}

/// The package of a package.json; `None` if it has no name or version, as those for tests and sub-paths.
pub(super) fn component(path: &str, text: &str) -> Option<Component> {
    let content: Value = serde_json::from_str(text).ok()?;
    let member = |name: &str| content[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let (name, version) = (member("name")?, member("version")?);
    let directory = path.strip_suffix("/package.json").unwrap_or(path);
    let licence = match &content["license"] {
        Value::String(text) => Licence::expression(text),
        // The form before npm 3.
        Value::Object(old) => old.get("type").and_then(Value::as_str).and_then(Licence::expression),
        _ => content["licenses"][0]["type"].as_str().and_then(Licence::expression),
    };
    Some(Component { licence, ..Component::new(Kind::JavaScript, name, version, directory) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packages_and_their_licences() {
        let path = "app/node_modules/@a/b/package.json";
        for (license, expected) in [
            (json!({ "license": "MIT" }), Some(Licence::Expression("MIT".to_owned()))),
            (json!({ "license": { "type": "BSD" } }), Some(Licence::Expression("BSD".to_owned()))),
            (json!({ "licenses": [{ "type": "MIT X" }] }), Some(Licence::Name("MIT X".to_owned()))),
            (json!({ "license": 1 }), None),
        ] {
            let mut content = json!({ "name": "@a/b", "version": "1.0.0", "main": "x.js" });
            content.as_object_mut().unwrap().extend(license.as_object().unwrap().clone());
            let text = shortened(&content.to_string());
            assert!(!text.contains("x.js"));
            let found = component(path, &text).unwrap();
            assert_eq!((&*found.name, &*found.version, found.licence), ("@a/b", "1.0.0", expected));
            assert!(found.locations.contains("/app/node_modules/@a/b"));
        }
        for text in ["{", "[]", "{\"name\": \"a\"}", "{\"name\": \"\", \"version\": \"1\"}"] {
            assert_eq!(component(path, &shortened(text)), None, "{text}");
        }
    }

    #[test]
    fn only_packages_are_installed() {
        for (path, is) in [
            ("node_modules/a/package.json", true),
            ("x/node_modules/@a/b/package.json", true),
            ("x/node_modules/.pnpm/a@1/node_modules/a/package.json", true),
            ("x/node_modules/a/lib/package.json", false),
            ("x/a/package.json", false),
            ("package.json", false),
            ("a/package.json", false),
        ] {
            assert_eq!(is_installed(path), is, "{path}");
        }
    }
}
