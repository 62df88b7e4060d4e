//! The page: chat or a form, the picture of the graph, runs, threads and their steps. It is one document, so that the server
//! loses no path to it but its own.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::HOME;
use super::error::Error;
use crate::project;

/// What people write and review; the document has the other files in the places where it names them.
const HTML: &str = include_str!("page/index.html");
const STYLE: (&str, &str) =
    ("<link rel=\"stylesheet\" href=\"style.css\">", concat!("\n", include_str!("page/style.css")));
const SCRIPT: (&str, &str) = (
    "<script type=\"module\" src=\"page.js\"></script>",
    concat!(
        "\n",
        include_str!("page/view.js"),
        include_str!("page/api.js"),
        include_str!("page/graph.js"),
        include_str!("page/main.js")
    ),
);

/// The file of the document, for the server to read.
const FILE: &str = "page.html";

/// The document, as HTML.
pub fn document() -> String {
    let (link, style) = STYLE;
    let (source, script) = SCRIPT;
    HTML.replacen(link, &format!("<style>{style}</style>"), 1).replacen(
        source,
        &format!("<script type=\"module\">{script}</script>"),
        1,
    )
}

/// The headers of the document: its own script and style, calls of its own server, no frames, no text that becomes HTML.
pub fn headers() -> [(&'static str, String); 5] {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT.1),
        hash(STYLE.1),
    );
    [
        ("content-type", "text/html; charset=utf-8".to_owned()),
        ("content-security-policy", policy),
        ("cache-control", "no-cache".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
        ("x-content-type-options", "nosniff".to_owned()),
    ]
}

/// The place of the document in the project in `directory`.
pub(super) fn file(directory: &Path) -> PathBuf {
    directory.join(HOME).join(FILE)
}

/// Writes the document.
pub(super) fn write(directory: &Path) -> Result<(), Error> {
    Ok(project::write_atomically(&file(directory), document().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_the_document() {
        let document = document();
        assert!(document.contains(STYLE.1) && document.contains(SCRIPT.1));
        assert!(!document.contains("src=\"") && !document.contains("href=\"style"), "a file is not in it");
        // What ends an element early would not be what is hashed.
        assert!(!SCRIPT.1.contains("</script") && !STYLE.1.contains("</style"));
    }

    #[test]
    fn page_stays_small() {
        let lines = [HTML, STYLE.1, SCRIPT.1].map(|text| text.lines().count()).iter().sum::<usize>();
        assert!(lines <= 1500, "{lines}");
    }
}
