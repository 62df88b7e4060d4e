//! `agentcli graph`

use std::path::PathBuf;

use crate::cli::check::ConfigOption;
use crate::cli::console::{HEADING, note, paint, visible_line, warn};
use crate::cli::env::Env;
use crate::cli::report::text;
use crate::compiler;
use crate::compiler::back::emit::graph;
use crate::compiler::graph::Graph as Found;
use crate::compiler::words::{listed, similar};
use crate::error::Error;
use crate::invoke::{Assistant, Server};
use crate::project::{self, Boundary, Project};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli graph                         draw the graphs of ./agent.json
  agentcli graph agent -o graph.svg      write a picture of one
  agentcli graph -o graph.svg --check    fail if the picture is not what would be written now
  agentcli graph --format mermaid        print a diagram for Markdown
  agentcli graph --url http://127.0.0.1:2024   draw what a server runs, and report differences")]
pub(crate) struct Graph {
    /// Name of the graph [default: all]
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Format [default: by the ending of --output, or text]
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,

    /// Write nothing, and exit with 1 if the file is not up to date
    #[arg(long, requires = "output")]
    check: bool,

    /// Draw the graph of the server at this URL instead, and report where the source differs
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    #[command(flatten)]
    config: ConfigOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Drawing for a terminal
    Text,
    /// Picture
    Svg,
    /// Diagram of Mermaid
    Mermaid,
    /// Language of Graphviz
    Dot,
    /// One line for each graph
    Json,
}

/// Width of a drawing in a file, in columns.
const WIDTH: usize = 100;

