//! Questions to the user.

use std::future::Future;
use std::sync::atomic::Ordering;

use super::console::visible;
use super::env::Env;
use super::runtime::Runtime;
use crate::child::Silence;
use crate::error::Error;

/// Asks for a line with `prompt`, if somebody can answer; none when the input has ended.
pub(super) fn line(env: &mut Env, prompt: &str) -> impl Future<Output = Option<String>> + use<> {
    let is_open = env.can_ask().then(|| {
        env.err.write(prompt).and_then(|()| env.err.flush()).ok();
        env.err.open_line()
    });
    let line = env.input.line();
    async move {
        let line = line.await;
        // An answer ends the line of the prompt.
        if let (Some(is_open), Some(line)) = (is_open, &line) {
            is_open.fetch_and(!line.ends_with('\n'), Ordering::Relaxed);
        }
        line
    }
}

/// Asks for a line that is not shown while it is typed.
pub(super) fn secret(env: &mut Env, prompt: &str) -> impl Future<Output = Option<String>> + use<> {
    let silence = env.can_ask().then(Silence::start).flatten();
    let line = line(env, prompt);
    async move {
        let line = line.await;
        drop(silence);
        line
    }
}

/// Asks a yes-or-no question. An empty line means `default`; the end of the input means no.
pub(super) fn confirm(env: &mut Env, question: &str, default: bool) -> impl Future<Output = bool> + use<> {
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    let line = line(env, &format!("{} {choice} ", visible(question)));
    async move {
        let line = line.await.unwrap_or_default();
        match line.trim().to_lowercase().as_str() {
            "" => default && !line.is_empty(),
            answer => matches!(answer, "y" | "yes"),
        }
    }
}

/// The same, if somebody can answer; without a terminal, `option` confirms it.
pub(super) fn confirm_if_possible(
    env: &mut Env,
    runtime: &Runtime,
    question: &str,
    option: &str,
) -> Result<(), Error> {
    if !env.can_ask() {
        let message = "this needs confirmation, and stdin is not a terminal";
        return Err(Error::usage(message, format!("pass {option}")));
    }
    confirm_or_decline(env, runtime, question)
}

/// Asks a yes-or-no question, and fails unless the answer is yes.
pub(super) fn confirm_or_decline(env: &mut Env, runtime: &Runtime, question: &str) -> Result<(), Error> {
    let answer = confirm(env, question, false);
    if runtime.block_on(env.stop.unless_asked(answer))? { Ok(()) } else { Err(Error::Declined) }
}
