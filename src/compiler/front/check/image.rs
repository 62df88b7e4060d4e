//! `base_image` and `dockerfile_lines`: they go into the build file as they are.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&INVALID_BASE_IMAGE, &UNFINISHED_DOCKERFILE_LINE];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    if let Some(image) = config.base_image.as_deref().filter(|image| !is_image(image)) {
        let place = Place::Value(Pointer::parse("/base_image"));
        context.report(
            Diagnostic::new(&INVALID_BASE_IMAGE, place, format!("`{image}` is not the name of an image"))
                .help("write it as `registry/name:tag`, without spaces or variables"),
        );
    }
    let last = config.dockerfile_lines.iter().flatten().enumerate().last();
    if let Some((index, _)) = last.filter(|(_, line)| line.trim_end().ends_with('\\')) {
        let place = Place::Value(Pointer::parse("/dockerfile_lines").join(index));
        let message = "the last line ends with `\\`, which takes in the instruction that follows it";
        context.report(Diagnostic::new(&UNFINISHED_DOCKERFILE_LINE, place, message).help("remove the `\\`"));
    }
}

/// Whether `image` has only characters that an image's name, tag and digest may have, and none of these is empty.
pub fn is_image(image: &str) -> bool {
    image.starts_with(|c: char| c.is_ascii_alphanumeric())
        && image.split(['/', ':', '@']).all(|part| !part.is_empty())
        && image.chars().all(|c| c.is_ascii_alphanumeric() || "._/:@-".contains(c))
}

static INVALID_BASE_IMAGE: Rule = Rule {
    code: "invalid-base-image",
    severity: Severity::Error,
    summary: "`base_image` is not the name of an image",
    why: "The name goes into the FROM line. White space, variables and other characters that no image's name has \
          would make it another instruction, or none.",
    wrong: r#"{ "base_image": "my image:$TAG" }"#,
    right: r#"{ "base_image": "registry.example/my-image:1.0" }"#,
};

static UNFINISHED_DOCKERFILE_LINE: Rule = Rule {
    code: "unfinished-dockerfile-line",
    severity: Severity::Error,
    summary: "the last of `dockerfile_lines` goes on on the next line",
    why: "A backslash at the end of a line joins it with the next one. Behind the last line comes an instruction of \
          the build itself, which would be swallowed.",
    wrong: r#"{ "dockerfile_lines": ["RUN apt-get update \\"] }"#,
    right: r#"{ "dockerfile_lines": ["RUN apt-get update \\", "  && apt-get install -y git"] }"#,
};

#[cfg(test)]
mod tests {
    use super::is_image;

    #[test]
    fn names_of_images() {
        for image in ["a", "localhost:5000/a/b:1.0", "r.example/a@sha256:0a1b", "a_b/c-d.e"] {
            assert!(is_image(image), "{image}");
        }
        for image in [
            "",
            "a/b:",
            "a@",
            "a//b",
            "a/",
            ":1",
            "a:@sha256:0a",
            "# ",
            "a b",
            "$X",
            "a\nRUN x",
            "--platform=x",
            "ä",
        ] {
            assert!(!is_image(image), "{image}");
        }
    }
}