impl Graph {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let format = self.format()?;
        let graphs = match &self.url {
            Some(url) => self.served(env, url)?,
            None => self.graphs(env)?,
        };
        let text = match format {
            Format::Text => self.drawn(env, &graphs),
            Format::Svg => picture(&graphs)?,
            Format::Mermaid => graph::mermaid(&graphs),
            Format::Dot => graph::dot(&graphs),
            Format::Json => graphs.iter().map(|(name, graph)| graph::json(name, graph)).collect(),
        };
        let Some(path) = &self.output else { return Ok(env.out.write(&text)?) };
        let (file, shown) = (env.directory.join(path), path.display());
        if !self.check {
            project::write_atomically(&file, text.as_bytes())?;
            env.print(&format!("wrote {shown}"));
            return Ok(());
        }
        let message = match project::regular_text(&file) {
            Some(current) if current == text => return Ok(()),
            Some(_) => format!("`{shown}` is out of date: the graph changed"),
            None => format!("`{shown}` does not exist"),
        };
        Err(Error::Stale { message, hint: "run the same command without --check".to_owned() })
    }

    fn format(&self) -> Result<Format, Error> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let Some(path) = &self.output else { return Ok(Format::Text) };
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Format::Svg),
            Some("txt") => Ok(Format::Text),
            Some("mmd" | "mermaid") => Ok(Format::Mermaid),
            Some("dot" | "gv") => Ok(Format::Dot),
            Some("json") => Ok(Format::Json),
            _ => {
                let message = format!("the ending of `{}` is that of no format", path.display());
                Err(Error::usage(message, "end it with .svg, .mmd, .dot or .json, or pass --format"))
            }
        }
    }

    /// The graphs of the server, by name. Reports where those of the source differ.
    fn served(&self, env: &mut Env, url: &str) -> Result<Vec<(String, Found)>, Error> {
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let server = Server::new(url, &[], false)?;
        let read = async {
            let mut found = Vec::new();
            let graphs = server.graphs().await?;
            for Assistant { id, graph } in
                graphs.iter().filter(|it| self.name.as_ref().is_none_or(|name| *name == it.graph))
            {
                found.push((graph.clone(), server.drawing(id).await?));
            }
            let names = listed(graphs.iter().map(|it| it.graph.as_str()));
            Ok::<_, Error>((found, names))
        };
        let (found, names) = runtime.block_on(stop.unless_asked(read))??;
        if found.is_empty() {
            let message = format!("{} has no such graph", server.url());
            return Err(Error::usage(message, format!("it has {names}")));
        }
        let own = if self.is_configured(env) { self.graphs(env)? } else { Vec::new() };
        let mut drawn = Vec::new();
        for (name, drawing) in found {
            let Some(graph) = Found::served(&drawing) else {
                note(env, &format!("the server does not draw the graph `{}`", visible_line(&name)));
                continue;
            };
            if let Some((_, own)) = own.iter().find(|(it, _)| *it == name) {
                for difference in own.differences(&graph) {
                    warn(env, &format!("in the graph `{}`, {difference}", visible_line(&name)));
                }
            }
            drawn.push((name, graph));
        }
        Ok(drawn)
    }

    fn is_configured(&self, env: &Env) -> bool {
        let default = || project::default_config(&env.directory).name.into();
        env.directory.join(self.config.config.clone().unwrap_or_else(default)).is_file()
    }

    /// Each graph with its name, where it is built, and what is not known of it.
    fn drawn(&self, env: &Env, graphs: &[(String, Found)]) -> String {
        let width = if self.output.is_some() { WIDTH } else { env.width };
        let drawn = |(name, graph): &(String, Found)| {
            let place = if graph.place.file.is_empty() {
                String::new()
            } else {
                format!(" ({}:{})", graph.place.file, graph.line)
            };
            let name = format!("{}{place}", visible_line(name));
            let name = if self.output.is_some() { name } else { paint(&env.out, HEADING, &name) };
            let rest = if graph.is_complete { "" } else { "\nThe source computes other nodes or edges.\n" };
            format!("{name}\n\n{}{rest}", graph::text(graph, width))
        };
        graphs.iter().map(drawn).collect::<Vec<_>>().join("\n")
    }

    /// The graphs to draw, by name.
    fn graphs(&self, env: &mut Env) -> Result<Vec<(String, Found)>, Error> {
        let path = self.config.path(env);
        let Project { source, files, .. } = match Project::load(&env.directory, &path, Boundary::Project) {
            Ok(project) => project,
            Err(unreadable) => {
                let layout =
                    text::Layout { is_coloured: env.err.is_coloured, width: env.width, is_brief: false };
                env.err.write(&text::render(&[unreadable.checked()], layout)).ok();
                return Err(Error::Config);
            }
        };
        let mut all = compiler::graphs(&source.name, &source.text, &files);
        if let Some(name) = &self.name {
            let names: Vec<_> = all.iter().map(|(name, ..)| name.clone()).collect();
            all.retain(|(it, ..)| it == name);
            if all.is_empty() {
                let names = || names.iter().map(String::as_str);
                let hint = match similar(name, names()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it has {}", listed(names())),
                };
                return Err(Error::usage(format!("{} has no graph `{name}`", source.name), hint));
            }
        }
        let mut found = Vec::new();
        for (name, reference, graph) in all {
            match graph {
                Some(graph) => found.push((name, graph)),
                None => note(env, &format!("the source of `{reference}` does not show the graph `{name}`")),
            }
        }
        if found.is_empty() {
            let message = format!("no graph of {} can be read from its source", source.name);
            return Err(Error::usage(message, "check it with `agentcli validate`"));
        }
        Ok(found)
    }
}

/// The picture of the only graph.
fn picture(graphs: &[(String, Found)]) -> Result<String, Error> {
    let [(name, graph)] = graphs else {
        let names = listed(graphs.iter().map(|(name, _)| name.as_str()));
        return Err(Error::usage("a picture shows one graph", format!("name one of {names}")));
    };
    graph::svg(name, graph).ok_or_else(|| {
        let message = format!("`{}` has too many nodes for a picture", visible_line(name));
        Error::usage(message, "use --format dot")
    })
}
