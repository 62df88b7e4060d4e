//! The certificates of authorities that the environment names.

use std::fs;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::check::{Check, Group, Subject, Task};
use crate::api::http;
use crate::project::reason;

pub(super) static CERTIFICATES: Subject = Subject {
    id: "certificates",
    name: "Certificates",
    group: Group::Machine,
    needed_by: &[Task::Dev, Task::Deploy],
};

/// One check of whether HTTPS can be used, unless it can be, and one for each file or directory that `variables` name.
pub(super) fn checks(variables: &[(String, PathBuf)]) -> Vec<Check> {
    let broken = http::build(http::builder()).err().map(|reason| {
        let help = "install the certificates of the system (`sudo apt install ca-certificates` on Debian and Ubuntu), or \
                    set SSL_CERT_FILE to a file with certificates";
        CERTIFICATES.missing(format!("HTTPS cannot be used: {reason}"), help)
    });
    let mut by_path: Vec<(&Path, Vec<&str>)> = Vec::new();
    for (name, path) in variables {
        match by_path.iter_mut().find(|(known, _)| known == path) {
            Some((_, names)) => names.push(name),
            None => by_path.push((path, vec![name])),
        }
    }
    if by_path.is_empty() && broken.is_none() {
        return vec![CERTIFICATES.fine("those of the system")];
    }
    broken.into_iter().chain(by_path.iter().map(|(path, names)| check(path, &names.join(", ")))).collect()
}

fn check(path: &Path, names: &str) -> Check {
    let shown = format!("`{}` ({names})", path.display());
    match read(path) {
        Ok(found) => CERTIFICATES.fine(format!("{found} in {shown}")),
        Err(why) => CERTIFICATES.degraded(
            format!("{shown}: {why}"),
            "correct the path, or unset the variable to use the certificates of the system",
        ),
    }
}

/// Describes the certificates of a file in PEM format, or of a directory. The error is a fragment.
fn read(path: &Path) -> Result<String, String> {
    if path.is_dir() {
        let files = fs::read_dir(path).map_err(|error| reason(&error))?.count();
        return if files == 0 {
            Err("the directory is empty".to_owned())
        } else {
            Ok(format!("{files} files"))
        };
    }
    let text = fs::read(path).map_err(|error| reason(&error))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|_| "not in PEM format")?;
        store.add(certificate).map_err(|_| "it contains an invalid certificate")?;
    }
    match store.len() {
        0 => Err("it contains no certificate in PEM format".to_owned()),
        1 => Ok("1 certificate".to_owned()),
        several => Ok(format!("{several} certificates")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_files_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        assert_eq!(read(&path).unwrap_err(), "no such file or directory");
        for (text, why) in [
            ("", "it contains no certificate in PEM format"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "it contains an invalid certificate",
            ),
            ("-----BEGIN CERTIFICATE-----\n????\n", "not in PEM format"),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path).unwrap_err(), why);
        }
        assert_eq!(read(directory.path()).unwrap(), "1 files");
    }
}
