//! Variables and defaults of the hosted service's own tool, for projects that were set up for it.

/// Variable with the URL of the service.
pub const HOST: &str = "LANGGRAPH_HOST_URL";
/// Variable with the tracing URL of the platform, which the URL of the service is derived from without [`HOST`].
pub const ENDPOINT: &str = "LANGSMITH_ENDPOINT";
/// Variables with the API key, in order of precedence.
pub const KEYS: &[&str] = &["LANGGRAPH_HOST_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"];
/// Variable with the workspace ID.
pub const TENANT: &str = "LANGSMITH_TENANT_ID";
/// Variable with the name of the deployment.
pub const NAME: &str = "LANGSMITH_DEPLOYMENT_NAME";
/// Variable with the ID of the agent.
pub const AGENT_ID: &str = "LANGSMITH_AGENT_ID";
/// Variable with the environment of the agent.
pub const AGENT_ENVIRONMENT: &str = "LANGSMITH_AGENT_ENVIRONMENT";
/// File name of its configuration.
pub const CONFIGURATION: &str = "langgraph.json";
/// The server's default of `webhooks.env_prefix`.
pub const WEBHOOK_PREFIX: &str = "LG_WEBHOOK_";

/// Variables that the service sets itself, or that only the tool reads: they cannot be secrets of a deployment.
pub const RESERVED: &[&str] = &[
    "AGENT_HOST_API_KEY",
    "AGENT_HOST_URL",
    "DATABASE_URI",
    "DD_TRACE_PSYCOPG_ENABLED",
    "DD_TRACE_REDIS_ENABLED",
    "FRAMEWORK_API_KEY",
    "LANGCHAIN_API_KEY",
    "LANGCHAIN_CALLBACKS_BACKGROUND",
    "LANGCHAIN_ENDPOINT",
    "LANGCHAIN_PROJECT",
    "LANGCHAIN_TRACING_V2",
    "LANGGRAPH_AUTH_TYPE",
    "LANGGRAPH_CLOUD_LICENSE_KEY",
    "LANGGRAPH_GIT_REPO_PATH",
    "LANGGRAPH_HOST_API_KEY",
    "LANGGRAPH_HOST_URL",
    "LANGSMITH_API_KEY",
    "LANGSMITH_AUTH_ENDPOINT",
    "LANGSMITH_AUTH_VERIFY_TENANT_ID",
    "LANGSMITH_CONTROL_PLANE_API_KEY",
    "LANGSMITH_DEPLOYMENT_NAME",
    "LANGSMITH_ENDPOINT",
    "LANGSMITH_HOST_PROJECT_ID",
    "LANGSMITH_HOST_PROJECT_NAME",
    "LANGSMITH_HOST_REVISION_ID",
    "LANGSMITH_LANGGRAPH_GIT_REF",
    "LANGSMITH_LANGGRAPH_GIT_REF_SHA",
    "LANGSMITH_LANGGRAPH_GIT_REPO",
    "LANGSMITH_PROJECT",
    "LANGSMITH_TENANT_ID",
    "LANGSMITH_TRACING_V2",
    "LOG_DICT_TRACEBACKS",
    "LOG_JSON",
    "LSD_DD_API_KEY",
    "LSD_DD_ENDPOINT",
    "LSD_DEPLOYMENT_TYPE",
    "LSD_ENV",
    "MOUNT_PREFIX",
    "PATH",
    "PLATFORM_AGENT_ENVIRONMENT",
    "PLATFORM_AGENT_ID",
    "PLATFORM_API_KEY",
    "PLATFORM_DEPLOYMENT_NAME",
    "PLATFORM_TENANT_ID",
    "PORT",
    "POSTGRES_PASSWORD",
    "POSTGRES_URI",
    "POSTGRES_URI_CUSTOM",
    "REDIS_URI",
    "REDIS_URI_CUSTOM",
];

/// Variables of [`RESERVED`] that only the tool reads: they are for no server, whoever runs it.
pub const OF_TOOL: &[&str] = &[
    "AGENT_HOST_API_KEY",
    "AGENT_HOST_URL",
    "FRAMEWORK_API_KEY",
    "LANGGRAPH_HOST_API_KEY",
    "LANGGRAPH_HOST_URL",
    "PLATFORM_AGENT_ENVIRONMENT",
    "PLATFORM_AGENT_ID",
    "PLATFORM_API_KEY",
    "PLATFORM_DEPLOYMENT_NAME",
    "PLATFORM_TENANT_ID",
];
