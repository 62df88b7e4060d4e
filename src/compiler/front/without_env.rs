//! The text of a configuration without the values of `env`, which must be in no image and no archive.

use crate::compiler::front::document::{self, Kind};

/// `text` with an empty string for each value in `env`; `None` if it holds no values.
pub fn without_env_values(text: &str) -> Option<String> {
    let (document, _) = document::parse(text);
    let Some(Kind::Object(variables)) = document.root.child("env").map(|env| &env.kind) else { return None };
    let mut emptied = text.to_owned();
    for variable in variables.values().rev() {
        emptied.replace_range(variable.value.span.clone(), "\"\"");
    }
    (!variables.is_empty()).then_some(emptied)
}

#[cfg(test)]
mod tests {
    use super::without_env_values;

    #[test]
    fn only_the_values_of_env_are_emptied() {
        for (text, emptied) in [
            (
                "{\n  \"env\": {\"A\": \"s\\\"}\", \"B\" : 1.5,\n \"C\": true},\n  \"x\": {\"env\": {\"A\": \"k\"}}}\n",
                Some(
                    "{\n  \"env\": {\"A\": \"\", \"B\" : \"\",\n \"C\": \"\"},\n  \"x\": {\"env\": {\"A\": \"k\"}}}\n",
                ),
            ),
            (r#"{"env": {}}"#, None),
            (r#"{"env": ".env"}"#, None),
            ("{}", None),
        ] {
            assert_eq!(without_env_values(text).as_deref(), emptied, "{text}");
        }
    }
}
