//! The deployment that a command is about.

use super::cluster::ClusterOptions;
use super::target::Target;
use crate::api::wire::Deployment;
use crate::cli::account::AccountOptions;
use crate::cli::env::Env;
use crate::cli::service::Service;
use crate::cli::settings::{Settings, deployment_name};
use crate::error::Error;

/// The argument of every command about one deployment.
#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// ID or name of the deployment [env or .env: PLATFORM_DEPLOYMENT_NAME] [default: name of the current directory]
    #[arg(value_name = "ID|NAME")]
    which: Option<String>,
}

impl Which {
    /// Takes the argument away, if `is_other` says that it is something else than a deployment.
    pub(super) fn take_if(&mut self, is_other: impl FnOnce(&str) -> bool) -> Option<String> {
        self.which.take_if(|which| is_other(which))
    }

    /// The name of the deployment.
    pub(super) fn name(&self, env: &mut Env) -> Result<String, Error> {
        let settings = Settings::beside(env, None);
        deployment_name(env, self.which.as_deref(), &settings)
    }

    /// The service or the cluster, and the deployment there.
    pub(super) fn find<'a>(
        &self,
        env: &'a mut Env,
        cluster: &ClusterOptions,
        account: &AccountOptions,
    ) -> Result<(Target<'a>, Deployment), Error> {
        if cluster.is_meant() {
            let name = self.name(env)?;
            let cluster = cluster.open(env)?;
            let found = cluster.existing(&name)?.wire(&cluster.cluster);
            return Ok((Target::Cluster(cluster), found));
        }
        let mut settings = Settings::beside(env, None);
        let mut service = Service::with(env, account, &mut settings)?;
        let found = self.of(&mut service, &settings)?;
        Ok((Target::Service(service), found))
    }

    /// The deployment of this service.
    pub(super) fn of(&self, service: &mut Service<'_>, settings: &Settings) -> Result<Deployment, Error> {
        match &self.which {
            Some(which) => service.deployment(which),
            None => {
                let name = deployment_name(service.env, None, settings)?;
                service.deployment_named(&name)
            }
        }
    }
}
