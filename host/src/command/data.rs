//! `agentcli host check`, `agentcli host backup` and `agentcli host restore`

use std::path::{Path, PathBuf};

use agentcli::cli::console::count;
use agentcli::cli::env::Env;
use agentcli::error::Error;

use crate::service;
use crate::store::Store;

/// Check the data directory
///
/// Checks the whole database, whether its secrets can be decrypted, and whether its archives and pushed images are there and
/// whole. The exit code is 1 if anything is wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// Data directory
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,
}

/// Copy the data directory, also while the service runs
///
/// The copy has the key that decrypts the secrets: keep it as safe as the original.
#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    /// Data directory
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,

    /// Directory of the copy, which must not exist
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

/// Restore a data directory from a backup
#[derive(Debug, clap::Args)]
pub(super) struct Restore {
    /// Data directory, which must not exist
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,

    /// Directory of the backup
    #[arg(value_name = "BACKUP")]
    copy: PathBuf,
}

/// Opens an existing data directory.
pub(super) fn open(env: &Env, data: &Path) -> Result<Store, Error> {
    Ok(Store::attach(&existing(env, data)?).map_err(service::Error::from)?)
}

/// The path of an existing data directory.
pub(super) fn existing(env: &Env, data: &Path) -> Result<PathBuf, Error> {
    let path = env.directory.join(data);
    if !path.join("host.db").exists() {
        return Err(Error::misused(format!(
            "`{}` is not a data directory: it has no host.db",
            data.display()
        )));
    }
    Ok(path)
}

impl Check {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let found = open(env, &self.data)?.inspect().map_err(service::Error::from)?;
        env.out.line(&format!(
            "version {}, {}, {}, {}",
            found.version,
            count(found.deployments, "deployment"),
            count(found.revisions, "revision"),
            count(found.keys, "key")
        ))?;
        for problem in &found.problems {
            env.out.line(&format!("problem: {problem}"))?;
        }
        match found.problems.len() {
            0 => Ok(env.out.line("no problems found")?),
            problems => Err(Error::Host {
                message: format!("the data directory has {}", count(problems, "problem")),
                hint: Some("restore a copy with `agentcli host restore`".to_owned()),
            }),
        }
    }
}

impl Backup {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let copied = open(env, &self.data)?.copy_to(&env.directory.join(&self.target));
        Ok(copied.map_err(service::Error::from)?)
    }
}

impl Restore {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let copy = existing(env, &self.copy)?;
        Ok(Store::restore(&copy, &env.directory.join(&self.data)).map_err(service::Error::from)?)
    }
}
