//! Shows a run while it goes on, and its answer.

use anstyle::Style;
use serde_json::Value;

use crate::cli::console::{NOTE, paint, say, visible, visible_line};
use crate::cli::env::Env;
use crate::error::Error;
use crate::invoke::{self, Event, Run, Server, Token};

/// Style of the steps of the graph.
const STEP: Style = Style::new().dimmed();

/// Longest line about a step, in characters.
const MAX_STEP: usize = 200;

/// Shows the events of a run.
pub(super) struct Screen<'a> {
    env: &'a mut Env,
    /// Whether events are printed as JSON Lines, and nothing else.
    json: bool,
    /// The last message that was printed on the terminal.
    message: Option<Token>,
}

impl<'a> Screen<'a> {
    pub(super) fn new(env: &'a mut Env, json: bool) -> Self {
        Self { env, json, message: None }
    }

    /// Starts the run, and shows it until it has ended or nobody reads the output. Returns whether it was interrupted.
    pub(super) async fn follow(&mut self, server: &Server, run: &Run) -> Result<bool, Error> {
        let mut stream = server.stream(run).await?;
        let mut state = None;
        let mut interrupts = Vec::new();
        while let Some(event) = stream.next().await? {
            self.show(&event)?;
            if let Some(error) = stream.failure(&event) {
                self.end_message()?;
                return Err(error.into());
            }
            if let Some(found) = event.interrupts() {
                interrupts = found.iter().map(|it| it["value"].clone()).collect();
            }
            if event.name == "values" {
                state = Some(event.data);
            }
            if self.env.out.is_closed {
                return Ok(false);
            }
        }
        let state = state.ok_or_else(|| stream.without_state())?;
        self.end(&state, &interrupts)?;
        Ok(!interrupts.is_empty())
    }

    fn show(&mut self, event: &Event) -> Result<(), Error> {
        if self.json {
            return Ok(self.env.out.line(&serde_json::json!(event).to_string())?);
        }
        if !self.env.out.is_terminal {
            return Ok(());
        }
        if let Some(token) = event.token() {
            return self.token(token);
        }
        if event.name == "updates" {
            self.updates(&event.data)?;
        }
        Ok(())
    }

    /// Prints the next part of a message.
    fn token(&mut self, token: Token) -> Result<(), Error> {
        let is_same = self.message.as_ref().is_some_and(|message| message.id == token.id);
        if token.text.is_empty() || (is_same && token.is_whole) {
            return Ok(());
        }
        if !is_same {
            self.end_message()?;
        }
        self.env.out.write(&printable(&token.text))?;
        self.env.out.flush()?;
        match &mut self.message {
            Some(message) => message.text += &token.text,
            None => self.message = Some(token),
        }
        Ok(())
    }

    /// Ends the line of a message that was printed.
    fn end_message(&mut self) -> Result<Option<Token>, Error> {
        let message = self.message.take();
        if message.as_ref().is_some_and(|message| !message.text.ends_with('\n')) {
            self.env.out.line("")?;
        }
        Ok(message)
    }

    /// Prints the nodes that have run, and the tools that they call.
    fn updates(&mut self, updates: &Value) -> Result<(), Error> {
        let nodes = updates.as_object().into_iter().flatten().filter(|(node, _)| *node != "__interrupt__");
        for (node, update) in nodes {
            self.step(node);
            let messages = update["messages"].as_array().into_iter().flatten();
            for call in messages.flat_map(|message| message["tool_calls"].as_array().into_iter().flatten()) {
                let name = call["name"].as_str().unwrap_or_default();
                self.step(&format!("{node} calls {name}({})", call["args"]));
            }
        }
        Ok(())
    }

    fn step(&mut self, text: &str) {
        let text: String = visible_line(text).chars().take(MAX_STEP).collect();
        // A message may be open on the same terminal.
        let open = self.message.as_ref().is_some_and(|message| !message.text.ends_with('\n'));
        if open {
            self.env.out.line("").ok();
            self.message.iter_mut().for_each(|message| message.text.push('\n'));
        }
        let line = paint(&self.env.err, STEP, &text);
        self.env.print(&line);
    }

    /// Prints the answer, or the interrupts.
    fn end(&mut self, state: &Value, interrupts: &[Value]) -> Result<(), Error> {
        let message = self.end_message()?;
        for value in interrupts {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            say(self.env, NOTE, "interrupted", &value);
        }
        if self.json || (self.env.out.is_terminal && !interrupts.is_empty()) {
            return Ok(());
        }
        let answer = invoke::answer(state).filter(|_| interrupts.is_empty());
        let is_printed = |answer: &String| message.is_some_and(|it| it.text.trim_end() == answer.trim_end());
        let text = match answer {
            Some(answer) if is_printed(&answer) => return Ok(()),
            Some(answer) => answer,
            None => state.to_string(),
        };
        let text = if self.env.out.is_terminal { printable(&text) } else { text };
        Ok(self.env.out.line(&text)?)
    }
}

/// `text` for a terminal, with escapes for all control characters but line breaks and tabs.
fn printable(text: &str) -> String {
    let parts: Vec<_> = text.split('\t').map(visible).collect();
    parts.join("\t")
}
