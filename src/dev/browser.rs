//! The user's browser.

use std::io;

/// Opens `url`; the browser is the user's and outlives this program.
///
/// # Errors
///
/// There is no browser, or nothing that knows of one.
pub fn open_browser(url: &str) -> io::Result<()> {
    open::that_detached(url)
}
