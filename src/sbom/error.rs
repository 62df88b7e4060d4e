//! Errors of bills of materials.

use std::io;

/// An image whose packages cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The archive of its files is broken.
    #[error("cannot read the files of the image `{image}`: {source}")]
    Archive {
        /// The image.
        image: String,
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    /// The next step for the user.
    pub fn hint(&self) -> String {
        "check the engine's log, and run the same command again".to_owned()
    }
}
