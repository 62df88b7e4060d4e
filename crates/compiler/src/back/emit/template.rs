//! The templates of `templates/`, which read as the files that they make. Rust gives them values, and the filters that write
//! a value in the syntax of the file.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, filters};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::back::emit::yaml;

/// An environment without filters, in which lines with nothing but a tag leave no line. Defining all built-in filters takes
/// longer than rendering.
pub(super) fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::empty();
    let syntax =
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the default delimiters differ"));
    environment.set_undefined_behavior(undefined);
    environment
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = environment(UndefinedBehavior::Strict);
    environment.add_filter("indent", filters::indent);
    environment.add_filter("items", filters::items);
    environment.add_filter("yaml", |Serde(value): Serde<Value>| yaml::line(&value));
    environment.add_filter("flow", |Serde(value): Serde<Value>| yaml::flow(&value));
    environment.add_filter("block", |Serde(value): Serde<Value>, indent: usize| yaml::block(&value, indent));
    environment.add_filter("digest", |text: String| hex::encode(&Sha256::digest(text)[..4]));
    environment
});

/// The text of a template with `values`, with `\n` line ends on every system.
///
/// # Panics
/// If the template does not fit the values, which is a bug that every test shows.
pub fn render(template: &str, values: &impl Serialize) -> String {
    match ENVIRONMENT.render_str(template, Serde(values)) {
        Ok(text) => text,
        Err(error) => panic!("the template does not fit its values: {error:#}"),
    }
}
