//! Passwords and tokens in the URLs of dependencies. No message may repeat what was found.

use std::borrow::Cow;

use super::{Context, entry, written};
use crate::compiler::manifests::dependency::{Dependency, classify};
use crate::compiler::manifests::requirements_txt;
use crate::compiler::paths;
use crate::diagnostic::{Diagnostic, Place, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&CREDENTIALS_IN_URL];

/// How tokens of the well-known hosts start.
const TOKENS: &[&str] =
    &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "pypi-", "ATBB"];

pub(super) fn check(context: &mut Context<'_>) {
    for (index, text) in context.config.entries() {
        let place = Place::Value(entry(index));
        match classify(text, context.files) {
            Dependency::Package(text) if has_credentials(&text) => {
                report(context, place, "a URL in this entry holds a password or token".to_owned());
            }
            Dependency::Package(_) => {}
            Dependency::Local { path } => check_manifests(context, &place, &path),
        }
    }
}

fn report(context: &mut Context<'_>, place: Place, message: String) {
    context.report(
        Diagnostic::new(&CREDENTIALS_IN_URL, place, message)
            .help("revoke it, and give the credentials in the file that `pip_config_file` names instead"),
    );
}

/// Looks into the manifests of the directory at `path`, and into what its requirements.txt includes.
fn check_manifests(context: &mut Context<'_>, place: &Place, path: &str) {
    let requirements = requirements_txt::read(path, context.files).map(|it| it.files).unwrap_or_default();
    for file in requirements.into_iter().chain([paths::join(path, "pyproject.toml")]) {
        let Some(text) = context.files.text(&file) else { continue };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
        for (number, _) in lines.filter(|(_, line)| has_credentials(line)) {
            let name = written(&file);
            let message = format!("a URL in line {} of `{name}` holds a password or token", number + 1);
            report(context, place.clone(), message);
        }
    }
}

/// Whether a URL in `text` names a user with a password, or a token as its user.
fn has_credentials(text: &str) -> bool {
    text.match_indices("://").any(|(at, separator)| {
        let rest = &text[at + separator.len()..];
        let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c)).unwrap_or(rest.len());
        rest[..end].rsplit_once('@').is_some_and(|(user, _)| is_secret(user))
    })
}

/// `text` without the passwords and tokens of its URLs, for messages and excerpts; as long as before. URLs whose
/// slashes are escaped for JSON count, too.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for separator in ["://", r":\/\/"] {
        let starts: Vec<usize> = text.match_indices(separator).map(|(at, it)| at + it.len()).collect();
        for start in starts {
            let rest = &text[start..];
            let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>`".contains(c)).unwrap_or(rest.len());
            let Some((user, _)) = rest[..end].rsplit_once('@').filter(|(user, _)| is_secret(user)) else {
                continue;
            };
            let range = start..start + user.len();
            text.to_mut().replace_range(range.clone(), &"*".repeat(range.len()));
        }
    }
    text
}

fn is_secret(user: &str) -> bool {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    // Plain user names are common: `git`, or the organisation. Tokens are long, or tell by how they start.
    let token = name.len() >= 20 || TOKENS.iter().any(|start| name.starts_with(start));
    (!password.is_empty() && !is_variable(password)) || (token && !is_variable(name))
}

/// Installers put the environment's value in for `${NAME}`.
fn is_variable(text: &str) -> bool {
    text.strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| !name.contains(['$', '{', '}']))
}

static CREDENTIALS_IN_URL: Rule = Rule {
    code: "credentials-in-url",
    severity: Severity::Error,
    summary: "a password or token in the URL of a dependency",
    why: "The URL would be written into the layers and the history of the image, where everybody who can pull the \
          image can read it. A pip configuration file reaches the installation without becoming part of the image.",
    wrong: r#"{ "dependencies": [".", "shared @ git+https://me:secret@example.com/shared.git"] }"#,
    right: r#"{ "dependencies": [".", "shared @ git+https://example.com/shared.git"], "pip_config_file": "./pip.conf" }"#,
};

#[cfg(test)]
mod tests {
    #[test]
    fn passwords_and_tokens_are_masked() {
        for (text, shown) in [
            ("a @ https://me:hunter2@x.y/z", "a @ https://**********@x.y/z"),
            (r"https:\/\/me:hunter2@x.y, https://é:p@x", r"https:\/\/**********@x.y, https://****@x"),
            ("git+https://ghp_abc@x/y", "git+https://*******@x/y"),
            ("git+ssh://git@x/y https://${U}:${P}@x a:b@c", "git+ssh://git@x/y https://${U}:${P}@x a:b@c"),
        ] {
            assert_eq!(super::masked(text), shown);
        }
    }
}
