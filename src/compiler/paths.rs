//! Paths as the configuration writes them: relative, with `/`, compared and joined as text.

/// Endings of files that the JavaScript server runs.
const JAVASCRIPT: &[&str] = &[".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];

/// `path` without `.` parts, doubled or trailing slashes and inner `..`; backslashes count as slashes. The
/// configuration's own directory is `.`.
pub fn normalize(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|&last| last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (path.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// `path` below `base`, normalised; an absolute `path` stays as it is.
pub fn join(base: &str, path: &str) -> String {
    if path.starts_with('/') { normalize(path) } else { normalize(&format!("{base}/{path}")) }
}

/// What `path` is called below `base`, where it lies in `base`; `.` for `base` itself. Both normalised.
pub fn below<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    if path == base {
        return Some(".");
    }
    match base {
        "." => (!path.starts_with("../") && path != ".." && !path.starts_with('/')).then_some(path),
        "/" => path.strip_prefix('/'),
        _ if base.split('/').all(|part| part == "..") => {
            let up = path.split('/').take_while(|&part| part == "..").count();
            // `..` holds `.` and everything in it, but where it lies cannot be told from the text alone.
            if up == base.split('/').count() { path.strip_prefix(base)?.strip_prefix('/') } else { None }
        }
        _ => path.strip_prefix(base)?.strip_prefix('/'),
    }
}

/// The last part.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What holds `path`: everything before the last part, or `.`.
pub fn parent(path: &str) -> String {
    match path.rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((parent, _)) => parent.to_owned(),
        None => ".".to_owned(),
    }
}

/// Whether a reference or file name means JavaScript or TypeScript.
pub fn is_javascript(reference: &str) -> bool {
    let file = reference.rsplit_once(':').map_or(reference, |(file, _)| file);
    JAVASCRIPT.iter().any(|ending| file.ends_with(ending))
}

/// Whether a character may not stand in a path that is written to a build file.
pub fn is_unprintable(path: &str) -> bool {
    path.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_forms() {
        for (path, normal) in [
            ("./", "."),
            (".", "."),
            ("", "."),
            ("./a//b/", "a/b"),
            ("a/../b", "b"),
            ("../x", "../x"),
            ("../../x/..", "../.."),
            ("a\\b", "a/b"),
            ("/a/./b", "/a/b"),
        ] {
            assert_eq!(normalize(path), normal, "{path}");
        }
    }

    #[test]
    fn what_lies_below() {
        assert_eq!(below("a/b", "."), Some("a/b"));
        assert_eq!(below("a/b", "a"), Some("b"));
        assert_eq!(below("a", "a"), Some("."));
        assert_eq!(below("ab", "a"), None);
        assert_eq!(below("../x", "."), None);
        assert_eq!(below("../lib/x", "../lib"), Some("x"));
        assert_eq!(below("../lib", ".."), Some("lib"));
        assert_eq!(below("../../lib", ".."), None);
    }
}
