//! The images that a Dockerfile with lines of a tenant names besides its own stages. What is not found here, the engine denies,
//! or [`lines`](super::lines) does.

use std::collections::HashSet;

use agentcli::compiler::manifests::dockerfile::instructions;

/// The name of the image without content.
const SCRATCH: &str = "scratch";

/// An image that is not a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedImage {
    /// The lines of its instruction, from 0.
    lines: std::ops::Range<usize>,
    /// Its name.
    pub(super) name: String,
    /// Whether a stage is built on it.
    pub(super) is_base: bool,
}

/// What a Dockerfile uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// The images that are not its stages.
    pub(super) images: Vec<NamedImage>,
    /// The IDs of its cache mounts; absent where it is the target.
    pub(super) caches: Vec<Option<String>>,
}

/// What a Dockerfile uses. The error is a fragment: what it names cannot be told.
pub(super) fn uses(dockerfile: &str) -> Result<Uses, String> {
    let lines: Vec<String> = dockerfile.split('\n').map(str::to_owned).collect();
    let all = instructions(&lines).map_err(|_| "an instruction is not finished".to_owned())?;
    let mut uses = Uses::default();
    let mut stages = HashSet::new();
    let mut count = 0;
    for (at, instruction) in all.iter().enumerate() {
        let (keyword, rest) = keyword(&instruction.text);
        // BuildKit splits flags at bytes.
        let rest: String = rest.bytes().map(char::from).collect();
        let rest = rest.as_str();
        let place = instruction.line..all.get(at + 1).map_or(lines.len(), |next| next.line);
        match keyword.as_str() {
            "from" => {
                let Some(from) = From::parse(rest) else { continue };
                if !stages.contains(&from.image.to_lowercase()) && from.image != SCRATCH {
                    let name = plain(&from.image)?;
                    uses.images.push(NamedImage { lines: place, name, is_base: true });
                }
                stages.extend(from.stage);
                count += 1;
            }
            "add" | "copy" | "run" => {
                for flag in flags(rest).0 {
                    let from = uses_of_flag(&flag, &mut uses.caches)?;
                    // Stages have numbers, too.
                    let is_stage = |name: &String| {
                        stages.contains(&name.to_lowercase())
                            || name.parse::<usize>().is_ok_and(|number| number < count)
                    };
                    if let Some(name) = from.filter(|name| !is_stage(name)) {
                        let name = plain(&name)?;
                        uses.images.push(NamedImage { lines: place.clone(), name, is_base: false });
                    }
                }
            }
            _ => {}
        }
    }
    Ok(uses)
}

/// A Dockerfile whose `image` has another name. The error is a fragment.
pub(super) fn renamed(dockerfile: &str, image: &NamedImage, name: &str) -> Result<String, String> {
    let mut lines: Vec<String> = dockerfile.split('\n').map(str::to_owned).collect();
    let before = if image.is_base { " " } else { "from=" };
    let old = format!("{before}{}", image.name);
    let mut is_found = false;
    for line in &mut lines[image.lines.clone()] {
        let is_whole = |at: usize| {
            let rest = &line[at + old.len()..];
            rest.is_empty() || rest.starts_with(|c: char| c == ',' || c.is_whitespace())
        };
        if let Some(at) = line.match_indices(&old).map(|(at, _)| at).find(|at| is_whole(*at)) {
            line.replace_range(at + before.len()..at + old.len(), name);
            is_found = true;
        }
    }
    let wrong =
        || format!("write the image `{}` on one line of `dockerfile_lines`, without quotes", image.name);
    if is_found { Ok(lines.join("\n")) } else { Err(wrong()) }
}

/// The beginning of the cache mounts that the compiler writes.
const CACHE: &str = "--mount=type=cache,target=";

/// A Dockerfile whose cache mounts without an ID have one that begins with `namespace`, if they are written as the compiler does.
pub(super) fn with_cache_ids(dockerfile: &str, namespace: &str) -> String {
    let mut parts = dockerfile.split(CACHE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(part.len());
        let id = part[..end].replace('/', "-");
        text.push_str(&format!("--mount=type=cache,id={namespace}{id},target={part}"));
    }
    text
}

/// The white space that BuildKit splits instructions at, and the names in `FROM`.
const SPACES: [char; 5] = ['\t', '\u{b}', '\u{c}', '\r', ' '];

