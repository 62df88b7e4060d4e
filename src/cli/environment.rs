//! The environment variables that the program reads, as a table: [`Env::variable`](super::env::Env::variable) reads no
//! others.

use crate::compiler::server::product;
use crate::compiler::server::{self, hosted, local, setup};

/// Environment variables with the same value.
pub struct Row {
    /// Their names, in order of precedence.
    pub names: &'static [&'static str],
    /// The commands that read them; empty for all.
    pub commands: &'static [&'static str],
    /// Description of the value, in Markdown.
    pub value: &'static str,
}

const fn row(names: &'static [&'static str], commands: &'static [&'static str], value: &'static str) -> Row {
    Row { names, commands, value }
}

/// Variables that name a proxy.
pub const PROXIES: &[&str] =
    &["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Variables that name files or directories of certificates, for this program and many others.
pub const CERTIFICATES: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Variables that name files of certificates, for pip and for Node.js.
pub const PROGRAM_CERTIFICATES: &[&str] = &["PIP_CERT", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];

const SERVICE: &[&str] = &["deploy", "invoke", "manifests"];
const ENGINE: &[&str] = &["build", "deploy", "dev", "down", "invoke", "up"];
/// The commands that ask services and registries themselves.
const NETWORK: &[&str] = &["build", "deploy", "invoke", "lock"];
/// The commands that make or run images.
const IMAGES: &[&str] = &["build", "compose", "deploy", "dockerfile", "manifests", "plan", "up"];

/// All variables, by subject.
pub const VARIABLES: &[Row] = &[
    row(&["AGENT_HOST_URL"], SERVICE, "address of the deployment service; also in `.env`"),
    row(
        &[hosted::HOST, hosted::ENDPOINT],
        SERVICE,
        "address of the public service, of projects with a `langgraph.json`; also in `.env`",
    ),
    row(
        &["AGENT_HOST_API_KEY", "PLATFORM_API_KEY", "FRAMEWORK_API_KEY"],
        SERVICE,
        "API key of the deployment service; also in `.env`",
    ),
    row(hosted::KEYS, SERVICE, "the same, read last"),
    row(&["PLATFORM_TENANT_ID", hosted::TENANT], SERVICE, "workspace of the key; also in `.env`"),
    row(&["PLATFORM_DEPLOYMENT_NAME", hosted::NAME], SERVICE, "name of the deployment; also in `.env`"),
    row(&["PLATFORM_AGENT_ID", hosted::AGENT_ID], &["deploy"], "ID of the agent; also in `.env`"),
    row(
        &["PLATFORM_AGENT_ENVIRONMENT", hosted::AGENT_ENVIRONMENT],
        &["deploy"],
        "environment of the agent; also in `.env`",
    ),
    row(
        &["AGENT_HOST_REGISTRY_USERNAME", "AGENT_HOST_REGISTRY_PASSWORD"],
        &["host serve"],
        "credentials of the registry",
    ),
    row(
        &[product::VARIABLE],
        &[
            "build",
            "compose",
            "deploy",
            "dockerfile",
            "host serve",
            "lock",
            "manifests",
            "plan",
            "up",
            "validate",
        ],
        "the server, without `--server`",
    ),
    row(
        &["CI", "GITHUB_ACTIONS", "GITLAB_CI"],
        IMAGES,
        "any value but `false` and `0`: `--locked` if there is an `agent.lock`, and in `build` a hint about the layers of \
         earlier jobs",
    ),
    row(&["DOCKER_HOST"], ENGINE, "address of the container engine"),
    row(&["DOCKER_CONTEXT"], ENGINE, "Docker context, without `DOCKER_HOST`"),
    row(&["KUBECONFIG"], &["deploy", "doctor"], "configuration of kubectl, for `--to kubernetes`"),
    row(&["DOCKER_TLS_VERIFY"], ENGINE, "any value: connect to `DOCKER_HOST` with TLS"),
    row(&["DOCKER_CERT_PATH"], ENGINE, "directory of the certificates for TLS"),
    row(
        &["DOCKER_CONFIG"],
        &["build", "deploy", "dev", "down", "invoke", "lock", "up"],
        "directory of Docker's `config.json` with contexts and credentials, instead of `~/.docker`",
    ),
    row(&["COMPOSE_PROJECT_NAME"], &["dev", "down", "invoke", "up"], "name of the project"),
    row(&["AGENTCLI_POSTGRES_URI"], &["dev"], "address of PostgreSQL, without `--postgres-uri`"),
    row(&["AGENTCLI_REDIS_URI"], &["dev"], "address of Redis, without `--redis-uri`"),
    row(setup::KEYS[0].found_by, &["up"], "API key that the server gets; also in `.env`"),
    row(setup::KEYS[1].found_by, &["up"], "licence key that the server gets; also in `.env`"),
    row(&["SOURCE_DATE_EPOCH"], &["build", "deploy", "up"], "time of the image, in seconds since 1970"),
    row(&["SSH_AUTH_SOCK"], &["build", "deploy", "up"], "socket of the SSH agent for `--ssh`"),
    row(&["VIRTUAL_ENV"], &["dev"], "the active virtual environment"),
    row(&["PYENV_ROOT", "PYENV_VERSION"], &["dev"], "directory of pyenv, and the version that it selects"),
    row(local::MOUNT_PREFIX, &["dev"], "prefix of the server's routes"),
    row(
        &[server::CORS_SETTINGS, server::CORS_ORIGINS],
        &["dev"],
        "origins of pages that may use the server, instead of `http.cors`",
    ),
    row(&["PATH"], &[], "where programs are looked for"),
    row(&["HOME", "USERPROFILE"], &[], "home directory"),
    row(
        &["XDG_CACHE_HOME", "LOCALAPPDATA"],
        ENGINE,
        "directory of caches, instead of `~/.cache`; the records of built images are in `agentcli` below it",
    ),
    row(
        &["XDG_CONFIG_HOME", "APPDATA"],
        SERVICE,
        "directory of configurations, instead of `~/.config`; the services of `deploy login` are in `agentcli` below it",
    ),
    row(&["XDG_RUNTIME_DIR"], ENGINE, "directory of the sockets of engines without root"),
    row(&["NO_COLOR"], &[], "any value: no colours"),
    row(&["CLICOLOR_FORCE"], &[], "any value but `0`: colours, also without a terminal"),
    row(&["CLICOLOR", "TERM"], &[], "`0` or `dumb`: no colours"),
    row(&["RUST_BACKTRACE"], &[], "`1`: a backtrace for bugs in agentcli"),
    row(
        PROXIES,
        NETWORK,
        "proxy for the deployment service, for servers, and for registries without an engine",
    ),
    row(&["NO_PROXY", "no_proxy"], NETWORK, "hosts without a proxy"),
    row(
        CERTIFICATES,
        NETWORK,
        "file and directory with certificate authorities, instead of those of the system",
    ),
    row(PROGRAM_CERTIFICATES, &["doctor"], "certificate authorities of pip and Node.js"),
];

/// Whether the variable is in the table.
pub(super) fn is_known(name: &str) -> bool {
    VARIABLES.iter().any(|row| row.names.contains(&name))
}
