//! The versions of Python that a package supports: `requires-python`, or what a build backend has in its place.

use std::ops::Range;
use std::str::FromStr;

use pep508_rs::pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};
use serde::Serialize;
use toml::{Table, Value};

use super::dependency::Local;
use super::pyproject::{self, Pyproject, table};
use super::symbols::PythonVersion;
use super::{setup_cfg, setup_py};
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// A release of Python: major, minor and patch.
pub type Release = [u64; 3];

/// The patches of a series that are considered. No image has the first release of one.
const PATCHES: std::ops::RangeInclusive<u64> = 1..=99;

/// Keys of pyproject.toml; only the last one holds a constraint of poetry's.
const KEYS: [&[&str]; 3] = [
    &["project", "requires-python"],
    &["tool", "flit", "metadata", "requires-python"],
    &["tool", "poetry", "dependencies", "python"],
];

/// The Python versions that a package supports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequiresPython {
    /// The manifest that says so, relative to the configuration's directory.
    pub path: String,
    /// The range as written, such as `>=3.12`.
    pub range: String,
    /// The same, parsed. One of them has to match.
    #[serde(skip)]
    alternatives: Vec<VersionSpecifiers>,
}

/// How a version of Python fits a range, from well to badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is in the range.
    Supported,
    /// Only the lower bounds of the range admit it. uv ignores the others, pip does not.
    AboveRange,
    /// No installer accepts it.
    Refused,
}

impl Fit {
    /// Whether the installer, pip or uv, refuses the package.
    pub fn is_refused(self, uses_pip: bool) -> bool {
        self == Self::Refused || (uses_pip && self == Self::AboveRange)
    }
}

impl RequiresPython {
    /// Reads that of a local package. None if it has none, or one that is not understood.
    pub fn read(local: &Local, files: &Tree) -> Option<Self> {
        let (name, range, is_poetry) = match &local.pyproject {
            Pyproject::Manifest(manifest) => in_pyproject(manifest).or_else(|| of_setuptools(local, files)),
            Pyproject::Absent => of_setuptools(local, files),
            Pyproject::Broken(_) => None,
        }?;
        let alternatives = if is_poetry { poetry(&range) } else { Some(vec![range.parse().ok()?]) }?;
        Some(Self { path: paths::join(&local.path, name), range, alternatives })
    }

    /// The bytes of the range in `text`, the content of the manifest.
    pub fn span(&self, text: &str) -> Range<usize> {
        let in_toml = || KEYS.iter().find_map(|path| pyproject::span(text, path));
        let written = || text.find(&self.range).map(|at| at..at + self.range.len());
        if self.path.ends_with(".toml") { in_toml() } else { written() }.unwrap_or_default()
    }

    /// How a release fits.
    pub fn fit(&self, release: Release) -> Fit {
        let version = Version::new(release);
        let is_above =
            |all: &VersionSpecifiers| all.iter().filter_map(lower_bound).all(|it| it.contains(&version));
        match () {
            () if self.alternatives.iter().any(|it| it.contains(&version)) => Fit::Supported,
            () if self.alternatives.iter().any(is_above) => Fit::AboveRange,
            () => Fit::Refused,
        }
    }

    /// How the release of a series that fits best does.
    pub fn fit_of_series(&self, (major, minor): PythonVersion) -> Fit {
        let mut best = Fit::Refused;
        for patch in PATCHES {
            best = best.min(self.fit([major.into(), minor.into(), patch]));
            if best == Fit::Supported {
                break;
            }
        }
        best
    }
}

