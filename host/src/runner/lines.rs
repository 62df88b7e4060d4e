//! The lines that a tenant adds to a Dockerfile. Engines that decide about the sources of builds take all that they read; for
//! others, only lines that all engines read alike, and that name no source.

use agentcli::compiler::manifests::dockerfile::{Instruction, instructions};

/// The instructions whose flags are known. `HEALTHCHECK` has none that reach anything.
const FLAGS: &[(&str, &[&str])] = &[
    ("add", &["chmod", "checksum", "chown", "exclude", "from", "keep-git-dir", "link", "unpack"]),
    ("copy", &["chmod", "chown", "exclude", "from", "link", "parents"]),
    ("from", &["platform"]),
    ("healthcheck", &["interval", "retries", "start-interval", "start-period", "timeout"]),
    ("run", &["mount", "network", "security"]),
];

/// The instructions that name no source without flags.
const PLAIN: &[&str] = &["arg", "copy", "env", "label", "run"];

/// Checks lines; `is_enforced` says that the engine decides about their sources. The error is a fragment.
pub(super) fn check(lines: &[String], is_enforced: bool) -> Result<(), String> {
    for line in lines.iter().flat_map(|text| text.split('\n')) {
        if line.trim_start().len() != line.trim_ascii_start().len() {
            return Err(format!("begin `{}` with ASCII letters", beginning(line)));
        }
        if !is_enforced {
            check_line(line)?;
        }
    }
    for instruction in instructions(lines).map_err(|_| "an instruction is not finished".to_owned())? {
        check_flags(&instruction)?;
        if !is_enforced {
            check_plain(&instruction)?;
        }
    }
    Ok(())
}

/// Fails if engines may read the flags of an instruction differently, or if it has unknown ones.
fn check_flags(instruction: &Instruction) -> Result<(), String> {
    let text = &instruction.text;
    // BuildKit reads bytes, of which some are white space that are a part of a letter here.
    let unquoted = text.split(['"', '\'']).next().unwrap_or_default();
    let is_plain = |c: char| c == '\t' || c == ' ' || c.is_ascii_graphic();
    if let Some(odd) = unquoted.chars().find(|c| !is_plain(*c)) {
        return Err(format!("write `{}` in quotes in `{}`", odd.escape_debug(), beginning(text)));
    }
    let mut words = text.split_ascii_whitespace();
    let keyword = words.find(|word| !word.eq_ignore_ascii_case("onbuild")).unwrap_or_default().to_lowercase();
    // Newer engines take a here-document there, and older ones do not.
    let has_space = |rest: &str| rest.strip_prefix('-').unwrap_or(rest).starts_with(char::is_whitespace);
    if ["add", "copy", "run"].contains(&keyword.as_str()) && text.split("<<").skip(1).any(has_space) {
        return Err(format!("write no white space after `<<` in `{}`", beginning(text)));
    }
    let known = FLAGS.iter().find(|(name, _)| *name == keyword).map_or(&[][..], |(_, flags)| flags);
    for word in words.take_while(|word| word.starts_with("--")) {
        let name = word[2..].split('=').next().unwrap_or_default();
        if !known.contains(&name) {
            return Err(format!("`{keyword}` has no flag `--{}`", name.escape_debug()));
        }
    }
    Ok(())
}

/// Fails unless an instruction names no source.
fn check_plain(instruction: &Instruction) -> Result<(), String> {
    let mut words = instruction.text.split_ascii_whitespace();
    let keyword = words.next().unwrap_or_default().to_lowercase();
    let has_flags = words.next().is_none_or(|word| word.starts_with("--"));
    if PLAIN.contains(&keyword.as_str()) && !has_flags && !instruction.text.contains("<<") {
        return Ok(());
    }
    Err(format!(
        "the engine of this service does not decide about the sources of builds, so that only RUN, COPY, ENV, ARG and LABEL \
         without flags and here-documents are permitted, and not `{}`",
        beginning(&instruction.text)
    ))
}

/// Fails unless all engines agree whether a line continues.
fn check_line(line: &str) -> Result<(), String> {
    let trimmed = line.trim_end();
    let is_odd = trimmed.ends_with("\\\\") || trimmed.len() < line.len() && trimmed.ends_with('\\');
    if is_odd || line.contains(|c: char| c.is_control() && c != '\t') {
        return Err(format!(
            "end `{}` with one backslash or none, and without control characters",
            beginning(line)
        ));
    }
    Ok(())
}

