//! How much a deployment may use, and what runs beside it: fields of the cluster's own are named as the cluster names them.

use super::{Object, Redacted, optional_fields};

optional_fields! {
    /// How much a deployment may use. CPU is in cores, memory in MB, storage in Gi.
    ResourceSpec {
        /// The fewest replicas.
        min_scale: u32,
        /// The most replicas.
        max_scale: u32,
        /// Cores that one replica is promised, in steps of 0.1.
        cpu: f64,
        /// Cores that one replica may use; without it, twice `cpu`.
        cpu_limit: f64,
        /// MB that one replica is promised.
        memory_mb: u64,
        /// MB that one replica may use; without it, twice `memory_mb`.
        memory_limit_mb: u64,
        /// The fewest replicas of the queue workers; without it, as `min_scale`.
        queue_min_scale: u32,
        /// The most replicas of the queue workers; without it, as `max_scale`.
        queue_max_scale: u32,
        /// Cores that one replica of the queue workers is promised; without it, as `cpu`.
        queue_cpu: f64,
        /// Cores that one replica of the queue workers may use.
        queue_cpu_limit: f64,
        /// MB that one replica of the queue workers is promised; without it, as `memory_mb`.
        queue_memory_mb: u64,
        /// MB that one replica of the queue workers may use.
        queue_memory_limit_mb: u64,
        /// The fewest replicas of the orchestrator.
        orchestrator_min_scale: u32,
        /// The most replicas of the orchestrator.
        orchestrator_max_scale: u32,
        /// Cores that one replica of the orchestrator is promised.
        orchestrator_cpu: f64,
        /// Cores that one replica of the orchestrator may use.
        orchestrator_cpu_limit: f64,
        /// MB that one replica of the orchestrator is promised.
        orchestrator_memory_mb: u64,
        /// MB that one replica of the orchestrator may use.
        orchestrator_memory_limit_mb: u64,
        /// The fewest replicas of the executors.
        executor_min_scale: u32,
        /// The most replicas of the executors.
        executor_max_scale: u32,
        /// Cores that one replica of the executors is promised.
        executor_cpu: f64,
        /// Cores that one replica of the executors may use.
        executor_cpu_limit: f64,
        /// MB that one replica of the executors is promised.
        executor_memory_mb: u64,
        /// MB that one replica of the executors may use.
        executor_memory_limit_mb: u64,
        /// Cores that Redis is promised.
        redis_cpu: f64,
        /// Cores that Redis may use.
        redis_cpu_limit: f64,
        /// MB that Redis is promised.
        redis_memory_mb: u64,
        /// MB that Redis may use.
        redis_memory_limit_mb: u64,
        /// Labels of what the cluster makes for the deployment.
        labels: Object,
        /// Annotations of what the cluster makes for the deployment.
        annotations: Object,
        /// The account in the cluster that it runs as.
        service_account_name: String,
        /// Secrets of the cluster to get images with.
        image_pull_secrets: Vec<ImagePullSecret>,
        /// Volumes that its containers may mount.
        volumes: Vec<Volume>,
        /// Where the server mounts them.
        volume_mounts: Vec<VolumeMount>,
        /// Containers that run, and end, before the server starts.
        init_containers: Vec<ContainerSpec>,
        /// Containers that run beside the server.
        sidecars: Vec<ContainerSpec>,
        /// Cores that the database is promised.
        db_cpu: f64,
        /// Cores that the database may use.
        db_cpu_limit: f64,
        /// MB that the database is promised.
        db_memory_mb: u64,
        /// MB that the database may use.
        db_memory_limit_mb: u64,
        /// Storage of the database in Gi.
        db_storage_gi: u64,
        /// The most connections to the database.
        db_max_connections: u32,
    }

    /// A secret of the cluster to get images with.
    ImagePullSecret {
        /// Its name.
        name: String,
    }

    /// A directory that containers can mount; one of its sources is there, each as the cluster has it.
    Volume {
        /// What mounts refer to.
        name: String,
        /// From a ConfigMap.
        #[serde(rename = "configMap")]
        config_map: Object,
        /// From a secret of the cluster.
        secret: Object,
        /// Empty at first, and gone with the replica.
        #[serde(rename = "emptyDir")]
        empty_dir: Object,
        /// A claim to a persistent volume.
        #[serde(rename = "persistentVolumeClaim")]
        persistent_volume_claim: Object,
        /// A directory of an NFS server.
        nfs: Object,
        /// Several sources in one directory.
        projected: Object,
        /// What the cluster knows of the replica.
        #[serde(rename = "downwardAPI")]
        downward_api: Object,
        /// A volume of a storage driver.
        csi: Object,
    }

    /// Where a container mounts a volume.
    VolumeMount {
        /// The volume's name.
        name: String,
        /// The directory in the container.
        #[serde(rename = "mountPath")]
        mount_path: String,
        /// The directory in the volume.
        #[serde(rename = "subPath")]
        sub_path: String,
        /// How mounts inside of it are shared.
        #[serde(rename = "mountPropagation")]
        mount_propagation: String,
        /// The directory in the volume, with variables.
        #[serde(rename = "subPathExpr")]
        sub_path_expr: String,
        /// Whether it cannot be written to.
        #[serde(rename = "readOnly")]
        read_only: bool,
    }

    /// A container that runs before the server, or beside it.
    ContainerSpec {
        /// Its name.
        name: String,
        /// Its image.
        image: String,
        /// When the image is fetched: `Always`, `Never` or `IfNotPresent`.
        #[serde(rename = "imagePullPolicy")]
        image_pull_policy: String,
        /// Where its command runs.
        #[serde(rename = "workingDir")]
        working_dir: String,
        /// When it is started again.
        #[serde(rename = "restartPolicy")]
        restart_policy: String,
        /// Instead of the image's entry point.
        command: Vec<String>,
        /// Instead of the image's arguments.
        args: Vec<String>,
        /// Environment variables.
        env: Vec<EnvironmentVariable>,
        /// Where more environment variables come from.
        #[serde(rename = "envFrom")]
        env_from: Vec<Object>,
        /// How much it may use.
        resources: ContainerResources,
        /// Where it mounts volumes.
        #[serde(rename = "volumeMounts")]
        volume_mounts: Vec<VolumeMount>,
        /// What it may do.
        #[serde(rename = "securityContext")]
        security_context: Object,
    }

    /// An environment variable of a container.
    EnvironmentVariable {
        /// The variable.
        name: String,
        /// Its value, which may be a secret.
        value: Redacted,
        /// Where its value comes from.
        #[serde(rename = "valueFrom")]
        value_from: Object,
    }

    /// How much a container may use, in the cluster's own words.
    ContainerResources {
        /// What it may use.
        limits: Object,
        /// What it is promised.
        requests: Object,
    }
}
