//! Requirements in `dependencies`, `requirements.txt` and `pyproject.toml`: are they valid?

use std::ops::Range;

use super::manifests::{MAX_FINDINGS, invalid};
use super::{Context, boundary, entry, written};
use crate::diagnostic::{Diagnostic, Place, Related, Rule, rule};
use crate::files::Files;
use crate::manifests::dependency::{Dependency, Local, LocalKind, classify};
use crate::manifests::requirements_txt::{self, Entry, Kind, Part};
use crate::manifests::{Broken, pyproject, requirement};
use crate::secrecy::urls;
use crate::words::similar;
use crate::{manifests, paths, server};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&ABSOLUTE_INCLUDE, &INVALID_REQUIREMENT, &INVALID_REQUIREMENTS_FILE];

/// The help if there is none for the very mistake.
const FORM: &str = "write a package name with optional versions, such as `langchain>=0.3,<1`";

pub(super) fn check(context: &mut Context<'_>) {
    for (index, text) in context.config.entries() {
        let Dependency::Package(text) = classify(text, context.files) else { continue };
        let Err(broken) = requirement::read(&text) else { continue };
        let broken = option(&text).unwrap_or(broken);
        // The text is not quoted, since it may contain a URL with a password.
        let message = format!("invalid requirement: {}", broken.message);
        let diagnostic =
            Diagnostic::new(&INVALID_REQUIREMENT, Place::Within(entry(index), broken.span), message);
        let help = broken.help.unwrap_or_else(|| format!("{FORM}, or the path of a directory"));
        context.report(diagnostic.help(help));
    }
    for local in context.installed_directories() {
        let found = match local.kind {
            LocalKind::Package | LocalKind::Virtual => in_pyproject(context, &local),
            LocalKind::Flat | LocalKind::Plain => in_requirements_txt(context, &local),
        };
        found.into_iter().for_each(|diagnostic| context.report(diagnostic));
    }
}

/// The error about an installer's command-line option.
fn option(text: &str) -> Option<Broken> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(trimmed.len());
    let option = trimmed.get(..end).filter(|it| it.starts_with('-'))?;
    let help = match option {
        "-r" | "--requirement" => "list the directory of the requirements.txt, such as `.`",
        "-e" | "--editable" => "write the path of the directory only, such as `./libs/shared`",
        "-i" | "--index-url" | "--extra-index-url" | "-f" | "--find-links" | "--trusted-host"
        | "--no-index" => "put it in a pip configuration file, and set `pip_config_file` to its path",
        "-c" | "--constraint" => {
            "write the version bounds after the packages, or in a requirements.txt or pyproject.toml"
        }
        "--pre" => "require the pre-release by its version, such as `langchain>=1.0rc1`",
        _ => "write package names and directories only",
    };
    let start = text.len() - text.trim_start().len();
    Some(Broken {
        message: format!("`{option}` is an option of an installer"),
        span: start..start + option.len(),
        help: Some(help.to_owned()),
    })
}

/// Errors in the `project.dependencies` of a local package.
fn in_pyproject(context: &Context<'_>, local: &Local) -> Vec<Diagnostic> {
    let path = paths::join(&local.path, "pyproject.toml");
    let Some(mut requirements) = local.pyproject.requirements() else { return Vec::new() };
    // Build backends may substitute variables.
    let is_invalid = |it: &&str| !it.contains('{') && requirement::read(it).is_err();
    if !requirements.any(|it| is_invalid(&it)) {
        return Vec::new();
    }
    let text = manifests::excerpt(&path, context.files);
    let all = pyproject::dependencies(&text).into_iter().filter(|(it, _)| is_invalid(&it.as_str()));
    let finding = |(it, span): (String, Range<usize>)| {
        let broken = requirement::read(&it).err()?;
        let quoted = &text[span.clone()];
        let at = quoted.find(&*it).map(|at| span.start + at);
        let part = at.map_or(span, |at| at + broken.span.start..at + broken.span.end);
        Some(invalid_requirement(local, Related::new(&path, &text, part, broken.message), broken.help))
    };
    all.filter_map(finding).take(MAX_FINDINGS).collect()
}