fn beginning(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(line: &str, is_enforced: bool) -> Result<(), String> {
        check(&[line.to_owned()], is_enforced)
    }

    /// What an attacker writes. BuildKit finds another flag, or another instruction, than a reader of letters does.
    const TRICKS: &[&str] = &[
        "RUN --mount=type=tmpfs,target=/tmp/\u{e0}--mount=from=other,type=bind,target=/x cat /x/secret",
        "RUN --mount=type=tmpfs,target=/tmp/\u{445}--mount=from=other,target=/x cat /x/secret",
        "RUN --mount=target=/x\u{2003}y,from=other,type=bind cat /x*/secret",
        "RUN --mount=target=/x\u{a0}--network=host true",
        "RUN --mount=target=/x\u{85}--security=insecure true",
        "RUN\u{a0}--mount=from=other,target=/x true",
        "RUN \u{2003}--mount=from=other,target=/x true",
        "\u{2003}RUN --mount=from=other,target=/x true",
        "RUN --mount=type=tmpfs,target=/tmp\u{b}--mount=from=other,target=/x true",
        "RUN --mount=type=tmpfs,target=/tmp\u{c}--mount=from=other,target=/x true",
        "RUN --mount=type=tmpfs,target=/tmp\u{0}--mount=from=other,target=/x true",
        "ADD --chown=\u{e0}http://127.0.0.1/latest /m",
        "ADD --chown=\u{c5}https://127.0.0.1/latest /m",
        "ADD --checksum=\u{e0}git://127.0.0.1/a /m",
        "COPY --chown=\u{e0}--from=other /a /b",
        "ONBUILD ADD --chown=\u{e0}http://127.0.0.1/latest /m",
        "RUN --moun\u{131}=from=other true",
        "RUN --device=all true",
        "COPY --From=other /a /b",
        "COPY --\\from=other /a /b",
        "ADD --url=http://127.0.0.1 /a",
        "ENV --from=x A=b",
        "RUN cat << EOF\nFROM other\nEOF",
        "ONBUILD RUN cat <<- EOF\nFROM other\nEOF",
    ];

    /// What is permitted only where the engine decides about sources.
    const NAMING: &[&str] = &[
        "FROM other",
        "COPY --from=other /a /b",
        "RUN --mount=type=cache,target=/c true",
        "RUN --network=none true",
        "ADD a.tar /b",
        "ADD http://127.0.0.1/ /x",
        "ONBUILD COPY a b",
        "SHELL [\"/bin/sh\", \"-c\"]",
        "RUN cat <<EOF\nFROM other\nEOF",
        "COPY <<EOF /x\nFROM other\nEOF",
        "RUN cat <<< x",
        "RUN",
    ];

    /// What only some engines continue, and so what is an instruction to some only.
    const CONTINUED: &[&str] = &[
        "RUN echo \\\\\nFROM other",
        "RUN echo \\ \nFROM other",
        "RUN echo \\\t\nFROM other",
        "RUN echo '\r\nFROM other'",
    ];

    const HARMLESS: &[&str] = &[
        "RUN apt-get update \\\n  && apt-get install -y git",
        "RUN echo '\u{e0} \u{2003} é'",
        "COPY a b /c/",
        "COPY [\"a b\", \"/c\"]",
        "ENV A=\"é\" B=2",
        "ARG X=1",
        "LABEL a=b",
        "run true # --mount=from=other",
        "# é is a comment",
        "",
    ];

    #[test]
    fn flags_that_engines_read_differently_are_refused_by_all() {
        for line in TRICKS {
            for is_enforced in [true, false] {
                assert!(checked(line, is_enforced).is_err(), "{line:?} {is_enforced}");
            }
        }
    }

    #[test]
    fn sources_are_named_only_where_the_engine_decides() {
        for line in NAMING.iter().chain(CONTINUED) {
            assert!(checked(line, false).is_err(), "{line:?}");
        }
        for line in NAMING {
            assert_eq!(checked(line, true), Ok(()), "{line:?}");
        }
        for line in HARMLESS {
            assert_eq!((checked(line, true), checked(line, false)), (Ok(()), Ok(())), "{line:?}");
        }
        // An instruction may go on in the next text of the list.
        let lines = ["RUN a \\", "FROM other"].map(str::to_owned);
        assert_eq!(check(&lines, false), Ok(()));
        assert!(check(&lines[..1], true).unwrap_err().contains("is not finished"));
    }
}
