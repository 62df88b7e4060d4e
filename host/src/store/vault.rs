//! Secrets at rest: encrypted with ChaCha20-Poly1305, by a key in a file of its own, and bound to their deployment.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use agentcli::api::wire::Secret;
use agentcli::project;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tempfile::NamedTempFile;

use super::Broken;
use super::directory::Error;

/// Length of the key, in bytes.
const LENGTH: usize = 32;

/// Encrypts and decrypts. There is no `Debug`.
#[derive(Clone)]
pub(super) struct Vault {
    key: Arc<LessSafeKey>,
    /// The same key, to derive others.
    parent: hmac::Key,
}

impl Vault {
    /// Reads the key at `path`. Creates one, unless there are secrets that need the lost one.
    pub(super) fn open(path: &Path, is_needed: bool) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Key { path: path.to_owned(), reason };
        let bytes = match fs::read(path) {
            Ok(bytes) => {
                private(path).map_err(wrong)?;
                bytes
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_needed => {
                create(path).map_err(|error| wrong(project::reason(&error)))?
            }
            Err(error) => return Err(wrong(project::reason(&error))),
        };
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes);
        let key = key.map_err(|_| wrong(format!("it has {} bytes, and not {LENGTH}", bytes.len())))?;
        Ok(Self { key: Arc::new(LessSafeKey::new(key)), parent: hmac::Key::new(hmac::HMAC_SHA256, &bytes) })
    }

    /// A secret for another purpose, of which the key cannot be computed.
    pub(super) fn derived(&self, purpose: &[u8]) -> [u8; 32] {
        let mut derived = [0; 32];
        derived.copy_from_slice(hmac::sign(&self.parent, purpose).as_ref());
        derived
    }

    /// Encrypts the secrets of a deployment: a random nonce, then the ciphertext.
    pub(super) fn seal(&self, deployment: &str, secrets: &[Secret]) -> Result<Vec<u8>, Broken> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| Broken::Secrets)?;
        let mut text = serde_json::to_vec(secrets)?;
        let aad = Aad::from(deployment.as_bytes());
        let sealed = self.key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut text);
        sealed.map_err(|_| Broken::Secrets)?;
        Ok([&nonce[..], &text].concat())
    }

    /// Decrypts what [`Vault::seal`] returned for the same deployment.
    pub(super) fn open_sealed(&self, deployment: &str, sealed: &[u8]) -> Result<Vec<Secret>, Broken> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN).ok_or(Broken::Secrets)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Broken::Secrets)?;
        let mut text = text.to_vec();
        let aad = Aad::from(deployment.as_bytes());
        let opened = self.key.open_in_place(nonce, aad, &mut text).map_err(|_| Broken::Secrets)?;
        Ok(serde_json::from_slice(opened)?)
    }
}

/// Creates a random key, unless another process does at this moment; the key. It appears at `path` only when it is on the
/// disk.
fn create(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; LENGTH];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
    // Nobody else can read temporary files.
    let mut new = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    new.write_all(&bytes)?;
    new.as_file().sync_all()?;
    match new.persist_noclobber(path) {
        Ok(_) => Ok(bytes),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => fs::read(path),
        Err(error) => Err(error.error),
    }
}

/// Fails if other users can read the key.
#[cfg(unix)]
fn private(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).map_err(|error| project::reason(&error))?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(format!("other users can read it (mode {mode:04o})")) }
}

#[cfg(not(unix))]
fn private(_: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use agentcli::api::wire::{Object, Redacted};

    use super::*;

    #[test]
    fn secrets_are_bound_to_their_deployment_and_key() {
        let directory = tempfile::tempdir().unwrap();
        let open = |name: &str| Vault::open(&directory.path().join(name), false).unwrap();
        let secrets =
            vec![Secret { name: "A".to_owned(), value: Some(Redacted::new("hidden")), other: Object::new() }];
        let sealed = open("key").seal("one", &secrets).unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"hidden"));
        assert_eq!(open("key").open_sealed("one", &sealed).unwrap(), secrets);
        assert!(open("key").open_sealed("two", &sealed).is_err());
        assert!(open("other").open_sealed("one", &sealed).is_err());
        for at in [0, NONCE_LEN, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open("key").open_sealed("one", &changed).is_err());
        }
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_lost_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        assert!(Vault::open(&path, true).is_err());
        Vault::open(&path, false).unwrap();
        Vault::open(&path, true).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            let error = Vault::open(&path, true).err().unwrap().to_string();
            assert!(error.contains("other users can read it (mode 0640)"), "{error}");
        }
    }
}
