//! Passwords and tokens in the URLs of dependencies. No message may repeat what was found.

use super::{Context, entry, written};
use crate::compiler::manifests::dependency::{Dependency, classify};
use crate::compiler::manifests::requirements_txt;
use crate::compiler::{paths, urls};
use crate::diagnostic::{Diagnostic, Place, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&CREDENTIALS_IN_URL];

pub(super) fn check(context: &mut Context<'_>) {
    for (index, text) in context.config.entries() {
        let place = Place::Value(entry(index));
        match classify(text, context.files) {
            Dependency::Package(text) if holds_secret(&text) => {
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
        for (number, _) in lines.filter(|(_, line)| holds_secret(line)) {
            let name = written(&file);
            let message = format!("a URL in line {} of `{name}` holds a password or token", number + 1);
            report(context, place.clone(), message);
        }
    }
}

fn holds_secret(text: &str) -> bool {
    !urls::userinfo(text).is_empty()
}

pub(super) static CREDENTIALS_IN_URL: Rule = Rule {
    code: "credentials-in-url",
    severity: Severity::Error,
    summary: "a password or token in the URL of a dependency",
    why: "The URL would be written into the layers and the history of the image, where everybody who can pull the \
          image can read it. A pip configuration file reaches the installation without becoming part of the image.",
    wrong: r#"{ "dependencies": [".", "shared @ git+https://me:secret@example.com/shared.git"] }"#,
    right: r#"{ "dependencies": [".", "shared @ git+https://example.com/shared.git"], "pip_config_file": "./pip.conf" }"#,
};
