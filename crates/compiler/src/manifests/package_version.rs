//! The version of a JavaScript package: that of the lock file, or else the newest that package.json allows.

use std::collections::BTreeSet;

use super::installation::Installation;
use super::package_json;
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// Major, minor and patch version.
pub type Version = (u64, u64, u64);

/// The newest version that an installation can choose.
#[derive(Debug)]
pub struct Newest {
    /// The version. An open part is the largest number.
    pub version: Version,
    /// The version or range as written.
    pub text: String,
    /// The file that has it.
    pub file: String,
}

/// The version of `package` for the project's own package; none if it is not certain.
pub fn newest(package: &str, installation: &Installation, files: &Tree) -> Option<Newest> {
    let all = installation.locks.iter().find_map(|file| locked_newest(package, file, files));
    let required = || {
        let manifest = package_json::find(&installation.home, files)?.ok()?;
        let (_, range) = manifest.requirements().find(|(name, _)| *name == package)?;
        let file = paths::join(&installation.home, package_json::NAME);
        Some(Newest { version: newest_of(range)?, text: range.to_owned(), file })
    };
    match all {
        Some((newest, true)) => Some(newest),
        // The project has one of those.
        Some((newest, false)) => required().into_iter().chain([newest]).min_by_key(|it| it.version),
        None => required(),
    }
}

/// The newest version of `package` in a lock file, and whether it is the only one.
fn locked_newest(package: &str, file: &str, files: &Tree) -> Option<(Newest, bool)> {
    let versions = locked(package, &files.text(file)?);
    let is_only = versions.len() == 1;
    let versions = versions.into_iter().map(|text| Some((version(&text)?, text)));
    let (version, text) = versions.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some((Newest { version, text, file: file.to_owned() }, is_only))
}

/// The versions of `package` in the text of any lock file.
fn locked(package: &str, text: &str) -> BTreeSet<String> {
    let entries = text.match_indices(package).filter_map(|(at, _)| {
        let rest = &text[at + package.len()..];
        match rest.strip_prefix('@') {
            // pnpm, bun and yarn: `package@1.2.3`.
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => Some(rest),
            // yarn: `"package@^1.0.0":` and on the next line `version "1.2.3"`, or `version: 1.2.3`.
            Some(rest) => {
                let next = rest.split_once('\n')?.1.trim_start();
                Some(next.strip_prefix("version")?.trim_start_matches([':', ' ', '"']))
            }
            // npm: `"node_modules/package": {` and on the next line `"version": "1.2.3"`.
            None => {
                let entry = rest.strip_prefix("\": {")?.trim_start();
                entry.strip_prefix("\"version\": \"")
            }
        }
    });
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    entries.filter_map(|entry| entry.split(|c| !is_part(c)).next()).map(str::to_owned).collect()
}

/// A whole version, without the parts after the patch version.
fn version(text: &str) -> Option<Version> {
    let numbers = text.split(['-', '+']).next()?;
    let mut parts = numbers.split('.').map(str::parse);
    let version = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    parts.next().is_none().then_some(version)
}

/// The newest version of a range, or of several.
fn newest_of(range: &str) -> Option<Version> {
    let newest: Option<Vec<Version>> = range.split("||").map(|range| newest_of_one(range.trim())).collect();
    newest?.into_iter().max()
}

/// The newest version of an exact version, of a range of patch versions, or of one without an upper bound.
fn newest_of_one(range: &str) -> Option<Version> {
    if matches!(range, "latest" | "*")
        || range.strip_prefix(">=").is_some_and(|it| version(it.trim()).is_some())
    {
        return Some((u64::MAX, u64::MAX, u64::MAX));
    }
    let (operator, lowest) = match range.split_at_checked(1) {
        Some((operator @ ("^" | "~" | "="), lowest)) => (operator, version(lowest.trim())?),
        _ => ("=", version(range)?),
    };
    match (operator, lowest) {
        ("=", exact) => Some(exact),
        ("^", (0, 0, _)) => Some(lowest),
        ("^", (1.., ..)) => Some((lowest.0, u64::MAX, u64::MAX)),
        (_, (major, minor, _)) => Some((major, minor, u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_file_has_its_form() {
        for text in [
            "\"node_modules/@a/b\": {\n      \"version\": \"1.2.3\",\n \"resolved\": \"https://x/@a/b/-/b-1.2.3.tgz\"",
            "importers:\n  .:\n    '@a/b':\n      specifier: ^1\npackages:\n  '@a/b@1.2.3':\n  '@a/b-c@9.9.9':\nsnapshots:\n  '@a/b@1.2.3(x@1)': {}",
            "\"@a/b@^1.0.0\", \"@a/b@^1.2.0\":\n  version \"1.2.3\"\n",
            "\"@a/b@npm:^1.0.0\":\n  version: 1.2.3\n  resolution: \"@a/b@npm:1.2.3\"\n",
            "\"@a/b\": [\"@a/b@1.2.3\", \"\", { \"peerDependencies\": { \"@a/b\": \"^1\" } }]",
        ] {
            assert_eq!(locked("@a/b", text).into_iter().collect::<Vec<_>>(), ["1.2.3"], "{text}");
        }
        assert_eq!(locked("@a/b", "'@a/b@1.2.3':\n'@a/b@2.0.0-rc.1':").len(), 2);
    }

    #[test]
    fn ranges_have_a_newest_version() {
        for (range, newest) in [
            ("0.2.44", Some((0, 2, 44))),
            ("=1.2.3-rc.1", Some((1, 2, 3))),
            ("^0.2.4", Some((0, 2, u64::MAX))),
            ("~0.2.4", Some((0, 2, u64::MAX))),
            ("^1.0.0", Some((1, u64::MAX, u64::MAX))),
            ("^0.0.3", Some((0, 0, 3))),
            ("^0.2.4 || ^0.3.0", Some((0, 3, u64::MAX))),
            ("^0.2.4 || next", None),
            (">=0.2.4", Some((u64::MAX, u64::MAX, u64::MAX))),
            (">=0.2.4 <0.3.0", None),
            ("latest", Some((u64::MAX, u64::MAX, u64::MAX))),
            ("workspace:*", None),
            ("", None),
        ] {
            assert_eq!(newest_of(range), newest, "{range}");
        }
    }
}
