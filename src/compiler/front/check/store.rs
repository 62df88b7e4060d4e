//! `store.index`: what embeds, and how long its vectors are.

use super::Context;
use crate::compiler::front::reference::is_embed_function;
use crate::compiler::paths;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&INVALID_EMBED, &MISSING_DIMS, &MISSING_EMBED];

pub(super) fn check(context: &mut Context<'_>) {
    let at = Pointer::parse("/store/index");
    let config = context.config;
    if config.at("/store/index").is_none() {
        return;
    }
    let Some(embed) = config.str_at("/store/index/embed") else {
        if !context.is_removed("/store/index/embed") {
            context.report(
                Diagnostic::new(&MISSING_EMBED, Place::Key(at), "`store.index` says nothing of what embeds")
                    .help(r#"add `"embed": "openai:text-embedding-3-small"`, or a function of your own"#),
            );
        }
        return;
    };
    let place = Place::Value(at.join("embed"));
    if config.at("/store/index/dims").is_none() && !context.is_removed("/store/index/dims") {
        let message = format!("the length of the vectors of `{}` is missing", embed.escape_debug());
        let diagnostic = Diagnostic::new(&MISSING_DIMS, place.clone(), message);
        context.report(diagnostic.help(r#"add `"dims"` beside it, such as `"dims": 1536`"#));
    }
    if !is_embed_function(embed) && !is_model(embed) {
        let message =
            format!("`{}` is neither a provider's model nor a function in a file", embed.escape_debug());
        context.report(
            Diagnostic::new(&INVALID_EMBED, place, message)
                .help("write for example `openai:text-embedding-3-small` or `./embed.py:embed`"),
        );
    }
}

/// `<provider>:<model>`, or a function in an importable module, which looks the same.
fn is_model(embed: &str) -> bool {
    let plain =
        |text: &str| !text.is_empty() && !text.contains(char::is_whitespace) && !paths::is_unprintable(text);
    embed.split_once(':').is_some_and(|(provider, model)| plain(provider) && plain(model))
}

static INVALID_EMBED: Rule = Rule {
    code: "invalid-embed",
    severity: Severity::Error,
    summary: "`embed` is neither a model nor a function",
    why: "The server looks for a provider's model, `<provider>:<model>`, or for a function in a file, \
          `<file>:<name>`. A model without its provider is not enough.",
    wrong: r#"{ "store": { "index": { "embed": "text-embedding-3-small", "dims": 1536 } } }"#,
    right: r#"{ "store": { "index": { "embed": "openai:text-embedding-3-small", "dims": 1536 } } }"#,
};

static MISSING_DIMS: Rule = Rule {
    code: "missing-dims",
    severity: Severity::Error,
    summary: "`embed` without the length of its vectors",
    why: "The database column that holds the vectors is made for one length. It must be what the model or function \
          returns, and nothing can find it out without calling that.",
    wrong: r#"{ "store": { "index": { "embed": "./embed.py:embed" } } }"#,
    right: r#"{ "store": { "index": { "embed": "./embed.py:embed", "dims": 768 } } }"#,
};

static MISSING_EMBED: Rule = Rule {
    code: "missing-embed",
    severity: Severity::Error,
    summary: "a search index without anything that embeds",
    why: "`store.index` turns semantic search on, which needs a model or a function that turns texts into vectors.",
    wrong: r#"{ "store": { "index": { "dims": 1536 } } }"#,
    right: r#"{ "store": { "index": { "embed": "openai:text-embedding-3-small", "dims": 1536 } } }"#,
};
