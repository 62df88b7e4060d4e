//! `.dockerignore`: does it exclude files that the image needs?

use std::collections::HashSet;

use super::references::built;
use super::{Context, entry, locations, manifests, modules, written};
use crate::diagnostic::{Diagnostic, Place, Related, Rule, rule};
use crate::files::Files;
use crate::front::reference::Reference;
use crate::manifests::dependency::{Local, LocalKind};
use crate::manifests::dockerignore::{Ignore, IgnoreError, secret_exception};
use crate::manifests::{package, requirements_txt};
use crate::paths;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&IGNORED_FILE, &INVALID_DOCKERIGNORE, &CREDENTIALS_IN_IMAGE];

/// The most lines of all ignore files together: a limit that leaves the plan room for lines of its own.
const MAX_LINES: usize = 9_000;

/// An ignore file that applies.
struct Source {
    /// Its path.
    file: String,
    /// The directory that its patterns are relative to, relative to the file system's root.
    directory: String,
    text: String,
}

/// All ignore files as one in the file system's root: a later pattern may undo an earlier one.
struct Rules {
    sources: Vec<Source>,
    all: Ignore,
}

pub(super) fn check(context: &mut Context<'_>) {
    if !may_have_rules(context) {
        return;
    }
    let needed = needed(context);
    let Some(rules) = read(context, &needed) else { return };
    let mut lost: Vec<String> = Vec::new();
    for (place, path) in needed {
        // The files in an excluded directory were reported with it.
        if lost.iter().any(|directory| paths::lies_in(&path, directory)) {
            continue;
        }
        let Some(diagnostic) = check_path(context, &rules, place, &path) else { continue };
        context.report(diagnostic);
        lost.push(path);
    }
}

/// Whether there is an ignore file at all: finding the needed files is slow, and most projects have none.
fn may_have_rules(context: &Context<'_>) -> bool {
    let files = context.files;
    // Above a directory that is none of the project's, there is no other.
    let above = (0..=files.directory().len()).map(|up| paths::normalize(&"../".repeat(up)));
    let above = above.take_while(|directory| files.is_directory(directory));
    let below = context.all_locals.iter().map(|local| local.path.clone());
    above.chain(below).any(|directory| files.is_file(&paths::join(&directory, ".dockerignore")))
}

/// The ignore files of the context's root, the project and each dependency, if there are any.
fn read(context: &mut Context<'_>, needed: &[(Place, String)]) -> Option<Rules> {
    let mut sources: Vec<Source> = Vec::new();
    let mut combined = String::new();
    let mut count = 0;
    let mut seen = HashSet::new();
    for (place, directory) in ignore_directories(context, needed) {
        let file = paths::join(&directory, ".dockerignore");
        if !seen.insert(file.clone()) {
            continue;
        }
        let Some(text) = context.files.text(&file) else { continue };
        // Those of the plan are more than these by less than a tenth.
        count += text.lines().count();
        let parsed = Ignore::parse(&text).and_then(|rules| match count {
            0..=MAX_LINES => Ok(rules),
            _ => Err(IgnoreError {
                line: 1,
                pattern: String::new(),
                reason: format!("with the others, it has more than {MAX_LINES} lines"),
            }),
        });
        match parsed {
            Ok(_) => {
                check_exceptions(context, &place, &directory, &text);
                let directory = absolute(context, &directory)?;
                combined.push_str(&Ignore::rebased(&text, &directory));
                sources.push(Source { file, directory, text });
            }
            Err(error) => {
                let start = text.split_inclusive('\n').take(error.line - 1).map(str::len).sum::<usize>();
                let start = start + text[start..].find(&error.pattern).unwrap_or_default();
                let span = start..start + error.pattern.len();
                context.report(
                    Diagnostic::new(&INVALID_DOCKERIGNORE, place, format!("`{}` is invalid", written(&file)))
                        .related(Related::new(&file, &text, span, error.reason))
                        .help("fix or remove the line"),
                );
            }
        }
    }
    let all = Ignore::parse(&combined).ok().filter(|_| !sources.is_empty())?;
    Some(Rules { sources, all })
}

/// Reports exceptions of the .dockerignore in `directory` that include files with credentials.
fn check_exceptions(context: &mut Context<'_>, place: &Place, directory: &str, text: &str) {
    let file = paths::join(directory, ".dockerignore");
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let Some(pattern) = secret_exception(line) else { continue };
        let path = paths::join(directory, &pattern);
        if context.files.text(&path).is_some_and(|text| is_certificate(&text)) {
            continue;
        }
        if pattern.contains(['*', '?']) || context.files.kind(&path).is_some() {
            let written_line = line.trim();
            let at = at + line.find(written_line).unwrap_or_default();
            let message = format!("`{written_line}` in `{}` puts credentials into the image", written(&file));
            context.report(
                Diagnostic::new(&CREDENTIALS_IN_IMAGE, place.clone(), message)
                    .related(Related::new(&file, text, at..at + written_line.len(), "includes them again"))
                    .help("remove the line; pass secrets with `env`, or with `--secret` while the image is built"),
            );
        }
    }
}

/// Whether a PEM file has certificates and nothing else: they are public.
fn is_certificate(text: &str) -> bool {
    let mut blocks = text.lines().filter_map(|line| line.trim().strip_prefix("-----BEGIN ")).peekable();
    blocks.peek().is_some() && blocks.all(|block| block == "CERTIFICATE-----")
}