/// The keyword of an instruction in lowercase, and what follows it. That of `ONBUILD` is the one that it delays.
fn keyword(text: &str) -> (String, &str) {
    let mut text = text.trim();
    loop {
        let end = text.find(SPACES).unwrap_or(text.len());
        let (word, rest) = (text[..end].to_lowercase(), text[end..].trim_start_matches(SPACES));
        if word != "onbuild" {
            return (word, rest);
        }
        text = rest;
    }
}

/// A stage.
#[derive(Debug, PartialEq, Eq)]
struct From {
    image: String,
    stage: Option<String>,
}

impl From {
    /// What follows `FROM`; nothing if no engine accepts it.
    fn parse(rest: &str) -> Option<Self> {
        let (_, rest) = flags(rest);
        let words: Vec<&str> = rest.split(SPACES).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            [image] => Some(Self { image: (*image).to_owned(), stage: None }),
            [image, word, stage] if word.eq_ignore_ascii_case("as") => {
                Some(Self { image: (*image).to_owned(), stage: Some(stage.to_lowercase()) })
            }
            _ => None,
        }
    }
}

/// The flags after a keyword, without their quotes, as BuildKit reads them, and the rest. Each character is a byte.
fn flags(text: &str) -> (Vec<String>, &str) {
    let (mut found, mut text) = (Vec::new(), text.trim_start());
    while text.starts_with("--") {
        let mut flag = String::new();
        let mut quote = None;
        let mut end = text.len();
        let mut letters = text.char_indices();
        while let Some((at, letter)) = letters.next() {
            match (letter, quote) {
                ('\\', _) => flag.extend(letters.next().map(|(_, escaped)| escaped)),
                ('\'' | '"', None) => quote = Some(letter),
                (_, Some(open)) if open == letter => quote = None,
                (_, None) if letter.is_whitespace() => {
                    end = at;
                    break;
                }
                _ => flag.push(letter),
            }
        }
        found.push(flag);
        text = text[end..].trim_start();
    }
    (found, text)
}

/// The image or stage that a flag names; its cache mount is added to `caches`. The error is a fragment.
fn uses_of_flag(flag: &str, caches: &mut Vec<Option<String>>) -> Result<Option<String>, String> {
    let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
    match name.to_lowercase().as_str() {
        "--from" => Ok(Some(value.to_owned())),
        "--mount" => {
            if value.contains('"') {
                return Err(format!("write `{flag}` without quotes"));
            }
            let fields = || value.split(',').map(|field| field.split_once('=').unwrap_or((field, "")));
            let field = |wanted: &str| {
                let mut all = fields().filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
                all.next_back().map(|(_, value)| value.to_owned())
            };
            let kind = field("type").unwrap_or_default();
            if kind.contains('$') {
                return Err(format!("write the type of `{flag}` without variables"));
            }
            if kind.eq_ignore_ascii_case("cache") {
                caches.push(field("id"));
            }
            Ok(field("from"))
        }
        _ => Ok(None),
    }
}

