//! Names of container images, in the grammar of the distribution project's references.

/// The longest repository name, registry included.
const MAX_NAME: usize = 255;
/// The longest tag.
const MAX_TAG: usize = 128;

/// An image name: `[registry/]repository[:tag][@digest]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageName<'a> {
    /// The registry and the repository.
    pub name: &'a str,
    /// The tag.
    pub tag: Option<&'a str>,
    /// The digest, with its algorithm.
    pub digest: Option<&'a str>,
}

impl<'a> ImageName<'a> {
    /// Parses `text`, or explains in a lowercase fragment why it is not an image name.
    pub fn parse(text: &'a str) -> Result<Self, &'static str> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest)),
            Some(_) => return Err("`@` must be followed by a digest, such as `sha256:` and 64 hex digits"),
            None => (text, None),
        };
        let last = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[last..].split_once(':') {
            Some((end, tag)) if is_tag(tag) => (&rest[..last + end.len()], Some(tag)),
            Some(_) => return Err("`:` must be followed by a tag of letters, digits, `_`, `.` and `-`"),
            None => (rest, None),
        };
        check_name(name)?;
        Ok(Self { name, tag, digest })
    }

    /// The last component of the repository.
    pub fn repository(&self) -> &'a str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let path = match name.split_once('/') {
        Some((registry, path)) if is_registry(registry) => path,
        _ => name,
    };
    if path.chars().any(|c| c.is_ascii_uppercase()) {
        return Err("the repository must be lowercase");
    }
    let is_id = name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit());
    if name.len() > MAX_NAME || is_id || !path.split('/').all(is_component) {
        return Err("it is not of the form `registry/repository:tag`");
    }
    Ok(())
}

/// Whether the first component is a registry, with the rule that every engine uses.
fn is_registry(component: &str) -> bool {
    let is_host = component == "localhost"
        || component.contains(['.', ':'])
        || component.chars().any(|c| c.is_ascii_uppercase());
    let (host, port) = match component.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (component, None),
    };
    let is_label = |label: &str| {
        let is_edge = |c: char| c.is_ascii_alphanumeric();
        label.starts_with(is_edge)
            && label.ends_with(is_edge)
            && label.chars().all(|c| is_edge(c) || c == '-')
    };
    let is_address = |host: &str| {
        let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inner.is_some_and(|it| !it.is_empty() && it.chars().all(|c| c.is_ascii_hexdigit() || c == ':'))
    };
    is_host
        && (host.split('.').all(is_label) || is_address(host))
        && port.is_none_or(|port| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()))
}

/// Whether a path component is lowercase words joined by `.`, `_`, `__` or dashes.
fn is_component(component: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = component.split(is_word).filter(|it| !it.is_empty());
    component.starts_with(is_word)
        && component.ends_with(is_word)
        && separators.into_iter().all(|it| matches!(it, "." | "_" | "__") || it.chars().all(|c| c == '-'))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= MAX_TAG && tag.starts_with(is_word) && tag.chars().all(|c| is_word(c) || ".-".contains(c))
}

/// Whether this is a digest of SHA-256.
pub fn is_sha256(digest: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    digest.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.chars().all(is_digit))
}

/// The name of an image without its digest.
pub fn without_digest(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    if algorithm == "sha256" {
        return is_sha256(digest);
    }
    let is_part = |it: &str| {
        it.starts_with(|c: char| c.is_ascii_alphabetic()) && it.chars().all(|c| c.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(is_part)
        && hex.len() >= 32
        && hex.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn parts_of_names() {
        let pinned = format!("r.example/a:1@{DIGEST}");
        for (text, name, tag, digest) in [
            ("a", "a", None, None),
            ("a:B.c-1_", "a", Some("B.c-1_"), None),
            ("localhost:5000/a/b:1.0", "localhost:5000/a/b", Some("1.0"), None),
            ("localhost:5000/a", "localhost:5000/a", None, None),
            ("UPPER/case", "UPPER/case", None, None),
            ("[::1]:5000/a__b/c--d.e", "[::1]:5000/a__b/c--d.e", None, None),
            (&pinned, "r.example/a", Some("1"), Some(DIGEST)),
        ] {
            assert_eq!(ImageName::parse(text), Ok(ImageName { name, tag, digest }), "{text}");
        }
    }

    #[test]
    fn invalid_names() {
        let (long_tag, long_name) = (format!("a:{}", "x".repeat(129)), "x".repeat(256));
        for text in [
            "",
            "a/b:",
            "a@",
            "a//b",
            "a/",
            "/a",
            ":1",
            "a:@sha256:0a",
            "# ",
            "a b",
            "$X",
            "a\nRUN x",
            "--platform=x",
            "ä",
            "UPPER/Case:tag",
            "Upper",
            "a:b:c",
            "a@b@c",
            "a/-b:1",
            "a/b-:1",
            "a..b",
            "a___b",
            "a_-b",
            "a:-1",
            "a:.1",
            "host:x/a",
            "host.:1/a",
            "a@sha256:abc",
            &long_tag,
            &long_name,
            &DIGEST[7..],
        ] {
            assert!(ImageName::parse(text).is_err(), "{text}");
        }
    }
}
