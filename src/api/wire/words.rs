//! Words of which there is a list.

use super::word_list;

word_list! {
    /// What a deployment is made from. It cannot be changed.
    Source {
        /// A repository of a code host that the service builds.
        Codehost = "codehost",
        /// An image in a registry of the user's; only where the service is self-hosted.
        ExternalContainer = "external_container",
        /// An image in the service's own registry.
        InternalContainer = "internal_container",
        /// An uploaded archive that the service builds.
        InternalSource = "internal_source",
        /// A template that the service has.
        InternalTemplate = "internal_template",
    }

    /// How a deployment is.
    DeploymentStatus {
        /// Its database is not there as yet.
        AwaitingDatabase = "AWAITING_DATABASE",
        /// It can take a revision, or runs one.
        Ready = "READY",
        /// It is not in use.
        Unused = "UNUSED",
        /// It is being deleted.
        AwaitingDelete = "AWAITING_DELETE",
        /// The service does not know.
        Unknown = "UNKNOWN",
    }

    /// How large a deployment is; chosen at its creation.
    DeploymentType {
        /// For development, free of charge.
        DevFree = "dev_free",
        /// For development.
        Dev = "dev",
        /// For production.
        Prod = "prod",
    }

    /// How far a revision is.
    RevisionStatus {
        /// It is being made.
        Creating = "CREATING",
        /// It waits for its turn.
        Queued = "QUEUED",
        /// It waits to be built.
        AwaitingBuild = "AWAITING_BUILD",
        /// It is being built.
        Building = "BUILDING",
        /// It waits to be deployed.
        AwaitingDeploy = "AWAITING_DEPLOY",
        /// It is being deployed.
        Deploying = "DEPLOYING",
        /// It could not be made.
        CreateFailed = "CREATE_FAILED",
        /// It could not be built.
        BuildFailed = "BUILD_FAILED",
        /// It could not be deployed.
        DeployFailed = "DEPLOY_FAILED",
        /// It runs, or ran until a newer one did.
        Deployed = "DEPLOYED",
        /// A newer one came before its turn.
        Skipped = "SKIPPED",
        /// Somebody stopped it.
        Interrupted = "INTERRUPTED",
        /// The service does not know.
        Unknown = "UNKNOWN",
    }

    /// How grave a log entry is.
    LogLevel {
        /// For who looks for a mistake.
        Debug = "DEBUG",
        /// What happens.
        Info = "INFO",
        /// What may be wrong.
        Warning = "WARNING",
        /// What went wrong.
        Error = "ERROR",
        /// What went wrong altogether.
        Critical = "CRITICAL",
    }

    /// The order of log entries in time.
    LogOrder {
        /// The oldest first.
        Ascending = "asc",
        /// The newest first.
        Descending = "desc",
    }
}

impl RevisionStatus {
    /// Whether it stays like this.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Deployed | Self::Skipped) || self.is_failure()
    }

    /// Whether it was built, or never will be.
    pub fn is_built(&self) -> bool {
        self.is_final() || matches!(self, Self::AwaitingDeploy | Self::Deploying)
    }

    /// Whether it will never run.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::CreateFailed | Self::BuildFailed | Self::DeployFailed | Self::Interrupted)
    }
}
