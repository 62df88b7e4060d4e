//! Resources of a deployment and containers beside it. Kubernetes fields have their Kubernetes names.

use super::{Object, Redacted, optional_fields};

/// A part of a deployment with resources of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The server.
    Server,
    /// The queue workers.
    Queue,
    /// The orchestrator of the distributed runtime.
    Orchestrator,
    /// The executors of the distributed runtime.
    Executor,
    /// Redis, which has no scale.
    Redis,
    /// The database, which has no scale.
    Database,
}

impl Tier {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Server, Self::Queue, Self::Orchestrator, Self::Executor, Self::Redis, Self::Database];

    /// The prefix of the names of its fields.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Server => "",
            Self::Queue => "queue_",
            Self::Orchestrator => "orchestrator_",
            Self::Executor => "executor_",
            Self::Redis => "redis_",
            Self::Database => "db_",
        }
    }
}

/// Resources of each replica of a tier, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TierSpec {
    /// CPU request in cores.
    pub cpu: Option<f64>,
    /// CPU limit in cores.
    pub cpu_limit: Option<f64>,
    /// Memory request in MB.
    pub memory: Option<u64>,
    /// Memory limit in MB.
    pub memory_limit: Option<u64>,
    /// Minimum and maximum number of replicas.
    pub scale: (Option<u32>, Option<u32>),
}

impl TierSpec {
    /// The same, and those of `other` where nothing is set: of CPU and of memory neither a request nor a limit.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let (cpu, cpu_limit) = match (self.cpu, self.cpu_limit) {
            (None, None) => (other.cpu, other.cpu_limit),
            own => own,
        };
        let (memory, memory_limit) = match (self.memory, self.memory_limit) {
            (None, None) => (other.memory, other.memory_limit),
            own => own,
        };
        let scale = (self.scale.0.or(other.scale.0), self.scale.1.or(other.scale.1));
        Self { cpu, cpu_limit, memory, memory_limit, scale }
    }
}

impl ResourceSpec {
    /// The resources of a tier.
    pub fn tier(&self, tier: Tier) -> TierSpec {
        macro_rules! fields {
            (@scale) => { (None, None) };
            (@scale $min:ident $max:ident) => { (self.$min, self.$max) };
            ($cpu:ident $cpu_limit:ident $memory:ident $memory_limit:ident $($min:ident $max:ident)?) => {
                TierSpec {
                    cpu: self.$cpu,
                    cpu_limit: self.$cpu_limit,
                    memory: self.$memory,
                    memory_limit: self.$memory_limit,
                    scale: fields!(@scale $($min $max)?),
                }
            };
        }
        match tier {
            Tier::Server => fields!(cpu cpu_limit memory_mb memory_limit_mb min_scale max_scale),
            Tier::Queue => fields!(
                queue_cpu queue_cpu_limit queue_memory_mb queue_memory_limit_mb queue_min_scale queue_max_scale
            ),
            Tier::Orchestrator => fields!(
                orchestrator_cpu orchestrator_cpu_limit orchestrator_memory_mb orchestrator_memory_limit_mb
                orchestrator_min_scale orchestrator_max_scale
            ),
            Tier::Executor => fields!(
                executor_cpu executor_cpu_limit executor_memory_mb executor_memory_limit_mb
                executor_min_scale executor_max_scale
            ),
            Tier::Redis => fields!(redis_cpu redis_cpu_limit redis_memory_mb redis_memory_limit_mb),
            Tier::Database => fields!(db_cpu db_cpu_limit db_memory_mb db_memory_limit_mb),
        }
    }
}

