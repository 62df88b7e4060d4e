//! The database and the role of a deployment in PostgreSQL, by psql in a container.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use url::Url;

use super::decoded;

/// Creates a role and its database, or sets its password. Values come by the environment, where no list of processes shows
/// them. The server may log a statement, so it gets a verifier of the password and not the password.
pub(super) const CREATE: &str = r"
\set ON_ERROR_STOP on
\getenv name NAME
\getenv verifier VERIFIER
SELECT format('CREATE ROLE %I LOGIN', :'name') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec
SELECT format('ALTER ROLE %I PASSWORD %L', :'name', :'verifier') \gexec
SELECT format('GRANT %I TO CURRENT_USER', :'name') WHERE NOT pg_has_role(current_user, :'name', 'MEMBER') \gexec
SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
SELECT format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', :'name') \gexec
\connect :name
CREATE EXTENSION IF NOT EXISTS vector;
";

/// Removes a role and its database.
pub(super) const REMOVE: &str = r"
\set ON_ERROR_STOP on
\getenv name NAME
SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', :'name') \gexec
SELECT format('DROP ROLE IF EXISTS %I', :'name') \gexec
";

/// The command that runs the script in `SCRIPT`.
pub(super) const COMMAND: [&str; 3] = ["sh", "-c", r#"printf %s "$SCRIPT" | psql --no-psqlrc --quiet"#];

/// The exit code of psql when it cannot connect or loses the connection.
pub(super) const NO_CONNECTION: i64 = 2;

/// Iterations of PBKDF2, as PostgreSQL uses by default; passwords are random and long.
const ITERATIONS: u32 = 4096;

/// Length of a salt, in bytes.
const SALT: usize = 16;

/// The verifier of a password for `ALTER ROLE`, from which the password cannot be computed.
pub(super) fn verifier(password: &str, salt: [u8; SALT]) -> String {
    let mut salted = [0; digest::SHA256_OUTPUT_LEN];
    let iterations = ITERATIONS.try_into().unwrap_or(std::num::NonZeroU32::MIN);
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, &salt, password.as_bytes(), &mut salted);
    let salted = hmac::Key::new(hmac::HMAC_SHA256, &salted);
    let client_key = hmac::sign(&salted, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
    let server_key = hmac::sign(&salted, b"Server Key");
    let [salt, stored_key, server_key] =
        [&salt[..], stored_key.as_ref(), server_key.as_ref()].map(|bytes| STANDARD.encode(bytes));
    format!("SCRAM-SHA-256${ITERATIONS}:{salt}${stored_key}:{server_key}")
}

/// A salt that is the same whenever it is needed.
pub(super) fn salt(key: &hmac::Key, role: &str) -> [u8; SALT] {
    let mut salt = [0; SALT];
    let tag = hmac::sign(key, format!("postgres salt {role}").as_bytes());
    salt.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
    salt
}

/// The variables of psql with which it reaches the database at `url`, or the one in its own container.
pub(super) fn connection(url: Option<&Url>) -> Vec<(String, String)> {
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let Some(url) = url else {
        return vec![text("PGUSER", "postgres"), text("PGDATABASE", "postgres")];
    };
    let database = match url.path().trim_start_matches('/') {
        "" => "postgres",
        database => database,
    };
    let mut variables = vec![
        text("PGHOST", url.host_str().unwrap_or_default()),
        text("PGPORT", &url.port().unwrap_or(5432).to_string()),
        text("PGUSER", &decoded(url.username())),
        text("PGPASSWORD", &decoded(url.password().unwrap_or_default())),
        text("PGDATABASE", &decoded(database)),
    ];
    let mode = url.query_pairs().find(|(name, _)| name == "sslmode");
    variables.extend(mode.map(|(_, mode)| text("PGSSLMODE", &mode)));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677.
    #[test]
    fn verifier_is_that_of_scram() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap().try_into().unwrap();
        let expected = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=\
                        :wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
        assert_eq!(verifier("pencil", salt), expected);
    }
}
