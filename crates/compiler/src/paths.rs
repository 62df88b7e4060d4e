//! Paths as the configuration writes them: relative, with `/`, compared and joined as text.

/// Extensions of files that the JavaScript server runs.
const JAVASCRIPT: &[&str] = &[".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];

/// `path` without `.` parts, doubled or trailing slashes and inner `..`; backslashes count as slashes. The
/// configuration's own directory is `.`.
pub fn normalize(path: &str) -> String {
    let inner = path.strip_prefix("./").unwrap_or(path);
    if inner == "." || is_normal(inner) {
        return inner.to_owned();
    }
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

/// Whether `path` consists of names alone, as most do. Such a path is its own normal form.
fn is_normal(path: &str) -> bool {
    !path.contains('\\') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// `path` below `base`, normalised; an absolute `path` stays as it is.
pub fn join(base: &str, path: &str) -> String {
    if base == "." || path.starts_with('/') {
        return normalize(path);
    }
    let joined = [base, "/", path].concat();
    if is_normal(&joined) { joined } else { normalize(&joined) }
}

/// The shortest form of `path`, which is normalised and relative to the directory with these components: `../agent/x` is
/// `x` in a directory `agent`.
pub fn shortened(path: &str, directory: &[String]) -> String {
    let up = levels_up(path);
    let own = directory.iter().skip(directory.len().saturating_sub(up));
    let rest: Vec<&str> = path.split('/').skip(up).collect();
    let shared = if up > directory.len() {
        0
    } else {
        own.zip(&rest).take_while(|(one, other)| one == *other).count()
    };
    normalize(&("../".repeat(up - shared) + &rest[shared..].join("/")))
}

/// `path`, which is normalised and absolute, relative to the directory with these components.
pub fn relative(path: &str, directory: &[String]) -> String {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let shared = parts.iter().zip(directory).take_while(|(one, other)| *one == *other).count();
    normalize(&("../".repeat(directory.len() - shared) + &parts[shared..].join("/")))
}

/// The components of `path`, which is normalised and relative to the directory with these components.
pub fn components(path: &str, directory: &[String]) -> Vec<String> {
    let mut parts = directory.to_vec();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Whether `path` is `directory` or lies in it. Both are normalised and relative to the same place.
pub fn lies_in(path: &str, directory: &str) -> bool {
    if directory.split('/').all(|part| part == "..") {
        !path.starts_with('/') && levels_up(path) <= levels_up(directory)
    } else {
        below(path, directory).is_some()
    }
}

/// Number of leading `..` components of `path`, which is normalised.
pub fn levels_up(path: &str) -> usize {
    path.split('/').take_while(|&part| part == "..").count()
}

/// The path of `path` relative to `base`, if the text shows that it lies there; `.` for `base` itself. Both are
/// normalised. (`..` contains `.`, but the text does not show under which name.)
pub fn below<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    if path == base {
        return Some(".");
    }
    let rest = match base {
        "." => path,
        "/" => path.strip_prefix('/')?,
        _ => path.strip_prefix(base)?.strip_prefix('/')?,
    };
    (levels_up(rest) == 0 && !rest.starts_with('/')).then_some(rest)
}

/// The last part.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The parent of `path`: everything before the last component, or `.`.
pub fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((parent, _)) => parent,
        None => ".",
    }
}

/// Whether a reference or file name is that of a JavaScript or TypeScript file.
pub fn is_javascript(reference: &str) -> bool {
    let file = reference.rsplit_once(':').map_or(reference, |(file, _)| file);
    JAVASCRIPT.iter().any(|ending| file.ends_with(ending))
}

/// Whether the path has characters that cannot be written to a build file.
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
            ("./a/b", "a/b"),
            ("././a", "a"),
            (".//a", "a"),
            ("./.", "."),
            ("./..", ".."),
            ("//", "/"),
            ("./a\\b", "a/b"),
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
    fn joined_paths() {
        for (base, path, joined) in [
            (".", "./a", "a"),
            ("a", "b/c", "a/b/c"),
            ("a", "./b", "a/b"),
            ("a/b", "../c", "a/c"),
            ("a", "b\\c", "a/b/c"),
            ("..", "a", "../a"),
            ("a", "", "a"),
            ("a", "/b", "/b"),
        ] {
            assert_eq!(join(base, path), joined, "{base} {path}");
        }
    }

    #[test]
    fn paths_below_a_directory() {
        assert_eq!(below("a/b", "."), Some("a/b"));
        assert_eq!(below("a/b", "a"), Some("b"));
        assert_eq!(below("a", "a"), Some("."));
        assert_eq!(below("ab", "a"), None);
        assert_eq!(below("../x", "."), None);
        assert_eq!(below("../lib/x", "../lib"), Some("x"));
        assert_eq!(below("../lib", ".."), Some("lib"));
        assert_eq!(below("../../lib", ".."), None);
        assert_eq!(below("/a/b", "/"), Some("a/b"));
        assert_eq!(below("/a", "."), None);
    }

    #[test]
    fn shortest_forms() {
        let directory = ["srv", "packages", "agent"].map(str::to_owned);
        for (path, short) in [
            ("../agent", "."),
            ("../agent/x", "x"),
            ("../../packages/agent/x", "x"),
            ("../../packages/lib", "../lib"),
            ("../lib", "../lib"),
            ("../../../../srv", "../../../../srv"),
            ("agent", "agent"),
            ("/agent", "/agent"),
            ("..", ".."),
        ] {
            assert_eq!(shortened(path, &directory), short, "{path}");
        }
    }

    #[test]
    fn paths_in_a_directory() {
        assert!(
            lies_in("a.py", "..")
                && lies_in("../a.py", "..")
                && lies_in("a/b", "a")
                && lies_in("../x", "../..")
        );
        assert!(!lies_in("../../a.py", "..") && !lies_in("../a.py", ".") && !lies_in("ab", "a"));
    }
}