fn ignore_directories(context: &Context<'_>, needed: &[(Place, String)]) -> Vec<(Place, String)> {
    let locals = context.directories();
    let up = needed.iter().map(|(_, path)| paths::levels_up(path)).max().unwrap_or_default();
    let root = (Place::File, paths::normalize(&"../".repeat(up)));
    let own = locals.iter().map(|local| (Place::Value(entry(local.index)), local.path.clone()));
    [root, (Place::File, ".".to_owned())].into_iter().chain(own).collect()
}

/// `path`, given relative to the configuration's directory, relative to the file system's root.
fn absolute(context: &Context<'_>, path: &str) -> Option<String> {
    let whole = paths::normalize(&format!("{}/{path}", context.files.directory().join("/")));
    let whole = whole.trim_start_matches('/').to_owned();
    (!whole.starts_with("..")).then_some(whole)
}

/// The paths that the image needs, each with its place in the configuration; directories before their content.
fn needed(context: &Context<'_>) -> Vec<(Place, String)> {
    let mut found: Vec<(Place, String)> = Vec::new();
    let locals = context.directories();
    found.extend(locals.iter().map(|local| (Place::Value(entry(local.index)), local.path.clone())));
    found.extend(context.archives.iter().map(|it| (Place::Value(entry(it.index)), it.path.clone())));
    for local in &context.installed_directories() {
        let manifests = read_by_installation(context, local).into_iter();
        found.extend(manifests.map(|path| (Place::Value(entry(local.index)), path)));
    }
    if context.config.has_javascript()
        && let Some(Ok(installation)) = context.installation()
    {
        let manifests = installation.required.into_iter();
        found.extend(manifests.map(|path| (manifests::project(context), path)));
    }
    for located in context.references.iter() {
        let part = located.path_part();
        let path = match located.parse() {
            _ if !locations::is_usable(context, &located.text[part.clone()]) => None,
            Ok(Reference::File { path, .. }) => Some(path),
            Ok(Reference::Module { module, .. }) => modules::resolve(context, &module),
            Err(_) => None,
        };
        let path = path.filter(|path| context.files.is_file(path));
        found.extend(path.map(|path| (Place::Within(located.pointer.clone(), part), path)));
    }
    found
}

/// The files that an installation of a directory reads.
fn read_by_installation(context: &Context<'_>, local: &Local) -> Vec<String> {
    let mut found = match local.kind {
        LocalKind::Package | LocalKind::Virtual => package::read_by_installation(local, context.files),
        LocalKind::Flat | LocalKind::Plain => {
            requirements_txt::find(&local.path, context.files).map_or_else(Vec::new, |it| it.files.clone())
        }
    };
    if !context.config.uses_pip() && !found.is_empty() {
        let settings = package::uv_settings_for(&local.path, context.files);
        found.extend(settings.into_iter().flat_map(|settings| settings.manifests));
    }
    found
}

fn check_path(context: &Context<'_>, rules: &Rules, place: Place, path: &str) -> Option<Diagnostic> {
    let whole = absolute(context, path)?;
    let directory = context.files.is_directory(path);
    if !rules.all.excludes(&whole) || (directory && rules.all.may_include_below(&whole)) {
        return None;
    }
    let message = match culprit(rules, &whole) {
        Some((file, pattern)) => {
            format!("`{}` is excluded from the image by `{pattern}` in `{}`", written(path), written(&file))
        }
        None => format!("`{}` is excluded from the image by a .dockerignore", written(path)),
    };
    let exception = exception(rules, &whole).unwrap_or_else(|| path.to_owned());
    let help = format!("remove the pattern, or add `!{exception}` after it");
    if matches!(place, Place::Within(..)) && built::may_be_built(context, path) {
        let help =
            format!("{help}; or pass the command that builds the file in the image with `--build-command`");
        return Some(Diagnostic::new(&built::REFERENCE_NOT_BUILT, place, message).help(help));
    }
    Some(Diagnostic::new(&IGNORED_FILE, place, message).help(help))
}

/// The file and the text of the last pattern that excludes `path` by itself.
fn culprit(rules: &Rules, path: &str) -> Option<(String, String)> {
    rules.sources.iter().rev().find_map(|source| {
        let pattern = source.text.lines().rev().find(|line| matches(source, line, path))?;
        Some((source.file.clone(), pattern.trim().to_owned()))
    })
}

fn matches(source: &Source, line: &str, path: &str) -> bool {
    let pattern = Ignore::rebased(line, &source.directory);
    Ignore::parse(&pattern).is_ok_and(|ignore| ignore.excludes(path))
}

/// The path to write in an exception for `path` in the file that excludes it.
fn exception(rules: &Rules, path: &str) -> Option<String> {
    let (file, _) = culprit(rules, path)?;
    let source = rules.sources.iter().find(|source| source.file == file)?;
    paths::below(path, if source.directory.is_empty() { "." } else { &source.directory }).map(str::to_owned)
}

static IGNORED_FILE: Rule = rule!("ignored-file");

static INVALID_DOCKERIGNORE: Rule = rule!("invalid-dockerignore");

static CREDENTIALS_IN_IMAGE: Rule = rule!("credentials-in-image");
