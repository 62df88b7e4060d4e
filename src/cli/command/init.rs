//! `agentcli init`

use std::path::{Path, PathBuf};

use clap::ValueHint;

use super::new::tidy;
use crate::cli::check::check_written;
use crate::cli::console::{count, note, visible_line};
use crate::cli::env::Env;
use crate::cli::report::text;
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::compiler::discover::{Fact, Found, Graph, MOST, configuration, discover, members};
use crate::compiler::front::dialect::CONFIGURATIONS;
use crate::compiler::server::hosted;
use crate::compiler::tree::Tree;
use crate::compiler::words::listed;
use crate::error::Error;
use crate::project::{DiskFiles, with_slashes, write_atomically};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli init                                         the project in the current directory
  agentcli init apps/agent                              a project of a monorepo, by its directory
  agentcli init my-agent                                a member of a workspace, by its name
  agentcli init --graph agent=./src/agent.py:graph      this graph, instead of those that are found")]
pub(crate) struct Init {
    /// Directory of the project, or name of a member of the workspace here
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    directory: PathBuf,

    /// Graph to serve, relative to the project's directory, instead of those that are found; repeatable
    #[arg(long = "graph", value_name = "NAME=PATH:NAME", value_parser = graph)]
    graphs: Vec<Graph>,

    /// Write langgraph.json, which langgraph-cli reads, instead of agent.json
    #[arg(long)]
    langgraph: bool,
}

impl Init {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let below = self.project(env)?;
        let directory = env.directory.join(&below);
        check_directory(env, &directory, &below)?;
        let files = Tree::new(DiskFiles::new(&directory));
        let mut parts = Vec::new();
        let graphs = match self.graphs.as_slice() {
            [] => {
                let discovered = discover(&files, MOST);
                parts.clone_from(&discovered.parts);
                found(&discovered, &below)?
            }
            given => given.to_vec(),
        };
        let (text, facts) = configuration(&graphs, &files);
        let name = if self.langgraph { hosted::CONFIGURATION } else { CONFIGURATIONS[0] };
        let own = tidy(&below.join(name));
        let checked = check_written(&env.directory, &own, text);
        show(env, &graphs, &facts);
        let path = with_slashes(&own);
        if checked.errors() > 0 {
            let layout = text::Layout { is_coloured: env.err.is_coloured, width: env.width, is_brief: false };
            env.print(text::render(std::slice::from_ref(&checked), layout).trim_end());
            env.print(&format!(
                "nothing was written: `{}` would have {}",
                visible_line(&path),
                count(checked.errors(), "error")
            ));
            return Err(Error::Config);
        }
        write_atomically(&directory.join(name), checked.source.text.as_bytes())?;
        env.print(&format!("wrote   {}", visible_line(&path)));
        if !parts.is_empty() {
            let parts = listed(parts.iter().map(String::as_str));
            note(env, &format!("left out what other graphs import or use: {parts}"));
        }
        if checked.warnings() > 0 {
            let warnings = count(checked.warnings(), "warning");
            note(env, &format!("it has {warnings}; `agentcli validate` shows them"));
        }
        let change =
            (below != Path::new(".")).then(|| format!("cd {} && ", shell_word(&with_slashes(&below))));
        Ok(env.out.line(&format!("next:   {}agentcli dev", change.unwrap_or_default()))?)
    }

    /// The directory of the project, relative to the current one.
    fn project(&self, env: &Env) -> Result<PathBuf, Error> {
        let given = tidy(&self.directory);
        if given.as_os_str().is_empty() {
            return Ok(PathBuf::from("."));
        }
        if env.directory.join(&given).is_dir() {
            return Ok(given);
        }
        let name = given.to_string_lossy();
        let members = members(&Tree::new(DiskFiles::new(&env.directory)));
        if let Some(member) = members.iter().find(|member| member.name == name) {
            return Ok(PathBuf::from(&member.path));
        }
        let message = format!(
            "there is no directory `{}`, and no member of a workspace here has this name",
            visible_line(&name)
        );
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        match names.as_slice() {
            [] => Err(Error::usage(message, "pass the directory of the project")),
            names => {
                Err(Error::usage(message, format!("the workspace has {}", listed(names.iter().copied()))))
            }
        }
    }
}

