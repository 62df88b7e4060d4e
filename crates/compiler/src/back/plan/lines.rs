//! Properties of `dockerfile_lines` that the rest of the plan cannot show.

use super::Plan;
use crate::manifests::dockerfile::{Instruction, instructions};

impl Plan {
    /// Whether `dockerfile_lines` use anything besides the context and the base image: another image, a copy from one, or
    /// an added file, which may be remote. A stage of the same Dockerfile counts as another image.
    pub fn has_lines_from_outside(&self) -> bool {
        instructions(&self.image.lines).is_ok_and(|all| all.iter().any(is_from_outside))
    }
}

fn is_from_outside(instruction: &Instruction) -> bool {
    matches!(instruction.keyword().as_str(), "add" | "from")
        || instruction.text.to_lowercase().contains("from=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_from_outside() {
        let outside = |text: &str| instructions(&[text.to_owned()]).unwrap().iter().any(is_from_outside);
        for text in [
            "FROM other",
            "RUN true\n  from $BASE AS x",
            "ADD https://example.com/file /",
            "A\\\n# not the end\nDD x /",
            "COPY --from=other /a /b",
            "COPY --fr\\ \nom=other /a /b",
            "RUN --mount=type=bind,FROM=other,target=/o true",
        ] {
            assert!(outside(text), "{text}");
        }
        for text in [
            "",
            "RUN apk add git",
            "ARG FROM",
            "# FROM x",
            "RUN python -c \\\n 'from a import b'",
            "COPY a b",
        ] {
            assert!(!outside(text), "{text}");
        }
    }
}
