//! Texts of commands and URLs.

/// The output of a command in one line.
pub(super) fn printed(output: &str) -> String {
    output.trim().replace('\n', " ")
}

/// A part of a URL without its percent encoding.
pub(super) fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
