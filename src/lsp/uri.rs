//! Paths as URIs.

use std::path::{Path, PathBuf};

use lsp_types::Uri;
use url::Url;

/// The path of a `file:` URI.
pub(super) fn to_path(uri: &Uri) -> Option<PathBuf> {
    Url::parse(uri.as_str()).ok()?.to_file_path().ok()
}

/// The URI of an absolute path.
pub(super) fn from_path(path: &Path) -> Option<Uri> {
    let url = Url::from_file_path(path).ok()?;
    // The URL standard leaves characters as they are that are not part of a URI.
    let mut text = String::new();
    for c in url.as_str().chars() {
        match c {
            '[' | ']' | '^' | '|' | '`' | '{' | '}' | '\\' => {
                text.push_str(&format!("%{:02X}", u32::from(c)))
            }
            c => text.push(c),
        }
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn every_path_comes_back() {
        for path in ["/a b/ä/agent.json", "/[id]/{x}|^`%41#?/agent.json", "/😀"] {
            assert_eq!(to_path(&from_path(Path::new(path)).unwrap()), Some(path.into()), "{path}");
        }
        assert_eq!(from_path(Path::new("relative")), None);
        assert_eq!(to_path(&"untitled:Untitled-1".parse().unwrap()), None);
    }
}
