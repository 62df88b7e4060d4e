//! What the user's own lines of the Dockerfile may do that the rest of the plan does not know of.

use super::{Action, Plan};

impl Plan {
    /// Whether the user's own lines take something from elsewhere than the context and the server's image: they start
    /// from another image, copy from one, or add what may lie in the network. It may well be the other stage of the same
    /// Dockerfile; nobody looks that closely.
    pub fn has_lines_from_outside(&self) -> bool {
        self.steps.iter().any(|step| match &step.action {
            Action::Lines { lines } => joined(lines).lines().any(is_from_outside),
            _ => false,
        })
    }
}

/// The lines as instructions: comments are left out, and lines that go on are joined.
fn joined(lines: &[String]) -> String {
    let mut joined = String::new();
    for line in lines.iter().flat_map(|lines| lines.lines()).map(str::trim_end) {
        match line.strip_suffix('\\') {
            _ if line.trim_start().starts_with('#') => {}
            Some(begun) => joined.push_str(begun),
            None => joined.extend([line, "\n"]),
        }
    }
    joined
}

fn is_from_outside(instruction: &str) -> bool {
    let instruction = instruction.to_lowercase();
    let keyword = instruction.split_whitespace().next();
    matches!(keyword, Some("add" | "from")) || instruction.contains("from=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside() {
        let outside = |text: &str| joined(&[text.to_owned()]).lines().any(is_from_outside);
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
