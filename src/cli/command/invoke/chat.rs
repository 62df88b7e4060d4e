//! A conversation: each line of stdin is a run in the same thread.

use super::input::human_message;
use super::screen::Screen;
use super::value;
use crate::cli::ask::line;
use crate::cli::console::{NOTE, report, say};
use crate::cli::env::Env;
use crate::error::Error;
use crate::invoke::{self, Run, Server, Start};

pub(super) struct Chat<'a> {
    pub(super) server: &'a Server,
    pub(super) graph: String,
    pub(super) thread: String,
    /// Whether the events are printed as JSON Lines.
    pub(super) json: bool,
}

impl Chat<'_> {
    /// Sends `first`, if there is one, and then the lines, until they end or nobody reads the output. An error of the graph
    /// ends it only where nobody can type another line.
    pub(super) async fn follow(self, env: &mut Env, first: Option<Start>) -> Result<(), Error> {
        let mut next = match first {
            Some(start) => Some(start),
            None => read(env, false).await,
        };
        while let Some(start) = next {
            let run = Run { graph: self.graph.clone(), thread: Some(self.thread.clone()), start };
            let is_interrupted = match Screen::new(env, self.json).follow(self.server, &run).await {
                Err(error @ Error::Invoke(invoke::Error::Graph { .. })) if env.can_ask() => {
                    report(env, &error);
                    false
                }
                ended => ended?,
            };
            if env.out.is_closed {
                break;
            }
            if is_interrupted && env.can_ask() {
                say(env, NOTE, "hint", "the next line is the answer");
            }
            next = read(env, is_interrupted).await;
        }
        Ok(())
    }
}

/// The run that the next line starts; empty lines are skipped.
async fn read(env: &mut Env, is_interrupted: bool) -> Option<Start> {
    loop {
        let text = line(env, "> ").await?;
        let text = text.trim();
        if !text.is_empty() {
            let answer = is_interrupted.then(|| Start::Resume(value(text)));
            return Some(answer.unwrap_or_else(|| Start::Input(human_message(text))));
        }
    }
}