/// The name of an image that all engines read alike. The error is a fragment.
fn plain(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@[]".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return Ok(name.to_owned());
    }
    Err(format!("write the image `{}` without variables and quotes", name.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The images of lines after a base image.
    fn images(lines: &[&str]) -> Result<Vec<String>, String> {
        let uses = uses(&format!("FROM base AS source\n{}\n", lines.join("\n")))?;
        Ok(uses.images.into_iter().skip(1).map(|image| image.name).collect())
    }

    #[test]
    fn stages_and_the_context_are_no_images() {
        for lines in [
            &["RUN true", "COPY a b", "ADD a.tar b", "ENV A=1", "USER nobody"][..],
            &["FROM source", "FROM SOURCE AS Two", "COPY --from=two /a /b", "COPY --from=0 --chown=1 /a /b"],
            &["FROM scratch AS empty", "COPY --from=source /a /b"],
            &["RUN --mount=type=bind,from=source,target=/a --mount=type=cache,target=/c true"],
            &["RUN --network=none --mount=type=secret,id=x true"],
            &[
                "RUN python3 <<EOF",
                "from a import b",
                "import c",
                "EOF",
                "COPY <<-'END' /file",
                "\tfrom: x",
                "END",
            ],
            &["RUN cat <<< 'x' && echo $((1<<2)) \"<<\"", "LABEL a=b"],
            &["RUN git \\", "# comment", "", "  clone x"],
            &[r#"RUN ["/bin/sh", "-c", "cat <<A\nx\nA"]"#],
        ] {
            assert_eq!(images(lines), Ok(Vec::new()), "{lines:?}");
        }
    }

    #[test]
    fn images_are_found_however_they_are_written() {
        for (lines, expected) in [
            (&["FROM other"][..], "other"),
            (&["from --platform=linux/amd64 other:1 as x"], "other:1"),
            (&["  FROM \\", "  # comment", "", "  other"], "other"),
            (&["FROM\tother\r"], "other"),
            (&["FROM later", "FROM source AS later"], "later"),
            (&["FROM 2d0823"], "2d0823"),
            (&["COPY --from=other /a /b"], "other"),
            (&["copy --chown=1 --FROM=other /a /b"], "other"),
            (&["COPY --fr\\", "om=other /a /b"], "other"),
            (&["COPY --fr\\\r\r", "om=other /a /b"], "other"),
            (&["RUN --mount=target=''/x\u{2003}y,from=other,type=bind true"], "other"),
            (&["RUN --mount='type=secret,id=a'\u{e0}--mount=from=other,target=/x true"], "other"),
            (&["COPY --\"from\"=o\\ther /a /b"], "other"),
            (&["COPY --from='other' /a /b"], "other"),
            (&["COPY --from=1 /a /b"], "1"),
            (&["COPY --from=later /a /b", "FROM source AS later"], "later"),
            (&["ADD --from=other /a /b"], "other"),
            (&["RUN --mount=from=other,target=/a true"], "other"),
            (&["RUN --mount=type=bind,FROM=other,target=/a true"], "other"),
            (&["RUN --mount=type=tmpfs,target=/b --mount=from=source,from=other,target=/a true"], "other"),
            (&["ONBUILD COPY --from=other /a /b"], "other"),
            (&["onbuild ONBUILD run --mount=from=other,target=/a true"], "other"),
            (&["RUN cat <<EOF", "x \\", "EOF", "COPY --from=other /a /b"], "other"),
        ] {
            assert_eq!(images(lines), Ok(vec![expected.to_owned()]), "{lines:?}");
        }
    }

    #[test]
    fn names_that_cannot_be_told_are_refused() {
        for (lines, expected) in [
            (&["FROM $OTHER"][..], "without variables"),
            (&["FROM ${X:-other}"], "without variables"),
            (&["FROM \"other\""], "without variables and quotes"),
            (&["FROM 'a\u{3000}b'"], "without variables and quotes"),
            (&["FROM 'a\u{a0}b'"], "without variables and quotes"),
            (&["FROM oth\\er"], "without variables and quotes"),
            (&["COPY --from=$OTHER /a /b"], "without variables"),
            (&["RUN --mount=type=bind,from=${X},target=/a true"], "without variables"),
            (&["RUN --mount=type=$T,target=/a true"], "without variables"),
            (&["RUN --mount=type=bind,\\\"from=other\\\",target=/a true"], "without quotes"),
        ] {
            let refused = images(lines).expect_err(&format!("{lines:?}"));
            assert!(refused.contains(expected), "{lines:?}: {refused}");
        }
    }

    #[test]
    fn images_are_renamed_where_they_are_written_plainly() {
        let text = "FROM base:1\nCOPY --from=base:1 /a /b\nRUN --mount=from=base:1,target=/a \\\n  --mount=from=base:11 true";
        let renamed_to =
            |text: &str, at: usize, name: &str| renamed(text, &uses(text).unwrap().images[at], name).unwrap();
        let text = renamed_to(text, 0, "base@sha256:0");
        let text = renamed_to(&text, 1, "one@sha256:1");
        let text = renamed_to(&text, 2, "two@sha256:2");
        assert_eq!(
            text,
            "FROM base@sha256:0\nCOPY --from=one@sha256:1 /a /b\nRUN --mount=from=two@sha256:2,target=/a \\\n  \
             --mount=from=base:11 true"
        );
        for text in ["FROM base\nCOPY --from='other' /a /b", "FROM base\nCOPY --from=oth\\\ner /a /b"] {
            let image = &uses(text).unwrap().images[1];
            assert!(renamed(text, image, "x").unwrap_err().contains("on one line"), "{text}");
        }
    }

    #[test]
    fn cache_mounts_of_the_compiler_get_an_id() {
        let text = "FROM a\nRUN --mount=type=cache,target=/root/.cache/uv \\\n  --mount=type=cache,target=/c,sharing=locked x\n\
                    RUN --mount=target=/d,type=CACHE,id=other y";
        let text = with_cache_ids(text, "ns");
        let ids = uses(&text).unwrap().caches;
        assert_eq!(ids.iter().flatten().collect::<Vec<_>>(), ["ns-root-.cache-uv", "ns-c", "other"]);
    }
}