fn invalid_requirement(local: &Local, related: Related, help: Option<String>) -> Diagnostic {
    let message = format!("`{}` contains an invalid requirement", written(&related.path));
    Diagnostic::new(&INVALID_REQUIREMENT, Place::Value(entry(local.index)), message)
        .mistake(related)
        .help(help.unwrap_or_else(|| FORM.to_owned()))
}

/// Errors in the requirements.txt of a local directory and in the files that it includes.
fn in_requirements_txt(context: &Context<'_>, local: &Local) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for part in requirements_txt::parts(&local.path, context.files) {
        match &part.entries {
            Ok(entries) => {
                let masked = urls::masked(&part.text);
                let findings =
                    entries.iter().filter_map(|item| in_entry(context, local, &part, &masked, item));
                found.extend(findings.take(MAX_FINDINGS));
            }
            Err(broken) => {
                let place = Place::Value(entry(local.index));
                let diagnostic =
                    invalid(context, &INVALID_REQUIREMENTS_FILE, place, &part.path, broken.clone());
                found.push(diagnostic.help("save the file as UTF-8"));
            }
        }
    }
    found
}

/// The error in an entry of `part`, whose text is shown as `masked`.
fn in_entry(
    context: &Context<'_>,
    local: &Local,
    part: &Part,
    masked: &str,
    item: &Entry,
) -> Option<Diagnostic> {
    let line = item.line.clone();
    let (label, help) = match &item.kind {
        // Installers substitute environment variables.
        Kind::Requirement(requirement) if !requirement.contains("${") => {
            let broken = requirement::read(requirement).err()?;
            // The requirement is not in one piece if the line is continued.
            let start = part.text[line.clone()].find(&**requirement).map(|at| line.start + at);
            let span = start.map_or(line, |start| start + broken.span.start..start + broken.span.end);
            let related = Related::new(&part.path, masked, span, broken.message);
            return Some(invalid_requirement(local, related, broken.help));
        }
        Kind::Include(path) | Kind::Constraint(path) if !path.contains('$') => {
            let included = requirements_txt::included(&part.path, item)?;
            let (diagnostic, label) = not_included(context, local, part, &included)?;
            return Some(diagnostic.related(Related::new(&part.path, masked, line, label)));
        }
        Kind::Unknown(option) => {
            let known = similar(option, requirements_txt::options());
            let help = known.map_or("remove it".to_owned(), |known| format!("did you mean `{known}`?"));
            (format!("installers do not know the option `{option}`"), help)
        }
        _ => return None,
    };
    let message = format!("`{}` is invalid", written(&part.path));
    Some(
        Diagnostic::new(&INVALID_REQUIREMENTS_FILE, Place::Value(entry(local.index)), message)
            .related(Related::new(&part.path, masked, line, label))
            .help(help),
    )
}

/// The finding about the file at `included`, and a label for the line that includes it, if it is not read.
fn not_included(
    context: &Context<'_>,
    local: &Local,
    part: &Part,
    included: &str,
) -> Option<(Diagnostic, String)> {
    let (place, shown) = (Place::Value(entry(local.index)), written(included));
    if included.starts_with('/') {
        let message = format!("`{}` includes a file by an absolute path", written(&part.path));
        let diagnostic = Diagnostic::new(&ABSOLUTE_INCLUDE, place, message)
            .help("write a path relative to the file, unless the base image has the file");
        let is_meant = included == server::CONSTRAINTS;
        return (!is_meant)
            .then(|| (diagnostic, format!("`{shown}` is not read, and is not part of the image")));
    }
    if context.files.is_file(included) || context.was_refused(included) {
        return None;
    }
    if let Some(refusal) = context.files.refusal(included) {
        return Some((boundary::diagnostic(place, &shown, refusal), "included here".to_owned()));
    }
    let message = format!("`{}` is invalid", written(&part.path));
    let diagnostic = Diagnostic::new(&INVALID_REQUIREMENTS_FILE, place, message)
        .help("paths are relative to the file that includes them");
    Some((diagnostic, format!("there is no file `{shown}`")))
}

static ABSOLUTE_INCLUDE: Rule = rule!("absolute-include");

static INVALID_REQUIREMENT: Rule = rule!("invalid-requirement");

static INVALID_REQUIREMENTS_FILE: Rule = rule!("invalid-requirements-file");
