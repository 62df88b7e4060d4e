//! The typed configuration: what the user wrote, without any default chosen yet.
//!
//! Field by field the same as `schemas/agent.schema.json`; a test holds the two together. Absent means absent:
//! defaults are chosen in [`lower`](crate::compiler::back::lower), nowhere else.

mod union;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::compiler::paths;

pub use union::{EnvConfig, GraphConfig, JsonModules, KeepPkgTools, NodeVersion};

/// Defines configuration structs: every field optional, unknown keys refused, absent fields not written.
macro_rules! config {
    ($($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        #[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
        $(#[$about])*
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }
    )*};
}

/// The server that runs, and the languages of what it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// The JavaScript server.
    Javascript,
    /// The Python server with Node.js, for JavaScript graphs or UI components.
    Mixed,
    /// The Python server.
    Python,
}

impl Config {
    /// The server that it needs: the Python one, unless all graphs are JavaScript and no Python version is set.
    pub fn variant(&self) -> Variant {
        let mut graphs = self.graphs.iter().flatten();
        let has_graphs = self.graphs.as_ref().is_some_and(|graphs| !graphs.is_empty());
        let is_javascript = has_graphs && graphs.all(|(_, graph)| paths::is_javascript(&graph.path));
        match () {
            () if is_javascript && self.python_version.is_none() => Variant::Javascript,
            () if self.has_javascript() => Variant::Mixed,
            () => Variant::Python,
        }
    }

    /// Whether something of it is JavaScript, or runs on Node.js.
    pub fn has_javascript(&self) -> bool {
        let mut graphs = self.graphs.iter().flatten();
        self.ui.is_some()
            || self.node_version.is_some()
            || graphs.any(|(_, graph)| paths::is_javascript(&graph.path))
    }

    /// Whether pip installs Python packages, rather than uv.
    pub fn uses_pip(&self) -> bool {
        match self.pip_installer.as_deref() {
            Some("pip") => true,
            Some("uv") => false,
            // Only pip reads its configuration; uv would ignore it without a word.
            _ => self.pip_config_file.is_some(),
        }
    }
}