optional_fields! {
    /// Resources of a deployment. CPU is in cores, memory in MB, storage in Gi.
    ResourceSpec {
        /// Minimum number of replicas.
        min_scale: u32,
        /// Maximum number of replicas.
        max_scale: u32,
        /// CPU request of one replica, in steps of 0.1.
        cpu: f64,
        /// CPU limit of one replica [default: twice `cpu`].
        cpu_limit: f64,
        /// Memory request of one replica.
        memory_mb: u64,
        /// Memory limit of one replica [default: twice `memory_mb`].
        memory_limit_mb: u64,
        /// Minimum number of replicas of the queue workers [default: `min_scale`].
        queue_min_scale: u32,
        /// Maximum number of replicas of the queue workers [default: `max_scale`].
        queue_max_scale: u32,
        /// CPU request of one replica of the queue workers [default: `cpu`].
        queue_cpu: f64,
        /// CPU limit of one replica of the queue workers.
        queue_cpu_limit: f64,
        /// Memory request of one replica of the queue workers [default: `memory_mb`].
        queue_memory_mb: u64,
        /// Memory limit of one replica of the queue workers.
        queue_memory_limit_mb: u64,
        /// Minimum number of replicas of the orchestrator.
        orchestrator_min_scale: u32,
        /// Maximum number of replicas of the orchestrator.
        orchestrator_max_scale: u32,
        /// CPU request of one replica of the orchestrator.
        orchestrator_cpu: f64,
        /// CPU limit of one replica of the orchestrator.
        orchestrator_cpu_limit: f64,
        /// Memory request of one replica of the orchestrator.
        orchestrator_memory_mb: u64,
        /// Memory limit of one replica of the orchestrator.
        orchestrator_memory_limit_mb: u64,
        /// Minimum number of replicas of the executors.
        executor_min_scale: u32,
        /// Maximum number of replicas of the executors.
        executor_max_scale: u32,
        /// CPU request of one replica of the executors.
        executor_cpu: f64,
        /// CPU limit of one replica of the executors.
        executor_cpu_limit: f64,
        /// Memory request of one replica of the executors.
        executor_memory_mb: u64,
        /// Memory limit of one replica of the executors.
        executor_memory_limit_mb: u64,
        /// CPU request of Redis.
        redis_cpu: f64,
        /// CPU limit of Redis.
        redis_cpu_limit: f64,
        /// Memory request of Redis.
        redis_memory_mb: u64,
        /// Memory limit of Redis.
        redis_memory_limit_mb: u64,
        /// Labels of the resources of the deployment.
        labels: Object,
        /// Annotations of the resources of the deployment.
        annotations: Object,
        /// Service account.
        service_account_name: String,
        /// Secrets to pull images with.
        image_pull_secrets: Vec<ImagePullSecret>,
        /// Volumes.
        volumes: Vec<Volume>,
        /// Volume mounts of the server.
        volume_mounts: Vec<VolumeMount>,
        /// Containers that run before the server starts.
        init_containers: Vec<ContainerSpec>,
        /// Containers that run beside the server.
        sidecars: Vec<ContainerSpec>,
        /// CPU request of the database.
        db_cpu: f64,
        /// CPU limit of the database.
        db_cpu_limit: f64,
        /// Memory request of the database.
        db_memory_mb: u64,
        /// Memory limit of the database.
        db_memory_limit_mb: u64,
        /// Storage of the database in Gi.
        db_storage_gi: u64,
        /// Maximum number of connections to the database.
        db_max_connections: u32,
    }

    /// A secret to pull images with.
    ImagePullSecret {
        /// Its name.
        name: String,
    }

    /// A volume, with one of the sources.
    Volume {
        /// Its name.
        name: String,
        /// From a ConfigMap.
        #[serde(rename = "configMap")]
        config_map: Object,
        /// From a secret of the cluster.
        secret: Object,
        /// An empty directory with the lifetime of the replica.
        #[serde(rename = "emptyDir")]
        empty_dir: Object,
        /// A persistent volume claim.
        #[serde(rename = "persistentVolumeClaim")]
        persistent_volume_claim: Object,
        /// A directory of an NFS server.
        nfs: Object,
        /// Several sources in one directory.
        projected: Object,
        /// Metadata of the replica.
        #[serde(rename = "downwardAPI")]
        downward_api: Object,
        /// A volume of a storage driver.
        csi: Object,
    }

    /// A volume mount of a container.
    VolumeMount {
        /// Name of the volume.
        name: String,
        /// The directory in the container.
        #[serde(rename = "mountPath")]
        mount_path: String,
        /// The directory in the volume.
        #[serde(rename = "subPath")]
        sub_path: String,
        /// Mount propagation.
        #[serde(rename = "mountPropagation")]
        mount_propagation: String,
        /// The directory in the volume, with variables.
        #[serde(rename = "subPathExpr")]
        sub_path_expr: String,
        /// Whether it is read-only.
        #[serde(rename = "readOnly")]
        read_only: bool,
    }

    /// A container that runs before the server, or beside it.
    ContainerSpec {
        /// Its name.
        name: String,
        /// Its image.
        image: String,
        /// Image pull policy: `Always`, `Never` or `IfNotPresent`.
        #[serde(rename = "imagePullPolicy")]
        image_pull_policy: String,
        /// Working directory.
        #[serde(rename = "workingDir")]
        working_dir: String,
        /// Restart policy.
        #[serde(rename = "restartPolicy")]
        restart_policy: String,
        /// Overrides the entry point of the image.
        command: Vec<String>,
        /// Overrides the arguments of the image.
        args: Vec<String>,
        /// Environment variables.
        env: Vec<EnvironmentVariable>,
        /// Sources of further environment variables.
        #[serde(rename = "envFrom")]
        env_from: Vec<Object>,
        /// Resources.
        resources: ContainerResources,
        /// Volume mounts.
        #[serde(rename = "volumeMounts")]
        volume_mounts: Vec<VolumeMount>,
        /// Security context.
        #[serde(rename = "securityContext")]
        security_context: Object,
    }

    /// An environment variable of a container.
    EnvironmentVariable {
        /// Name of the variable.
        name: String,
        /// Its value, which may be a secret.
        value: Redacted,
        /// Source of its value.
        #[serde(rename = "valueFrom")]
        value_from: Object,
    }

    /// Resources of a container.
    ContainerResources {
        /// Limits.
        limits: Object,
        /// Requests.
        requests: Object,
    }
}
