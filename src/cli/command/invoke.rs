//! `agentcli invoke`

mod input;
mod screen;
mod target;

use serde_json::Value;

use self::input::Given;
use self::screen::Screen;
use self::target::TargetOptions;
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::error::Error;
use crate::invoke::{Assistant, Run, Server, Start};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli invoke 'What is new?'                      run the only graph of `agentcli dev`
  agentcli invoke agent '{\"name\": \"Ada\"}' | jq
  agentcli invoke agent @input.json --thread new      keep the state in a new thread
  agentcli invoke agent --thread ID --resume yes      answer an interrupt
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

    /// Thread that keeps the state between runs; `new` creates one [default: no state is kept]
    #[arg(long, value_name = "ID|new")]
    thread: Option<String>,

    /// Answer to the interrupt of the thread's last run: JSON or text
    #[arg(long, value_name = "VALUE", requires = "thread")]
    resume: Option<String>,

    /// Print the events of the run as JSON Lines, as the server sends them
    #[arg(long)]
    json: bool,
}

impl Invoke {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let server = self.target.server(env)?;
        let run = runtime.block_on(stop.unless_asked(self.resolve(env, &server)));
        let run = run.map_err(|_| Error::Unfollowed)??;
        let mut screen = Screen::new(env, self.json);
        // Dropping the stream cancels the run.
        let followed = runtime.block_on(stop.unless_asked(screen.follow(&server, &run)));
        followed.map_err(|_| Error::Unfollowed)?
    }

    /// The graph, the input and the thread of the run.
    async fn resolve(&self, env: &mut Env, server: &Server) -> Result<Run, Error> {
        let (graph, start) = match (&self.graph, &self.input, &self.resume) {
            (Some(graph), Some(input), _) => (graph.clone(), self.start(env, server, graph, input).await?),
            (Some(graph), None, Some(answer)) => (graph.clone(), Start::Resume(value(answer))),
            (first, _, answer) => {
                let graphs = server.graphs().await?;
                let names_graph = |name: &String| graphs.iter().any(|it| is_named(it, name));
                let named = first.as_ref().filter(|name| names_graph(name));
                let graph = match named {
                    Some(graph) => graph.clone(),
                    None => only(&graphs, server)?,
                };
                let start = match (answer, first.as_ref().filter(|_| named.is_none())) {
                    (Some(answer), _) => Start::Resume(value(answer)),
                    (None, Some(input)) => self.start(env, server, &graph, input).await?,
                    (None, None) => self.start(env, server, &graph, input::STDIN).await?,
                };
                (graph, start)
            }
        };
        let thread = match self.thread.as_deref() {
            Some("new") => {
                let id = server.create_thread().await?;
                note(env, &format!("thread: {id}"));
                Some(id)
            }
            thread => thread.map(str::to_owned),
        };
        Ok(Run { graph, thread, start })
    }

    /// The start with an input, which may be text.
    async fn start(&self, env: &mut Env, server: &Server, graph: &str, input: &str) -> Result<Start, Error> {
        let text = match input::read(env, input)? {
            Given::Object(input) => return Ok(Start::Input(input)),
            Given::Text(text) => text,
        };
        let graphs = server.graphs().await?;
        let unknown = || {
            let names = names(&graphs);
            let message = format!("{} has no graph `{}`", server.url(), visible_line(graph));
            Error::usage(message, format!("its graphs are {names}"))
        };
        // The server knows the assistants that are not listed.
        let id = match graphs.iter().find(|it| is_named(it, graph)) {
            Some(assistant) => &assistant.id,
            None if input::is_uuid(graph) => graph,
            None => return Err(unknown()),
        };
        if server.takes_messages(id).await? {
            return Ok(Start::Input(input::human_message(&text)));
        }
        Err(Error::usage(
            format!(
                "the input is not a JSON object, and the graph `{}` takes no `messages`",
                visible_line(graph)
            ),
            "write the input as a JSON object, such as '{\"name\": \"Ada\"}'",
        ))
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