config! {
    /// `agent.json`.
    Config {
        /// Address of the schema, for editors.
        #[serde(rename = "$schema")]
        schema: String,
        /// Local directories and Python packages.
        dependencies: Vec<String>,
        /// Graphs by ID.
        graphs: IndexMap<String, GraphConfig>,
        /// Custom authentication.
        auth: AuthConfig,
        /// Image that the server image is built on.
        base_image: String,
        /// Distribution of the base image.
        image_distro: String,
        /// Environment of the running server.
        env: EnvConfig,
        /// Long-term memory.
        store: StoreConfig,
        /// UI components by name.
        ui: IndexMap<String, String>,
        /// Bundling of UI components.
        ui_config: UiConfig,
        /// Python, as major.minor.
        python_version: String,
        /// Node.js, major version.
        node_version: NodeVersion,
        /// Path of a pip configuration file.
        pip_config_file: String,
        /// `auto`, `pip` or `uv`.
        pip_installer: String,
        /// Package tools that stay.
        keep_pkg_tools: KeepPkgTools,
        /// Lines after FROM.
        dockerfile_lines: Vec<String>,
        /// State of runs.
        checkpointer: CheckpointerConfig,
        /// The HTTP server.
        http: HttpConfig,
        /// Calls on run completion.
        webhooks: WebhooksConfig,
        /// Version of the server.
        api_version: String,
        /// Encryption of stored data.
        encryption: PathConfig,
        /// Order of queued runs.
        priority: PathConfig,
        /// A uv workspace; not supported yet.
        source: Map<String, Value>,
    }

    /// `auth`.
    AuthConfig {
        /// The handler.
        path: String,
        /// What the OpenAPI document says.
        openapi: OpenApiConfig,
        /// Whether studio requests go through the handler too.
        disable_studio_auth: bool,
        /// How long answers are remembered.
        cache: CacheConfig,
    }

    /// `auth.openapi`.
    #[serde(rename_all = "camelCase")]
    OpenApiConfig {
        /// Schemes by name.
        security_schemes: Map<String, Value>,
        /// What every route needs.
        security: Vec<Map<String, Value>>,
        /// What single routes need.
        paths: Map<String, Value>,
    }

    /// `auth.cache`.
    CacheConfig {
        /// Request headers that make up the key.
        cache_keys: Vec<String>,
        /// Seconds.
        ttl_seconds: u64,
        /// Answers kept.
        max_size: u64,
    }

    /// `store`.
    StoreConfig {
        /// Semantic search.
        index: IndexConfig,
        /// Expiry.
        ttl: StoreTtl,
        /// A custom store factory.
        path: String,
    }

    /// `store.index`.
    IndexConfig {
        /// Model or function.
        embed: String,
        /// Length of the vectors.
        dims: u64,
        /// JSON paths.
        fields: Vec<String>,
    }

    /// `store.ttl`.
    StoreTtl {
        /// Whether reading restarts the timer.
        refresh_on_read: bool,
        /// Minutes.
        default_ttl: Number,
        /// Minutes.
        sweep_interval_minutes: u64,
    }

    /// `ui_config`.
    UiConfig {
        /// npm packages shared with the host page.
        shared: Vec<String>,
    }

    /// `checkpointer`.
    CheckpointerConfig {
        /// `default`, `docdb` or `custom`.
        backend: String,
        /// A custom checkpointer factory.
        path: String,
        /// Expiry.
        ttl: CheckpointTtl,
        /// How state is read back.
        serde: SerdeConfig,
    }

    /// `checkpointer.ttl`.
    CheckpointTtl {
        /// `delete` or `keep_latest`.
        strategy: String,
        /// Minutes.
        sweep_interval_minutes: u64,
        /// Minutes.
        default_ttl: Number,
        /// Threads in one sweep.
        sweep_limit: u64,
    }

    /// `checkpointer.serde`.
    SerdeConfig {
        /// Symbols that may be restored.
        allowed_json_modules: JsonModules,
        /// Whether pickle is tried.
        pickle_fallback: bool,
    }

    /// `http`.
    HttpConfig {
        /// A web application whose routes are added.
        app: String,
        /// Cross-origin requests.
        cors: CorsConfig,
        /// Headers that graphs see.
        configurable_headers: HeadersConfig,
        /// Headers that are logged.
        logging_headers: HeadersConfig,
        /// `auth_first` or `middleware_first`.
        middleware_order: String,
        /// Whether routes of `app` need authentication.
        enable_custom_route_auth: bool,
        /// Prefix of all routes.
        mount_prefix: String,
        /// Turns off the meta routes.
        disable_meta: bool,
        /// Turns off /assistants.
        disable_assistants: bool,
        /// Turns off /runs.
        disable_runs: bool,
        /// Turns off /threads.
        disable_threads: bool,
        /// Turns off /store.
        disable_store: bool,
        /// Turns off /ui.
        disable_ui: bool,
        /// Turns off /mcp.
        disable_mcp: bool,
        /// Turns off /a2a.
        disable_a2a: bool,
        /// Turns off webhook calls.
        disable_webhooks: bool,
    }

    /// `http.cors`.
    CorsConfig {
        /// Origins.
        allow_origins: Vec<String>,
        /// Methods.
        allow_methods: Vec<String>,
        /// Request headers.
        allow_headers: Vec<String>,
        /// Whether credentials may be sent.
        allow_credentials: bool,
        /// Regular expression of origins.
        allow_origin_regex: String,
        /// Response headers.
        expose_headers: Vec<String>,
        /// Seconds.
        max_age: u64,
    }

    /// `http.configurable_headers` and `http.logging_headers`.
    HeadersConfig {
        /// Patterns to take.
        includes: Vec<String>,
        /// Patterns to leave out.
        excludes: Vec<String>,
        /// The same as `includes`.
        include: Vec<String>,
        /// The same as `excludes`.
        exclude: Vec<String>,
    }

    /// `webhooks`.
    WebhooksConfig {
        /// Prefix of variables in templates.
        env_prefix: String,
        /// Header templates by name.
        headers: IndexMap<String, String>,
        /// Which addresses may be called.
        url: WebhookUrl,
    }

    /// `webhooks.url`.
    WebhookUrl {
        /// Hosts.
        allowed_domains: Vec<String>,
        /// Ports.
        allowed_ports: Vec<u16>,
        /// Whether http:// is refused.
        require_https: bool,
        /// Whether the server's own routes are refused.
        disable_loopback: bool,
        /// Characters.
        max_url_length: u64,
    }

    /// `encryption` and `priority`.
    PathConfig {
        /// The handler.
        path: String,
    }
}
