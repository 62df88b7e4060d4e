//! `store.index`: the embedding model or function, and the length of its vectors.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};
use crate::front::reference::is_embed_function;
use crate::paths;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&INVALID_EMBED, &MISSING_DIMS, &MISSING_EMBED];

pub(super) fn check(context: &mut Context<'_>) {
    let at = Pointer::parse("/store/index");
    let config = context.config;
    if config.at("/store/index").is_none() {
        return;
    }
    let Some(embed) = config.str_at("/store/index/embed") else {
        if context.is_absent("/store/index/embed") {
            context.report(
                Diagnostic::new(&MISSING_EMBED, Place::Key(at), "`store.index` has no `embed`")
                    .help(r#"add `"embed": "openai:text-embedding-3-small"`, or a function in your code"#),
            );
        }
        return;
    };
    let place = Place::Value(at.join("embed"));
    if context.is_absent("/store/index/dims") {
        let message = format!("the vector length of `{}` is missing", embed.escape_debug());
        let diagnostic = Diagnostic::new(&MISSING_DIMS, place.clone(), message);
        context.report(diagnostic.help(r#"add `"dims"` beside it, such as `"dims": 1536`"#));
    }
    if !is_embed_function(embed) && !is_model(embed) {
        let message = format!(
            "`{}` is neither a model with its provider nor a function in a file",
            embed.escape_debug()
        );
        context.report(
            Diagnostic::new(&INVALID_EMBED, place, message)
                .help("write for example `openai:text-embedding-3-small` or `./embed.py:embed`"),
        );
    }
}

/// Whether this is `<provider>:<model>`; a function in an importable module looks the same.
fn is_model(embed: &str) -> bool {
    let plain =
        |text: &str| !text.is_empty() && !text.contains(char::is_whitespace) && !paths::is_unprintable(text);
    embed.split_once(':').is_some_and(|(provider, model)| plain(provider) && plain(model))
}

static INVALID_EMBED: Rule = rule!("invalid-embed");

static MISSING_DIMS: Rule = rule!("missing-dims");

static MISSING_EMBED: Rule = rule!("missing-embed");
