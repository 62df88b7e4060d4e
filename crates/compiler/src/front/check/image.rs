//! `base_image`, the keys that its tag is made of, and `dockerfile_lines`.

use std::ops::Range;

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};
use crate::files::Files;
use crate::front::base_image::base_image;
use crate::manifests::dockerfile::{self, Instruction, Unfinished};
use crate::manifests::image_name::ImageName;
use crate::words::similar;
use crate::{paths, server};

/// Rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &INVALID_BASE_IMAGE,
    &NO_EFFECT_ON_IMAGE,
    &OUTER_DIRECTORY,
    &SOURCE_OUTSIDE_CONTEXT,
    &UNFINISHED_DOCKERFILE_LINE,
    &UNKNOWN_INSTRUCTION,
];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    match config.base_image.as_deref().map(|image| (image, ImageName::parse(image))) {
        Some((image, Err(why))) => {
            let place = Place::Value(Pointer::parse("/base_image"));
            let message = format!("`{}` is not an image name: {why}", image.escape_debug());
            let help = "write it as `registry/repository:tag`, without spaces or variables";
            context.report(Diagnostic::new(&INVALID_BASE_IMAGE, place, message).help(help));
        }
        _ => check_effect(context),
    }
    let lines = config.dockerfile_lines.as_deref().unwrap_or_default();
    for (index, line) in lines.iter().enumerate() {
        if let Some(part) = outer_directory(line) {
            let message =
                format!("images of this tool have no directory `{}`", line[part.clone()].escape_debug());
            let place = Place::Within(Pointer::parse("/dockerfile_lines").join(index), part);
            context.report(Diagnostic::new(&OUTER_DIRECTORY, place, message).help(own_directory()));
        }
    }
    match dockerfile::instructions(lines) {
        Ok(instructions) => {
            let unreachable = instructions.iter().flat_map(|it| unreachable_sources(context, it));
            let found: Vec<_> = unreachable.chain(instructions.iter().filter_map(unknown)).collect();
            found.into_iter().for_each(|diagnostic| context.report(diagnostic));
        }
        Err(unfinished) => context.report(unfinished_line(&unfinished)),
    }
}

/// The part of `text` that is a directory which only images of the server's own tool have.
pub(super) fn outer_directory(text: &str) -> Option<Range<usize>> {
    let start = server::OUTER_DIRECTORIES.iter().find_map(|start| text.find(start))?;
    let ends = |c: char| c.is_whitespace() || ":;,\"'`$)]}&|<>=*".contains(c);
    let length = text[start..].find(ends).unwrap_or(text.len() - start);
    Some(start..start + length)
}

/// How to write it.
pub(super) fn own_directory() -> String {
    format!("write a path below `{}`, where the project is, or a relative one", server::PROJECT)
}

/// Reports the sources of a `COPY` or `ADD` that lead out of the build context: engines cut `..` off at its root.
fn unreachable_sources(context: &Context<'_>, instruction: &Instruction) -> Vec<Diagnostic> {
    let place = Place::Value(Pointer::parse("/dockerfile_lines").join(instruction.line));
    let leads_out = |path: &String| paths::normalize(path).split('/').any(|part| part == "..");
    let is_there = |path: &String| {
        let path = paths::normalize(path);
        let rest = path.trim_start_matches("../").trim_start_matches("..");
        let roots = context_roots(context);
        roots.iter().any(|root| context.files.kind(&paths::normalize(&paths::join(root, rest))).is_some())
    };
    let sources = instruction.sources().into_iter().filter(|path| leads_out(path) && !is_there(path));
    let diagnostic = |path: String| {
        let message = format!("`{}` is outside of the build context", path.escape_debug());
        let help = "put it below the directory of the configuration, or list its directory in `dependencies`";
        Diagnostic::new(&SOURCE_OUTSIDE_CONTEXT, place.clone(), message).help(help)
    };
    sources.map(diagnostic).collect()
}

/// Reports an instruction that BuildKit does not know. Its keyword ends at white space of ASCII.
fn unknown(instruction: &Instruction) -> Option<Diagnostic> {
    let keyword = instruction.text.split(['\t', '\u{b}', '\u{c}', '\r', ' ']).next().unwrap_or_default();
    let is_known = INSTRUCTIONS.iter().any(|known| keyword.eq_ignore_ascii_case(known));
    let place = Place::Value(Pointer::parse("/dockerfile_lines").join(instruction.line));
    let message = format!("`{}` is not an instruction of a Dockerfile", keyword.escape_debug());
    let found = Diagnostic::new(&UNKNOWN_INSTRUCTION, place, message);
    let close = similar(&keyword.to_ascii_uppercase(), INSTRUCTIONS.iter().copied());
    let help = close
        .map_or("start the line with `RUN`, or continue the line above with a `\\`".to_owned(), |close| {
            format!("did you mean `{close}`?")
        });
    (!is_known).then(|| found.help(help))
}

/// The directories that may be the root of the build context: that of the configuration, or one above it that local
/// dependencies or a workspace need.
fn context_roots(context: &Context<'_>) -> Vec<String> {
    let levels = if context.config.has_javascript() || context.config.source.is_some() {
        context.files.directory().len()
    } else {
        context.all_locals.iter().map(|local| paths::levels_up(&local.path)).max().unwrap_or(0)
    };
    (0..=levels).map(|level| paths::normalize(&vec![".."; level].join("/"))).collect()
}

fn check_effect(context: &mut Context<'_>) {
    for (key, why) in base_image(context.config).unused {
        let message = format!("`{key}` does not change the image: {why}");
        let place = Place::Key(Pointer::root().join(key));
        context.report(Diagnostic::new(&NO_EFFECT_ON_IMAGE, place, message).help("keep one of the two"));
    }
}

fn unfinished_line(unfinished: &Unfinished) -> Diagnostic {
    let place = Place::Value(Pointer::parse("/dockerfile_lines").join(unfinished.line));
    let (message, help) = match &unfinished.heredoc {
        Some(delimiter) => {
            let delimiter = delimiter.escape_debug();
            (
                format!("the here-document is not closed by `{delimiter}`"),
                format!("add a line `{delimiter}` after it"),
            )
        }
        None => {
            let message = "the instruction continues after the last of `dockerfile_lines`";
            (message.to_owned(), r"remove the `\`, or add the line that completes the instruction".to_owned())
        }
    };
    Diagnostic::new(&UNFINISHED_DOCKERFILE_LINE, place, message).help(help)
}

static INVALID_BASE_IMAGE: Rule = rule!("invalid-base-image");

static NO_EFFECT_ON_IMAGE: Rule = rule!("no-effect-on-image");

pub(super) static OUTER_DIRECTORY: Rule = rule!("outer-directory");

static SOURCE_OUTSIDE_CONTEXT: Rule = rule!("source-outside-context");

static UNKNOWN_INSTRUCTION: Rule = rule!("unknown-instruction");

/// The instructions of a Dockerfile.
const INSTRUCTIONS: &[&str] = &[
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

static UNFINISHED_DOCKERFILE_LINE: Rule = rule!("unfinished-dockerfile-line");
