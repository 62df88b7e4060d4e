//! The URLs of a running server.

use serde::Serialize;
use serde_json::Value;

use crate::compiler::back::plan::{Plan, Variant};
use crate::compiler::server::local;

/// Where the server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Urls {
    /// The server, without the prefix of its routes.
    #[serde(skip)]
    pub origin: String,
    /// The health check.
    #[serde(skip)]
    pub ok: String,
    /// The page of runs, threads and the graph, where the server has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// The API.
    pub api: String,
    /// The API's documentation; the JavaScript server has none.
    pub docs: Option<String>,
    /// The studio, connected to the server.
    pub studio: String,
    /// The API from elsewhere, if there is a tunnel.
    pub public: Option<String>,
    /// The debugger's page, if there is one.
    pub debugger: Option<String>,
}

impl Urls {
    /// The URLs of the server at `origin` whose routes begin with `prefix`; `public` is its origin through a tunnel, and
    /// `studio` the studio's address.
    pub fn new(plan: &Plan, origin: String, prefix: &str, public: Option<&str>, studio: &str) -> Self {
        let api = format!("{origin}{prefix}");
        let public = public.map(|origin| format!("{origin}{prefix}"));
        let (_, connect) = local::STUDIO;
        let has_docs = plan.server.variant != Variant::Javascript;
        Self {
            ok: format!("{api}{}", local::OK_ROUTE),
            docs: has_docs.then(|| format!("{api}{}", local::DOCS_ROUTE)),
            studio: format!("{studio}{connect}{}", public.as_ref().unwrap_or(&api)),
            page: None,
            debugger: None,
            origin,
            api,
            public,
        }
    }
}

/// The prefix of all routes. As in the server, a variable takes precedence over the configuration, whose value of `http`
/// this gets; the JavaScript server has no prefix.
pub fn mount_prefix(plan: &Plan, http: Option<&Value>, variable: impl Fn(&str) -> Option<String>) -> String {
    if plan.server.variant == Variant::Javascript {
        return String::new();
    }
    let configured = || http?["mount_prefix"].as_str().map(str::to_owned);
    let prefix = local::MOUNT_PREFIX.iter().find_map(|name| variable(name)).or_else(configured);
    prefix.unwrap_or_default().trim_end_matches('/').to_owned()
}
