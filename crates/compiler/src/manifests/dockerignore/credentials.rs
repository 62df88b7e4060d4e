//! Files that hold credentials, which no build context and no archive has unless a .dockerignore names them.

use std::sync::LazyLock;

use super::{Ignore, normalised};

/// Patterns of files and directories that hold credentials. `.git` has the addresses of remotes, and everything that was ever
/// committed.
pub const CREDENTIALS: &[&str] = &[
    "**/.git",
    "**/*.env",
    "**/.env.*",
    "**/.envrc",
    "**/.netrc",
    "**/_netrc",
    "**/.pypirc",
    "**/.npmrc",
    "**/.yarnrc.yml",
    "**/.git-credentials",
    "**/.aws",
    "**/.ssh",
    "**/.gnupg",
    "**/.kube",
    "**/.docker/config.json",
    "**/.config/gcloud",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ed25519",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
];

/// Endings of files that show what another file looks like, without its secrets.
const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist"];

static RULES: LazyLock<Ignore> = LazyLock::new(|| Ignore::parse(&CREDENTIALS.join("\n")).unwrap_or_default());

/// Whether one of [`CREDENTIALS`] matches `path`, or a directory above it.
pub fn is_credential(path: &str) -> bool {
    RULES.excludes(path)
}

/// The lines of a project's .dockerignore that still apply after [`CREDENTIALS`]: exceptions that name such files, and the
/// exclusions after the first of them. `!*` and `!src` name none.
pub fn naming_credentials(lines: &[String]) -> impl Iterator<Item = String> {
    let names = |line: &String| named(line).is_some();
    let rest = lines.iter().skip_while(move |line| !names(line));
    rest.filter(move |line| !line.starts_with('!') || names(line)).cloned()
}

/// The pattern of an exception that includes files with secrets again; none for examples of them.
pub fn secret_exception(line: &str) -> Option<String> {
    named(line).filter(|pattern| !EXAMPLES.iter().any(|ending| pattern.ends_with(ending)))
}

/// The pattern of an exception that names credentials: read as a path, it is one of them. Brackets and escapes may match
/// something else than they read.
fn named(line: &str) -> Option<String> {
    let pattern = normalised(line)?.strip_prefix('!')?.trim_start_matches('/').to_owned();
    (is_credential(&pattern) && !pattern.contains(['[', '\\'])).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_include_credentials_by_name_alone() {
        for (line, expected) in [
            ("!.env", true),
            ("! ./sub/.env", true),
            ("!/.env.example", true),
            ("!**/.env", true),
            ("!certs/*.pem", true),
            ("!.ssh/config", true),
            ("!.git", true),
            ("!.git/HEAD", true),
            ("!*", false),
            ("!**", false),
            ("!.*", false),
            ("!src", false),
            ("!sub/**", false),
            ("!.e*", false),
            ("!*.p?m", false),
            ("!x.pem/../**", false),
            ("![x.pem/]*", false),
            ("!\\x.pem", false),
            ("!./x/../x.pem", true),
            ("!", false),
            (".env", false),
            ("#!.env", false),
        ] {
            assert_eq!(named(line).is_some(), expected, "{line}");
        }
        let lines = ["a", "!src", "!x.pem", "y.pem", "!*", "x.pem"].map(str::to_owned);
        assert_eq!(naming_credentials(&lines).collect::<Vec<_>>(), ["!x.pem", "y.pem", "x.pem"]);
        assert!(
            secret_exception("!.env.example").is_none()
                && secret_exception("!.env.prod").as_deref() == Some(".env.prod")
        );
    }
}
