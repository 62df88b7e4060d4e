//! Plan → Dockerfile, for every BuildKit since Docker 20.10: no here-documents, no `--link`, no `# syntax`.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use serde_json::Value;

use crate::back::emit::heading::heading;
use crate::back::emit::quote;
use crate::back::plan::{Action, Command, Mount, Plan, Step};
use crate::manifests::dockerignore::escaped;

const TEMPLATE: &str = include_str!("../../../../../templates/Dockerfile.jinja");

/// Maximum line width, where a line can be wrapped.
const WIDTH: usize = 100;

#[derive(Serialize)]
struct Rendered {
    heading: Option<String>,
    is_apart: bool,
    instruction: String,
}

/// The Dockerfile of a plan, with `\n` line ends on every system.
pub fn dockerfile(plan: &Plan) -> String {
    let mut before = "";
    let mut steps = Vec::new();
    for step in &plan.steps {
        let is_apart = step.why.is_empty() || step.why != before;
        let heading = (is_apart && !step.why.is_empty()).then(|| step.why.clone());
        before = &step.why;
        steps.push(Rendered { heading, is_apart, instruction: instruction(step) });
    }
    rendered(
        minijinja::context! { heading => heading(plan, "; `agentcli dockerfile` writes it again.").trim_end(), steps => Serde(steps) },
    )
}

/// # Panics
/// If the template does not fit its context, which is a bug that every test shows.
fn rendered(context: minijinja::Value) -> String {
    // Defining all built-in filters takes longer than rendering.
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    match environment.render_str(TEMPLATE, context) {
        Ok(text) => text + "\n",
        Err(error) => panic!("the template does not fit its context: {error}"),
    }
}

/// The `.dockerignore` for that Dockerfile.
pub fn dockerignore(plan: &Plan) -> String {
    let mut text = heading(plan, ". Selects the build context of the Dockerfile beside it.");
    let withheld = plan.context.withheld.iter().map(|path| escaped(path));
    let server = plan.server.files.iter().map(|path| format!("!{}", escaped(path)));
    for line in plan.context.ignore.iter().cloned().chain(withheld).chain(server) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A word quoted for a POSIX shell.
pub fn shell_word(word: &str) -> String {
    quote::shell(word)
}

/// A step as an instruction, wrapped if it is long.
pub fn instruction(step: &Step) -> String {
    match &step.action {
        Action::Copy { from, sources, target } => {
            let from = from.as_ref().map(|stage| format!("--from={stage} ")).unwrap_or_default();
            format!("COPY {from}{}", quote::copy(sources, target))
        }
        Action::Env { variables } => {
            let pairs = variables
                .iter()
                .map(|(name, value)| format!("{name}={}", quote::always_expanded(&text(value))));
            format!("ENV {}", pairs.collect::<Vec<_>>().join(" \\\n    "))
        }
        Action::From { image, stage } => {
            let stage = stage.as_ref().map(|stage| format!(" AS {stage}")).unwrap_or_default();
            format!("FROM {image}{stage}")
        }
        Action::Lines { lines } => lines.join("\n"),
        Action::Run { mounts, commands } => run(mounts, commands),
        Action::Workdir { path } => format!("WORKDIR {}", quote::expanded(path)),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn run(mounts: &[Mount], commands: &[Command]) -> String {
    let mut instruction = "RUN ".to_owned();
    for mount in mounts {
        let mount = match mount {
            Mount::Bind { from, source, target, is_writable } => {
                let mode = if *is_writable { ",rw" } else { "" };
                format!("--mount=type=bind,from={from},source={source},target={target}{mode}")
            }
            Mount::Cache { target } => format!("--mount=type=cache,target={target}"),
            Mount::Secret { id, target } => format!("--mount=type=secret,id={id},target={target}"),
        };
        instruction.push_str(&mount);
        instruction.push_str(" \\\n    ");
    }
    let script = commands.iter().map(script).collect::<Vec<_>>();
    let joined = script.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" && ");
    if is_shell_form(&joined) {
        let wrapped = script.iter().map(|words| wrap(words)).collect::<Vec<_>>();
        instruction + &wrapped.join(" \\\n    && ")
    } else {
        instruction + &format!("[\"/bin/sh\", \"-c\", {}]", quote::json(&joined))
    }
}

/// The shell words of a command.
fn script(command: &Command) -> Vec<String> {
    match command {
        Command::Shell(line) => vec![line.clone()],
        Command::Unless { check, commands } => {
            let mut words = commands.iter().map(script).collect::<Vec<_>>().join(&"&&".to_owned());
            words.iter_mut().take(1).for_each(|first| first.insert(0, '('));
            words.iter_mut().last().into_iter().for_each(|last| last.push_str("))"));
            [format!("({check}"), "||".to_owned()].into_iter().chain(words).collect()
        }
        Command::Write { lines, file } => {
            let lines = lines.iter().map(|line| quote::shell(line));
            let start = ["printf", r"'%s\n'"].map(str::to_owned);
            start.into_iter().chain(lines).chain([">".to_owned(), file.clone()]).collect()
        }
        Command::Words { variables, words } => {
            let variables = variables.iter().map(|(name, value)| format!("{name}={}", quote::shell(value)));
            variables.chain(words.iter().map(|word| quote::shell(word))).collect()
        }
    }
}

/// Whether the frontend passes this line to the shell unchanged. Other lines are written as JSON.
fn is_shell_form(line: &str) -> bool {
    !line.chars().any(char::is_control)
        && !line.ends_with('\\')
        && !line.starts_with(['[', '#'])
        && !line.starts_with("--")
        && !line.contains("<<")
        && line.trim() == line
}

fn wrap(words: &[String]) -> String {
    let mut text = String::new();
    let mut column = 0;
    // An option stays with its value.
    for words in words.chunk_by(|word, _| word.starts_with('-') && !word.contains('=')) {
        let words = words.join(" ");
        let length = words.chars().count() + 1;
        if column > 0 && column + length > WIDTH {
            text.push_str(" \\\n        ");
            column = 8;
        } else if column > 0 {
            text.push(' ');
        }
        text.push_str(&words);
        column += length;
    }
    text
}
