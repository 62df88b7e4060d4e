//! `agentcli new`

mod template;

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use clap::ValueHint;
use template::Template;

use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::compiler::discover::{MOST, discover};
use crate::compiler::front::dialect::CONFIGURATIONS;
use crate::compiler::tree::Tree;
use crate::error::Error;
use crate::project::{self, DiskFiles, with_slashes};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli new my-agent                            in a new directory
  agentcli new                                     in the current directory, which is empty
  agentcli new my-agent --template python-agent    an agent that calls tools")]
pub(crate) struct New {
    /// Directory of the project, which also names it
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::DirPath)]
    path: PathBuf,

    /// Template of the project
    #[arg(short, long, value_name = "NAME", value_enum, default_value_t)]
    template: Template,

    /// Add the files to a directory that is not empty; existing files are kept
    #[arg(long)]
    force: bool,
}

impl New {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let directory = env.directory.join(&self.path);
        let name = project_name(&directory);
        let created = project::create(&directory, &self.template.files(&name), self.force);
        let created = created.map_err(|error| self.is_project(&directory).unwrap_or_else(|| error.into()))?;
        let shown = |file: &String| visible_line(&with_slashes(&tidy(&self.path.join(file))));
        created.kept.iter().for_each(|file| env.print(&format!("kept {}", shown(file))));
        created.written.iter().for_each(|file| env.print(&format!("wrote {}", shown(file))));
        env.print("next:");
        self.next_commands(&name).iter().try_for_each(|command| Ok(env.out.line(command)?))
    }

    /// The error about a directory that is a project already, if it is one.
    fn is_project(&self, directory: &Path) -> Option<Error> {
        let found = discover(&Tree::new(DiskFiles::new(directory)), MOST);
        let graph = found.graphs.first()?;
        let own = with_slashes(&tidy(&self.path));
        let own = if own.is_empty() { own } else { format!(" {}", shell_word(&own)) };
        let has_configuration = CONFIGURATIONS.iter().any(|name| directory.join(name).exists());
        let hint = if has_configuration {
            "start it with `agentcli dev`".to_owned()
        } else {
            format!("write its configuration with `agentcli init{own}`")
        };
        Some(Error::usage(
            format!("this is a project already, with the graph `{}`", visible_line(&graph.shown())),
            hint,
        ))
    }

    fn next_commands(&self, name: &str) -> [String; 2] {
        let start = tidy(&self.path.join(self.template.directory()));
        let dev = "agentcli dev".to_owned();
        if start.as_os_str().is_empty() {
            [dev, format!("agentcli build -t {name}")]
        } else {
            [format!("cd {}", shell_word(&with_slashes(&start))), dev]
        }
    }
}

/// `path` without `.`
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// The name of a project in `directory`, valid for Python and npm: words of letters and digits, joined by hyphens.
fn project_name(directory: &Path) -> String {
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let name = real.file_name().unwrap_or(OsStr::new("")).to_string_lossy().to_ascii_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(MAX_NAME).collect();
    match name.trim_end_matches('-') {
        "" => template::NAME.to_owned(),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("agent-{name}"),
        name if template::REQUIRED.contains(&name) => format!("{name}-project"),
        name => name.to_owned(),
    }
}

/// Maximum length of a project's name, so that the names that are derived from it are valid, too.
const MAX_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_for_python_and_npm() {
        for (directory, expected) in [
            ("my-agent", "my-agent"),
            ("My Agent_2.0", "my-agent-2-0"),
            ("--x--", "x"),
            ("2024", "agent-2024"),
            ("日本", "my-agent"),
            ("größe", "gr-e"),
            ("langgraph", "langgraph-project"),
            ("Zod", "zod-project"),
        ] {
            assert_eq!(project_name(&Path::new("/nowhere").join(directory)), expected, "{directory}");
        }
        assert_eq!(project_name(Path::new("/nowhere/..")), "my-agent");
        let long = format!("/nowhere/{}-tail", "a".repeat(MAX_NAME - 1));
        assert_eq!(project_name(Path::new(&long)).len(), MAX_NAME - 1);
    }
}
