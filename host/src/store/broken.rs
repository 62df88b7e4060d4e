//! Failures of the database.

/// The database could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// SQLite failed.
    #[error("the database failed: {}", reason(.0))]
    Database(#[from] rusqlite::Error),
    /// A record is not what this program wrote.
    #[error("the database has a record that cannot be read")]
    Record(#[from] serde_json::Error),
    /// The secrets of a deployment were not encrypted with the key in the data directory.
    #[error("the secrets cannot be decrypted: secret.key is not the key that encrypted them")]
    Secrets,
    /// The database is closed.
    #[error("the service is stopping")]
    Closed,
}

/// The reason of SQLite without its details, which may be a path of this machine or a value.
fn reason(error: &rusqlite::Error) -> String {
    let text = error.sqlite_error().map(ToString::to_string);
    text.unwrap_or_else(|| "it has something else than expected".to_owned()).to_lowercase()
}
