//! `base_image`, the keys that its tag is made of, and `dockerfile_lines`.

use super::Context;
use crate::compiler::front::base_image::base_image;
use crate::compiler::manifests::dockerfile::{self, Unfinished};
use crate::compiler::manifests::image_name::ImageName;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// Rules of this check.
pub(super) const RULES: &[&Rule] = &[&INVALID_BASE_IMAGE, &NO_EFFECT_ON_IMAGE, &UNFINISHED_DOCKERFILE_LINE];

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
    if let Err(unfinished) = dockerfile::instructions(lines) {
        context.report(unfinished_line(&unfinished));
    }
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

static INVALID_BASE_IMAGE: Rule = Rule {
    code: "invalid-base-image",
    severity: Severity::Error,
    summary: "`base_image` is not an image name",
    why: "The name is written to the FROM line of the Dockerfile. The engine refuses names with spaces, variables, an \
          uppercase repository, or more than one tag.",
    wrong: r#"{ "base_image": "my image:$TAG" }"#,
    right: r#"{ "base_image": "registry.example/my-image:1.0" }"#,
};

static NO_EFFECT_ON_IMAGE: Rule = Rule {
    code: "no-effect-on-image",
    severity: Severity::Warning,
    summary: "a key that does not change the image",
    why: "The tag of the base image is made of `python_version`, `node_version`, `api_version` and `image_distro`. If \
          `base_image` has a tag or digest, that image is used as it is and these keys only apply to `dev`. A suffix \
          of `python_version`, as in `3.12-bookworm`, takes precedence over `image_distro`.",
    wrong: r#"{ "base_image": "registry.example/my-image:1.0", "python_version": "3.12" }"#,
    right: r#"{ "base_image": "registry.example/my-image", "python_version": "3.12" }"#,
};

static UNFINISHED_DOCKERFILE_LINE: Rule = Rule {
    code: "unfinished-dockerfile-line",
    severity: Severity::Error,
    summary: "`dockerfile_lines` end within an instruction",
    why: "A backslash at the end of a line continues the instruction on the next one, past empty lines and comments, \
          and a here-document ends at its delimiter. An instruction that is still open after the last line would \
          swallow the instruction that follows.",
    wrong: r#"{ "dockerfile_lines": ["RUN apt-get update \\"] }"#,
    right: r#"{ "dockerfile_lines": ["RUN apt-get update \\", "  && apt-get install -y git"] }"#,
};
