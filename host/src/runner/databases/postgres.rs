//! The database and the role of a deployment in PostgreSQL, by psql in a container.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use url::Url;

use super::text::decoded;

/// Command of the server in a container of the host: with connections for ten deployments that use all of theirs.
pub(super) const SERVER: [&str; 3] = ["postgres", "-c", "max_connections=1000"];

/// Takes the databases that all have in common from roles of deployments, as far as the user owns them: by default, every
/// role may connect to them, and up to release 14 create tables there.
pub(super) const PROTECT: &str = r"
SELECT format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', datname) FROM pg_database
  WHERE datname IN ('postgres', 'template1', current_database()) AND pg_has_role(datdba, 'USAGE') \gexec
SELECT 'REVOKE CREATE ON SCHEMA public FROM PUBLIC' FROM pg_namespace
  WHERE nspname = 'public' AND pg_has_role(nspowner, 'USAGE') \gexec
";

/// Creates a role and its database, or sets its password and its limit. Values come by the environment, where no list of
/// processes shows them. The server may log a statement, so it gets a verifier of the password and not the password.
///
/// A database is a copy of `template0`, which nobody uses, unless the extension comes only with `template1`. The creator of a
/// role is not always permitted to create databases for it, and so becomes a member.
pub(super) const CREATE: &str = r"
\getenv name NAME
\getenv verifier VERIFIER
\getenv connections CONNECTIONS
SELECT format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', :'name')
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec
SELECT format('ALTER ROLE %I CONNECTION LIMIT %s PASSWORD %L', :'name', :'connections', :'verifier') \gexec
SELECT format('GRANT %I TO CURRENT_USER', :'name') FROM pg_roles WHERE rolname = current_user AND NOT rolsuper \gexec
SELECT CASE WHEN rolsuper OR EXISTS (
    SELECT FROM pg_available_extension_versions WHERE pg_available_extension_versions.name = 'vector' AND trusted
  ) THEN 'template0' ELSE 'template1' END AS template FROM pg_roles WHERE rolname = current_user \gset
SELECT format('CREATE DATABASE %I OWNER %I TEMPLATE %I', :'name', :'name', :'template')
  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
SELECT format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', :'name') \gexec
";

/// Adds the extension to the database of a deployment.
pub(super) const EXTEND: &str = "CREATE EXTENSION IF NOT EXISTS vector;";

/// Removes a role and its database.
pub(super) const REMOVE: &str = r"
\getenv name NAME
SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', :'name') \gexec
SELECT format('DROP ROLE IF EXISTS %I', :'name') \gexec
";

/// The command that runs the script in `SCRIPT`.
pub(super) const COMMAND: [&str; 3] = [
    "sh",
    "-c",
    r#"printf %s "$SCRIPT" | psql --no-psqlrc --quiet --set=ON_ERROR_STOP=on --set=VERBOSITY=verbose"#,
];

/// The exit code of psql when it cannot connect or loses the connection.
pub(super) const NO_CONNECTION: i64 = 2;

/// Codes of errors that are over when others have finished: a database or role in use, too many connections, a deadlock, an
/// object that somebody else creates or changes at the same time, a server that starts or ends.
const BUSY: &[&str] = &[
    "55006", "55P03", "53300", "53400", "40001", "40P01", "23505", "42710", "42P04", "57P01", "57P02",
    "57P03",
];

/// An internal error that is over, too.
const CHANGED: &str = "tuple concurrently";

/// Whether the errors in the output of psql are over when others have finished.
pub(super) fn is_busy(output: &str) -> bool {
    let is_code = |line: &str| BUSY.iter().any(|code| line.contains(&format!(" {code}: ")));
    output.lines().any(|line| is_code(line) || line.contains(CHANGED))
}

/// The output of psql without the places in the source of the server.
pub(super) fn without_places(output: &str) -> String {
    let lines = output.lines().filter(|line| !line.starts_with("LOCATION:"));
    lines.collect::<Vec<_>>().join("\n")
}

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

/// The variables of psql with which it reaches a database of the server at `url`, or of the one in its own container [default:
/// that of the host].
pub(super) fn connection(url: Option<&Url>, database: Option<&str>) -> Vec<(String, String)> {
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let own = url.map(|url| decoded(url.path().trim_start_matches('/'))).filter(|own| !own.is_empty());
    let database = database.or(own.as_deref()).unwrap_or("postgres");
    let Some(url) = url else {
        return vec![text("PGUSER", "postgres"), text("PGDATABASE", database)];
    };
    let mut variables = vec![
        text("PGHOST", url.host_str().unwrap_or_default()),
        text("PGPORT", &url.port().unwrap_or(5432).to_string()),
        text("PGUSER", &decoded(url.username())),
        text("PGPASSWORD", &decoded(url.password().unwrap_or_default())),
        text("PGDATABASE", database),
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
