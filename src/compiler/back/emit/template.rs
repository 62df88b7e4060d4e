//! Rendering of templates.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, filters};
use serde::Serialize;

/// Renders `source` with `context`.
///
/// # Panics
/// If the template does not fit its context, which is a bug that every test shows.
pub(super) fn render(source: &'static str, context: impl Serialize) -> String {
    // Defining all built-in filters takes longer than rendering.
    let mut environment = Environment::empty();
    environment.add_filter("join", filters::join);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    match environment.render_str(source, Value::from(Serde(context))) {
        Ok(text) => text + "\n",
        Err(error) => panic!("a template does not fit its context: {error}"),
    }
}