/// A file, the range in it, and whether that is a constraint of poetry's.
type Written = (&'static str, String, bool);

/// Metadata in `project` goes before that of a build backend's own.
fn in_pyproject(manifest: &Table) -> Option<Written> {
    let backend = table(manifest, &["build-system"]).and_then(|it| it.get("build-backend"));
    let backend = backend.and_then(Value::as_str).unwrap_or_default();
    let [project, flit, poetry] = KEYS;
    let path = match () {
        () if manifest.contains_key("project") => project,
        () if backend.starts_with("flit") => flit,
        () if backend.starts_with("poetry") => poetry,
        () => return None,
    };
    let (key, parents) = path.split_last()?;
    let range = table(manifest, parents)?.get(*key)?.as_str()?;
    Some(("pyproject.toml", range.to_owned(), path == poetry))
}

fn of_setuptools(local: &Local, files: &Tree) -> Option<Written> {
    if matches!(&local.pyproject, Pyproject::Manifest(it) if it.contains_key("project"))
        || !local.pyproject.is_built_by_setuptools()
    {
        return None;
    }
    let text = |name: &str| files.text(&paths::join(&local.path, name));
    let in_cfg = || setup_cfg::read(&text("setup.cfg")?).ok()?.python_requires;
    let in_setup = || setup_py::setup_call(&text("setup.py")?)?.python_requires;
    let cfg = in_cfg().map(|range| ("setup.cfg", range, false));
    cfg.or_else(|| Some(("setup.py", in_setup()?, false)))
}

/// The least version that a comparison admits, as a comparison.
fn lower_bound(comparison: &VersionSpecifier) -> Option<VersionSpecifier> {
    match comparison.operator() {
        Operator::GreaterThan | Operator::GreaterThanEqual => Some(comparison.clone()),
        Operator::Equal | Operator::EqualStar | Operator::TildeEqual => {
            Some(VersionSpecifier::greater_than_equal_version(comparison.version().clone()))
        }
        _ => None,
    }
}

/// Reads a constraint of poetry's: comparisons, `^`, `~` and `*`, and alternatives between `||`.
fn poetry(text: &str) -> Option<Vec<VersionSpecifiers>> {
    text.split('|').filter(|it| !it.trim().is_empty()).map(poetry_alternative).collect()
}

fn poetry_alternative(text: &str) -> Option<VersionSpecifiers> {
    let mut comparisons: Vec<String> = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        // A space may follow the operator.
        match comparisons.last_mut().filter(|last| last.ends_with(['<', '>', '=', '~', '^', '!'])) {
            Some(last) => last.push_str(part),
            None => comparisons.push(part.to_owned()),
        }
    }
    comparisons.retain(|it| it != "*");
    let all: Option<Vec<String>> = comparisons.iter().map(|it| poetry_comparison(it)).collect();
    match all?.join(",") {
        all if all.is_empty() => Some(VersionSpecifiers::empty()),
        all => all.parse().ok(),
    }
}

