//! `dependencies`: is each package written as PEP 508 says?

use super::{Context, entry};
use crate::compiler::manifests::dependency::{Dependency, classify};
use crate::compiler::manifests::requirement::{self, Fault};
use crate::diagnostic::{Diagnostic, Place, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&INVALID_REQUIREMENT];

pub(super) fn check(context: &mut Context<'_>) {
    for (index, text) in context.config.entries() {
        let Dependency::Package(text) = classify(text, context.files) else { continue };
        let Err(fault) = requirement::parse(&text) else { continue };
        let fault = option(&text).unwrap_or(fault);
        // The text is not repeated: it may hold a URL with a password in it.
        let message = format!("this requirement {}", fault.message);
        let diagnostic =
            Diagnostic::new(&INVALID_REQUIREMENT, Place::Within(entry(index), fault.part), message);
        context.report(diagnostic.help(fault.help.unwrap_or_else(|| {
            "write a package name with optional versions, such as `langchain>=0.3,<1`, or the path of a directory"
                .to_owned()
        })));
    }
}

/// What to do instead of an option that belongs to the command line of an installer.
fn option(text: &str) -> Option<Fault> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(trimmed.len());
    let option = trimmed.get(..end).filter(|it| it.starts_with('-'))?;
    let help = match option {
        "-r" | "--requirement" => "name the directory that holds the requirements.txt, such as `.`",
        "-e" | "--editable" => "write the path of the directory alone, such as `./libs/shared`",
        "-i" | "--index-url" | "--extra-index-url" | "-f" | "--find-links" | "--trusted-host"
        | "--no-index" => "put it in a pip configuration file and name that in `pip_config_file`",
        "-c" | "--constraint" => {
            "write the bounds behind the packages, or in a requirements.txt or pyproject.toml"
        }
        "--pre" => "ask for the pre-release by its version, such as `langchain>=1.0rc1`",
        _ => "write package names and directories only",
    };
    let start = text.len() - text.trim_start().len();
    Some(Fault {
        message: format!("is the option `{option}` of an installer"),
        part: start..start + option.len(),
        help: Some(help.to_owned()),
    })
}

static INVALID_REQUIREMENT: Rule = Rule {
    code: "invalid-requirement",
    severity: Severity::Error,
    summary: "a package that is not written as PEP 508 says",
    why: "A package is a name, and behind it extras in brackets, versions, a URL or a condition. Installers refuse \
          anything else, and options of their command line have their place elsewhere.",
    wrong: r#"{ "dependencies": [".", "langchain=0.3", "-r requirements.txt"] }"#,
    right: r#"{ "dependencies": [".", "langchain==0.3.*"] }"#,
};
