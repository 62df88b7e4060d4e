//! The server in an image whose base image does not bring it.

use crate::back::lower::Input;
use crate::back::plan::{ServerInstall, Variant};
use crate::paths;
use crate::server::files::{JAVASCRIPT_HEALTHCHECK, START, SUFFIX};
use crate::server::product::{State, USER};
use crate::server::{self, local};

/// The directory of the server's files in the context, beside a Dockerfile beside the configuration.
pub(super) fn files(input: &Input<'_>) -> Option<String> {
    let is_installed = input.config.server.installation.is_some();
    is_installed.then(|| input.layout.in_context(&format!("Dockerfile{SUFFIX}")))
}

/// Whether the image installs the server for JavaScript.
pub(super) fn installs_javascript(input: &Input<'_>) -> bool {
    input.config.server.installation.is_some() && input.resolved.variant == Variant::Javascript
}

/// The health check of the container.
pub(super) fn healthcheck(input: &Input<'_>) -> &'static [&'static str] {
    if installs_javascript(input) { JAVASCRIPT_HEALTHCHECK } else { server::HEALTHCHECK }
}

/// The server that the image installs, if its base image does not bring one.
pub(super) fn install(input: &Input<'_>) -> Option<ServerInstall> {
    let product = input.config.server;
    let installation = product.installation.as_ref()?;
    let state = match product.state {
        State::Directory { path, .. } => Some(path.to_owned()),
        State::Databases { .. } => None,
    };
    let [python, javascript] = START;
    let (own, defaults, start) = match input.resolved.variant {
        Variant::Javascript => (&[][..], &[][..], javascript),
        Variant::Python | Variant::Mixed => (installation.own, installation.defaults, python),
    };
    let pair = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Some(ServerInstall {
        own: own.iter().map(|&own| own.to_owned()).collect(),
        variables: defaults.iter().map(pair).collect(),
        start: start.iter().map(|&word| word.to_owned()).collect(),
        user: USER,
        state_link: state.as_ref().map(|_| paths::join(&input.layout.project, local::STATE)),
        state,
    })
}
