//! `agentcli invoke`

mod chat;
mod input;
mod screen;

use serde_json::Value;

use self::chat::Chat;
use self::input::Given;
use self::screen::Screen;
use crate::cli::console::{NOTE, note, say, visible_line};
use crate::cli::env::Env;
use crate::cli::target::TargetOptions;
use crate::compiler::words::similar;
use crate::error::Error;
use crate::invoke::{self, Assistant, Run, Server, Start};

/// The value of `--thread` for a new one.
const NEW: &str = "new";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli invoke 'What is new?'                      run the only graph of `agentcli dev`
  agentcli invoke agent '{\"name\": \"Ada\"}' | jq
  agentcli invoke agent @input.json --thread new      keep the state in a new thread
  agentcli invoke agent --thread ID --resume yes      answer an interrupt
  agentcli invoke agent --chat                        send each line that is typed
  agentcli invoke --url https://agent.example --header-env 'X-Api-Key: AGENT_KEY' agent Hello")]
pub(crate) struct Invoke {
    /// Graph, or ID of an assistant [default: the only graph of the server]
    #[arg(value_name = "GRAPH")]
    graph: Option<String>,

    /// Input: a JSON object, text for a human message, @FILE, or - for stdin [default: stdin]
    #[arg(value_name = "INPUT", conflicts_with = "resume")]
    input: Option<String>,

    #[command(flatten)]
    target: TargetOptions,

    /// URL of the server [default: that of `dev` or `up` for the project here]
    #[arg(long, value_name = "URL", conflicts_with = "deployment")]
    url: Option<String>,

    /// Thread that keeps the state between runs; `new` creates one [default: no state is kept; with --chat, new]
    #[arg(long, value_name = "ID|new")]
    thread: Option<String>,

    /// Answer to the interrupt of the thread's last run: JSON or text
    #[arg(long, value_name = "VALUE", requires = "thread")]
    resume: Option<String>,

    /// Read lines from stdin, and send each to the thread: as a human message, or as the answer to an interrupt
    #[arg(long, conflicts_with = "resume")]
    chat: bool,

    /// Print the events of the run as JSON Lines, as the server sends them
    #[arg(long)]
    json: bool,
}

impl Invoke {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let server = self.target.server(env, &runtime, self.url.as_deref())?;
        // Dropping a stream cancels its run.
        let done = runtime.block_on(stop.unless_asked(self.invoke(env, &server)));
        done.map_err(|_| Error::Unfollowed)?
    }

    async fn invoke(&self, env: &mut Env, server: &Server) -> Result<(), Error> {
        let (graph, input) = self.graph(server).await?;
        if self.chat {
            return self.chat(env, server, graph, input).await;
        }
        let start = match &self.resume {
            Some(answer) => Start::Resume(value(answer)),
            None => start(env, server, &graph, input.unwrap_or(input::STDIN)).await?,
        };
        let thread = match &self.thread {
            Some(thread) => Some(thread_id(env, server, thread).await?),
            None => None,
        };
        let run = Run { graph, thread, start };
        let followed = Screen::new(env, self.json).follow(server, &run).await;
        if let Err(Error::Invoke(invoke::Error::Rejected { status: 404 | 422, .. })) = &followed
            && server.graphs().await.is_ok()
        {
            id_of(server, &run.graph).await?;
        }
        if followed? {
            say(env, NOTE, "hint", &how_to_answer(&run));
        }
        Ok(())
    }

    /// Sends the input, if there is one, and then each line of stdin.
    async fn chat(
        &self,
        env: &mut Env,
        server: &Server,
        graph: String,
        input: Option<&str>,
    ) -> Result<(), Error> {
        let first = match input {
            Some(input) => Some(start(env, server, &graph, input).await?),
            None => {
                check_messages(server, &graph).await?;
                None
            }
        };
        let thread = thread_id(env, server, self.thread.as_deref().unwrap_or(NEW)).await?;
        Chat { server, graph, thread, json: self.json }.follow(env, first).await
    }

    /// The graph, and the input if it is an argument.
    async fn graph(&self, server: &Server) -> Result<(String, Option<&str>), Error> {
        if let Some(graph) = self.graph.as_ref().filter(|_| self.input.is_some() || self.resume.is_some()) {
            return Ok((graph.clone(), self.input.as_deref()));
        }
        let graphs = server.graphs().await?;
        match &self.graph {
            Some(name) if graphs.iter().any(|it| is_named(it, name)) => Ok((name.clone(), None)),
            input => Ok((only(graphs, server)?, input.as_deref())),
        }
    }
}

/// The start with an input, which may be text.
async fn start(env: &mut Env, server: &Server, graph: &str, input: &str) -> Result<Start, Error> {
    match input::read(env, input)? {
        Given::Object(input) => Ok(Start::Input(input)),
        Given::Text(text) => {
            check_messages(server, graph).await?;
            Ok(Start::Input(input::human_message(&text)))
        }
    }
}

/// Checks that the graph takes messages, as which text is sent.
async fn check_messages(server: &Server, graph: &str) -> Result<(), Error> {
    if server.takes_messages(id_of(server, graph).await?).await? {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "the input is not a JSON object, and the graph `{}` takes no `messages`",
            visible_line(graph)
        ),
        "write the input as a JSON object, such as '{\"name\": \"Ada\"}'",
    ))
}

/// The ID of the assistant that a graph's name or an ID means; an error with the graph that may be meant.
async fn id_of<'a>(server: &'a Server, graph: &'a str) -> Result<&'a str, Error> {
    let graphs = server.graphs().await?;
    match graphs.iter().find(|it| is_named(it, graph)) {
        Some(assistant) => Ok(&assistant.id),
        // The server knows the assistants that are not listed.
        None if input::is_uuid(graph) => Ok(graph),
        None => {
            let message = format!("{} has no graph `{}`", server.url(), visible_line(graph));
            let meant = similar(graph, graphs.iter().map(|it| it.graph.as_str()));
            let meant = meant.map(|meant| format!("did you mean `{}`? ", visible_line(meant)));
            Err(Error::usage(
                message,
                format!("{}its graphs are {}", meant.unwrap_or_default(), names(graphs)),
            ))
        }
    }
}

/// The ID of the thread that `--thread` names; a new one is created.
async fn thread_id(env: &mut Env, server: &Server, thread: &str) -> Result<String, Error> {
    if thread != NEW {
        return Ok(thread.to_owned());
    }
    let id = server.create_thread().await?;
    note(env, &format!("thread: {id}"));
    Ok(id)
}

/// How to answer the interrupt of a run.
fn how_to_answer(run: &Run) -> String {
    match &run.thread {
        Some(id) => {
            let (graph, id) = (visible_line(&run.graph), visible_line(id));
            format!("answer with `agentcli invoke {graph} --thread {id} --resume VALUE`")
        }
        None => "run it with --thread new to be able to answer".to_owned(),
    }
}

fn is_named(assistant: &Assistant, name: &str) -> bool {
    assistant.graph == name || assistant.id == name
}

fn names(graphs: &[Assistant]) -> String {
    let names: Vec<String> = graphs.iter().map(|it| format!("`{}`", visible_line(&it.graph))).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The only graph of the server.
fn only(graphs: &[Assistant], server: &Server) -> Result<String, Error> {
    if let [only] = graphs {
        return Ok(only.graph.clone());
    }
    let message = format!("{} has {} graphs: {}", server.url(), graphs.len(), names(graphs));
    Err(Error::usage(message, "name one before the input: agentcli invoke GRAPH INPUT"))
}

/// JSON, or else text.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
