//! Enumerations.

use super::word_list;

word_list! {
    /// Source of a deployment. It cannot be changed.
    Source {
        /// A repository of a code host that the service builds.
        Codehost = "codehost",
        /// An image in a registry of the user; self-hosted services only.
        ExternalContainer = "external_container",
        /// An image in the service's own registry.
        InternalContainer = "internal_container",
        /// An uploaded archive that the service builds.
        InternalSource = "internal_source",
        /// A template of the service.
        InternalTemplate = "internal_template",
    }

    /// Status of a deployment.
    DeploymentStatus {
        /// Its database is being created.
        AwaitingDatabase = "AWAITING_DATABASE",
        /// It can run revisions.
        Ready = "READY",
        /// It is not in use.
        Unused = "UNUSED",
        /// It is being deleted.
        AwaitingDelete = "AWAITING_DELETE",
        /// Not known to the service.
        Unknown = "UNKNOWN",
    }

    /// Type of a deployment. It cannot be changed.
    DeploymentType {
        /// For development, free of charge.
        DevFree = "dev_free",
        /// For development.
        Dev = "dev",
        /// For production.
        Prod = "prod",
    }

    /// Environment of an agent.
    AgentEnvironment {
        /// For development.
        Development = "development",
        /// For tests.
        Staging = "staging",
        /// For users.
        Production = "production",
    }

    /// Status of a revision.
    RevisionStatus {
        /// It is being created.
        Creating = "CREATING",
        /// It is queued.
        Queued = "QUEUED",
        /// It waits to be built.
        AwaitingBuild = "AWAITING_BUILD",
        /// It is being built.
        Building = "BUILDING",
        /// It waits to be deployed.
        AwaitingDeploy = "AWAITING_DEPLOY",
        /// It is being deployed.
        Deploying = "DEPLOYING",
        /// It could not be created.
        CreateFailed = "CREATE_FAILED",
        /// It could not be built.
        BuildFailed = "BUILD_FAILED",
        /// It could not be deployed.
        DeployFailed = "DEPLOY_FAILED",
        /// It runs, or ran until a newer one replaced it.
        Deployed = "DEPLOYED",
        /// A newer one replaced it before it was built.
        Skipped = "SKIPPED",
        /// It was stopped by a user.
        Interrupted = "INTERRUPTED",
        /// Not known to the service.
        Unknown = "UNKNOWN",
    }

    /// Level of a log entry.
    LogLevel {
        /// Debugging details.
        Debug = "DEBUG",
        /// Normal operation.
        Info = "INFO",
        /// A possible problem.
        Warning = "WARNING",
        /// An error.
        Error = "ERROR",
        /// A fatal error.
        Critical = "CRITICAL",
    }

    /// Order of log entries.
    LogOrder {
        /// Oldest first.
        Ascending = "asc",
        /// Newest first.
        Descending = "desc",
    }
}

impl RevisionStatus {
    /// Whether the status is final.
    pub fn is_final(&self) -> bool {
        let is_failure =
            matches!(self, Self::CreateFailed | Self::BuildFailed | Self::DeployFailed | Self::Interrupted);
        is_failure || matches!(self, Self::Deployed | Self::Skipped)
    }

    /// Whether its build is over.
    pub fn is_built(&self) -> bool {
        self.is_final() || matches!(self, Self::AwaitingDeploy | Self::Deploying)
    }
}
