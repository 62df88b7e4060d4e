//! The events of a run.

use serde_json::Value;

use super::sse::Message;

/// An event of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Event {
    /// Its type, such as `values`, `updates`, `messages` or `error`.
    #[serde(rename = "event")]
    pub name: String,
    /// Its data, as the server sent it.
    pub data: Value,
}

impl Event {
    /// Reads what was sent; the error is a fragment.
    pub(super) fn read(message: Message) -> Result<Self, String> {
        let data = if message.data.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&message.data).map_err(|error| {
                format!("an event is not JSON at line {}, column {}", error.line(), error.column())
            })?
        };
        Ok(Self { name: message.name, data })
    }

    /// The interrupts that it reports, if it reports any.
    pub fn interrupts(&self) -> Option<&Vec<Value>> {
        let is_state = matches!(self.name.as_str(), "values" | "updates");
        self.data["__interrupt__"].as_array().filter(|interrupts| is_state && !interrupts.is_empty())
    }
}

/// The text of a message, of which the content is a text or a list of blocks.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let text = |block: &Value| block.as_str().or_else(|| block["text"].as_str()).map(str::to_owned);
            blocks.iter().filter_map(text).collect()
        }
        _ => String::new(),
    }
}

/// Whether a language model wrote the message.
fn is_of_model(message: &Value) -> bool {
    matches!(message["type"].as_str(), Some("ai" | "AIMessageChunk"))
}

/// A message of a language model, or a part of one.
#[derive(Debug, PartialEq)]
pub struct Token {
    /// ID of the message.
    pub id: String,
    /// Its text, or the next part of it.
    pub text: String,
    /// Whether it is the whole message.
    pub is_whole: bool,
}

impl Event {
    /// The part of a language model's message that it brings.
    pub fn token(&self) -> Option<Token> {
        let message = (self.name == "messages").then(|| &self.data[0]).filter(|it| is_of_model(it))?;
        let id = message["id"].as_str().unwrap_or_default().to_owned();
        Some(Token { id, text: text_of(message), is_whole: message["type"] == "ai" })
    }
}

/// The answer in the final `state` of a run: the text of the last message, if it is one of a language model.
pub fn answer(state: &Value) -> Option<String> {
    let message = state["messages"].as_array()?.last()?;
    Some(text_of(message)).filter(|text| is_of_model(message) && !text.is_empty())
}