/// A comparison of poetry's, as PEP 440 has it.
fn poetry_comparison(text: &str) -> Option<String> {
    let release = |text: &str| Some(Version::from_str(text).ok()?.release().to_vec());
    if let Some(version) = text.strip_prefix('^') {
        return Some(format!(">={version},<{}", release(version)?.first()?.checked_add(1)?));
    }
    match text.strip_prefix('~').filter(|rest| !rest.starts_with('=')) {
        Some(version) => match release(version)?[..] {
            [major] => Some(format!(">={version},<{}", major.checked_add(1)?)),
            [major, minor, ..] => Some(format!(">={version},<{major}.{}", minor.checked_add(1)?)),
            [] => None,
        },
        None if !text.starts_with(|c: char| c.is_ascii_digit()) => Some(text.to_owned()),
        None if text.ends_with(".*") || release(text)?.len() > 2 => Some(format!("=={text}")),
        None => Some(format!("=={text}.*")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    fn read<const N: usize>(files: [(&str, &str); N]) -> Option<RequiresPython> {
        let files = Tree::new(MemoryFiles::new(files));
        RequiresPython::read(&Local::new(None, ".".to_owned(), &files), &files)
    }

    fn poetry_package(range: &str) -> RequiresPython {
        let build = "[build-system]\nbuild-backend = 'poetry.core.masonry.api'";
        let text = format!("{build}\n[tool.poetry.dependencies]\npython = '{range}'");
        read([("pyproject.toml", &text)]).unwrap()
    }

    #[test]
    fn each_build_backend_has_its_own_key() {
        let poetry = "[tool.poetry]\nname = 'x'\n[tool.poetry.dependencies]\npython = '^3.12'";
        let built = format!("[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n{poetry}");
        let both = format!("[project]\nname = 'x'\nrequires-python = '>=3.11'\n{built}");
        let flit = "[build-system]\nbuild-backend = 'flit_core.buildapi'\n\
                    [tool.flit.metadata]\nrequires-python = '>=3.13'";
        let cfg = "[options]\npython_requires = >=3.14\n";
        let setup = "from setuptools import setup\nsetup(name='x', python_requires='>=3.10')\n";
        for (name, text, range) in [
            ("pyproject.toml", "[project]\nrequires-python = '>=3.11,<4.0'", Some(">=3.11,<4.0")),
            ("pyproject.toml", "[project]\nname = 'x'", None),
            ("pyproject.toml", "[project]\nrequires-python = 'three'", None),
            ("pyproject.toml", "[tool.ruff]", None),
            // setuptools builds it, and does not read poetry's tables.
            ("pyproject.toml", poetry, None),
            ("pyproject.toml", &built, Some("^3.12")),
            ("pyproject.toml", &both, Some(">=3.11")),
            ("pyproject.toml", flit, Some(">=3.13")),
            ("setup.cfg", cfg, Some(">=3.14")),
            ("setup.py", setup, Some(">=3.10")),
        ] {
            let found = read([(name, text)]);
            assert_eq!(found.as_ref().map(|it| &*it.range), range, "{text}");
            if let Some(found) = found {
                let quoted = &text[found.span(text)];
                assert_eq!((quoted.trim_matches('\''), &*found.path), (found.range.as_str(), name));
            }
        }
        let beside = read([("pyproject.toml", "[project]\nname = 'x'"), ("setup.cfg", cfg)]);
        assert_eq!(beside, None, "setuptools prefers pyproject.toml");
    }

    #[test]
    fn constraints_of_poetry() {
        for (range, fits) in [
            ("*", [true, true, true, true]),
            ("^3.12", [false, true, true, true]),
            ("~3.12", [false, true, false, false]),
            ("~3", [true, true, true, true]),
            ("3.12", [false, true, false, false]),
            ("3.12.*", [false, true, false, false]),
            ("3.12.1", [false, true, false, false]),
            (">= 3.12, < 3.14", [false, true, true, false]),
            (">=3.12 <3.14", [false, true, true, false]),
            ("~3.11 || ^3.13", [true, false, true, true]),
            ("~=3.12.0", [false, true, false, false]),
        ] {
            let package = poetry_package(range);
            let fit = |minor| package.fit_of_series((3, minor)) == Fit::Supported;
            assert_eq!([11, 12, 13, 14].map(fit), fits, "{range}");
        }
    }

    #[test]
    fn a_constraint_without_a_next_version_is_not_understood() {
        for range in ["^18446744073709551615", "~18446744073709551615", "~3.18446744073709551615"] {
            let text = format!(
                "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n[tool.poetry.dependencies]\npython = '{range}'"
            );
            assert_eq!(read([("pyproject.toml", &text)]), None, "{range}");
        }
    }

    #[test]
    fn only_lower_bounds_are_refused_by_uv() {
        use Fit::{AboveRange, Refused, Supported};
        for (range, fits) in [
            (">=3.12", [Refused, Supported, Supported]),
            (">=3.11,<3.12", [Supported, AboveRange, AboveRange]),
            ("==3.12.*", [Refused, Supported, AboveRange]),
            ("~=3.12.0", [Refused, Supported, AboveRange]),
            ("!=3.12.*", [Supported, AboveRange, Supported]),
            // No image has the first release of a series, nor one that does not exist yet.
            ("<=3.11", [AboveRange; 3]),
            (">=3.11.9", [Supported; 3]),
            ("<3.11.5", [Supported, AboveRange, AboveRange]),
        ] {
            let text = format!("[project]\nrequires-python = '{range}'");
            let package = read([("pyproject.toml", &text)]).unwrap();
            assert_eq!([11, 12, 13].map(|minor| package.fit_of_series((3, minor))), fits, "{range}");
        }
        assert!(AboveRange.is_refused(true) && !AboveRange.is_refused(false) && Refused.is_refused(false));
    }

    #[test]
    fn a_release_is_compared_whole() {
        let package = poetry_package(">=3.12.4");
        assert_eq!([package.fit([3, 12, 3]), package.fit([3, 12, 4])], [Fit::Refused, Fit::Supported]);
    }
}
