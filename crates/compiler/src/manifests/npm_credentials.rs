//! Credentials in the settings of JavaScript package managers.

use serde_json::Value;

use super::package_manager::{BUNFIG, NPMRC, YARNRC};
use super::yaml;
use crate::paths;
use crate::secrecy::urls;

/// The last part of keys with credentials in `.npmrc` and in Yarn 1's `.yarnrc`.
const NPM_KEYS: &[&str] = &["_authToken", "_auth", "_password"];

/// Keys with credentials in `.yarnrc.yml`, at any level.
const YARN_KEYS: &[&str] = &["npmAuthToken", "npmAuthIdent"];

/// Keys with credentials in bunfig.toml, at any level.
const BUN_KEYS: &[&str] = &["token", "password"];

/// Whether the settings file at `path` has a password or token, rather than the name of a variable.
pub(super) fn has_credentials(path: &str, text: &str) -> bool {
    match paths::file_name(path) {
        NPMRC | ".yarnrc" => in_lines(text),
        YARNRC => yaml::read(text).is_ok_and(|value| in_value(&value, YARN_KEYS)),
        BUNFIG => toml::from_str(text).is_ok_and(|value| in_value(&value, BUN_KEYS)),
        _ => false,
    }
}

fn in_lines(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with([';', '#']));
    let mut settings = lines.filter_map(|line| line.split_once(['=', ' ']));
    settings.any(|(key, value)| {
        let key = key.trim_end().trim_matches('"');
        let is_secret = NPM_KEYS.iter().any(|name| key.ends_with(name));
        is_secret && !value.contains("${") || !urls::userinfo(value).is_empty()
    })
}

fn in_value(value: &Value, keys: &[&str]) -> bool {
    match value {
        Value::String(text) => !urls::userinfo(text).is_empty(),
        Value::Array(items) => items.iter().any(|item| in_value(item, keys)),
        Value::Object(members) => members.iter().any(|(key, member)| {
            let is_secret = keys.contains(&key.as_str());
            in_value(member, keys) || is_secret && member.as_str().is_some_and(|text| !is_variable(text))
        }),
        _ => false,
    }
}

/// Whether the value names a variable, or is empty: `${NAME}`, with a default in Yarn, or `$NAME` in bun.
fn is_variable(text: &str) -> bool {
    text.is_empty() || text.starts_with('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_values_and_not_variables() {
        for (path, text, expected) in [
            (".npmrc", "//x/:_authToken=abc", true),
            (".npmrc", "//x/:_authToken=${TOKEN}", false),
            (".yarnrc", "\"//x/:_authToken\" abc", true),
            (".yarnrc", "registry \"https://x/\"", false),
            (".yarnrc.yml", "npmAuthToken: abc", true),
            (".yarnrc.yml", "npmScopes: {mine: {npmAuthToken: 'abc'}}", true),
            ("a/.yarnrc.yml", "npmRegistries:\n  //x:\n    npmAuthIdent: 'me:abc'", true),
            (".yarnrc.yml", "npmAuthToken: ${TOKEN-}\nnodeLinker: node-modules", false),
            (".yarnrc.yml", "npmRegistryServer: https://me:abc@x/", true),
            ("bunfig.toml", "[install.scopes]\nmine = { token = 'abc', url = 'https://x/' }", true),
            ("bunfig.toml", "[install]\nregistry = 'https://me:abc@x/'", true),
            ("bunfig.toml", "[install.scopes.mine]\nusername = 'me'\npassword = '$PASSWORD'", false),
            ("bunfig.toml", "[install]\nregistry = 'https://x/'", false),
            ("package.json", "{\"token\": \"abc\"}", false),
        ] {
            assert_eq!(has_credentials(path, text), expected, "{path}: {text}");
        }
    }
}
