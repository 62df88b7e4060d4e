//! The user's browser.

use std::io;

/// Opens `url`. The browser belongs to the user and outlives this program.
///
/// # Errors
///
/// No browser is found.
pub fn open_browser(url: &str) -> io::Result<()> {
    open::that_detached(url)
}
