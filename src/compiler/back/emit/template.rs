//! The templates, and the one way to render them.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, filters};
use serde::Serialize;

/// Renders `source` with `context`.
///
/// # Panics
/// When the template is at odds with its context, which is a bug of this program that every test would show.
pub(super) fn render(source: &'static str, context: impl Serialize) -> String {
    // To define all the filters that there are takes longer than to render.
    let mut environment = Environment::empty();
    environment.add_filter("join", filters::join);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    match environment.render_str(source, Value::from(Serde(context))) {
        Ok(text) => text + "\n",
        Err(error) => panic!("a template does not fit its context: {error}"),
    }
}