/// A graph as `NAME=PATH:NAME`.
fn graph(text: &str) -> Result<Graph, &'static str> {
    let parts = text.split_once('=').and_then(|(id, reference)| Some((id, reference.rsplit_once(':')?)));
    match parts {
        Some((id, (path, name))) if !id.is_empty() && !path.is_empty() && !name.is_empty() => {
            Ok(Graph::given(id, path, name))
        }
        _ => Err("write it as `agent=./src/agent.py:graph`"),
    }
}

/// Refuses a directory that has a configuration, and one that is no project.
fn check_directory(env: &Env, directory: &Path, below: &Path) -> Result<(), Error> {
    if let Some(name) = CONFIGURATIONS.iter().find(|name| directory.join(name).symlink_metadata().is_ok()) {
        let path = visible_line(&with_slashes(&tidy(&below.join(name))));
        let hint = format!("check it with `agentcli validate {path}`, or delete it to write another one");
        return Err(Error::usage(format!("`{path}` exists already; nothing was written"), hint));
    }
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let home = env.variable("HOME").or_else(|| env.variable("USERPROFILE"));
    let is_home = home.is_some_and(|home| Path::new(&home).canonicalize().is_ok_and(|home| home == real));
    if is_home || real.parent().is_none() {
        let what = if is_home { "your home directory" } else { "the root of the file system" };
        return Err(Error::usage(
            format!("this is {what}, not a project; nothing was written"),
            "change to the directory of the project, or pass it: `agentcli init DIR`",
        ));
    }
    Ok(())
}

/// The graphs that were found, or why there are none to take.
fn found(found: &Found, below: &Path) -> Result<Vec<Graph>, Error> {
    let shown = |path: &str| visible_line(&with_slashes(&tidy(&below.join(path))));
    if let Some((path, line, why)) = found.broken.first() {
        return Err(Error::usage(
            format!(
                "cannot look for graphs in `{}`, line {line}: {}; nothing was written",
                shown(path),
                visible_line(why)
            ),
            "correct the file, or name the graph: `agentcli init --graph agent=./src/agent.py:graph`",
        ));
    }
    if !found.graphs.is_empty() {
        return Ok(found.graphs.clone());
    }
    let commands: Vec<String> =
        found.projects.iter().map(|path| format!("agentcli init {}", shell_word(&shown(path)))).collect();
    let commands = commands.iter().map(String::as_str);
    match found.projects.as_slice() {
        _ if found.is_partial => Err(Error::usage(
            "there are too many files here to look for graphs in all of them; nothing was written",
            "pass the directory of the project: `agentcli init DIR`",
        )),
        [] if found.files == 0 => Err(Error::usage(
            "there is no source file here that could have a graph; nothing was written",
            "create a project with `agentcli new`, or pass the directory of yours: `agentcli init DIR`",
        )),
        [] => Err(Error::usage(
            format!("no graph found in {}; nothing was written", count(found.files, "source file")),
            "assign one at the top level of a file, such as `graph = builder.compile()`, or export it; if there is one, \
             name it: `agentcli init --graph agent=./src/agent.py:graph`",
        )),
        [one] => Err(Error::usage(
            format!("the graphs here are those of the project in `{}`; nothing was written", shown(one)),
            format!("run `agentcli init {}`", shell_word(&shown(one))),
        )),
        several => Err(Error::usage(
            format!(
                "{} here have graphs, and each has a configuration of its own; nothing was written",
                count(several.len(), "project")
            ),
            format!("choose one:\n{}", commands.collect::<Vec<_>>().join("\n")),
        )),
    }
}

/// Prints what was found, in columns.
fn show(env: &mut Env, graphs: &[Graph], facts: &[Fact]) {
    let graphs = graphs.iter().map(|graph| {
        let origin = graph.origin.map(|(line, kind)| format!(", {kind} in line {line}"));
        (graph.shown(), format!("graph {}{}", graph.id, origin.unwrap_or_default()))
    });
    let rows: Vec<(String, String)> =
        graphs.chain(facts.iter().map(|fact| (fact.path.clone(), fact.what.clone()))).collect();
    let width = rows.iter().map(|(path, _)| path.chars().count()).max().unwrap_or_default();
    for (path, what) in rows {
        let line = format!("found   {:width$}   {}", visible_line(&path), visible_line(&what));
        env.print(line.trim_end());
    }
}
