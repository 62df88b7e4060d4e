//! Plan → Dockerfile, for every BuildKit since Docker 20.10: no here-documents, no `--link`, no `# syntax`. The templates in
//! `templates/` decide how it looks; here are their filters, which quote values.

use indexmap::IndexMap;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::back::emit::heading::heading;
use crate::back::emit::{quote, template};
use crate::back::plan::Plan;
use crate::manifests::dockerignore::escaped;
use crate::paths;

/// The templates, by name.
const TEMPLATES: &[(&str, &str)] = &[
    ("Dockerfile.base", include_str!("../../../../../templates/Dockerfile.base.jinja")),
    ("Dockerfile.build", include_str!("../../../../../templates/Dockerfile.build.jinja")),
    ("Dockerfile.lines", include_str!("../../../../../templates/Dockerfile.lines.jinja")),
    ("Dockerfile.node", include_str!("../../../../../templates/Dockerfile.node.jinja")),
    ("Dockerfile.npm", include_str!("../../../../../templates/Dockerfile.npm.jinja")),
    ("Dockerfile.packages", include_str!("../../../../../templates/Dockerfile.packages.jinja")),
    ("Dockerfile.python", include_str!("../../../../../templates/Dockerfile.python.jinja")),
    ("Dockerfile.source", include_str!("../../../../../templates/Dockerfile.source.jinja")),
    ("Dockerfile.start", include_str!("../../../../../templates/Dockerfile.start.jinja")),
    ("Dockerfile.user", include_str!("../../../../../templates/Dockerfile.user.jinja")),
];

/// Maximum line width, where a line can be wrapped.
const WIDTH: usize = 100;

/// The Dockerfile of a plan, with `\n` line ends on every system.
///
/// # Panics
/// If a template does not fit its context, which is a bug that every test shows.
pub fn dockerfile(plan: &Plan) -> String {
    let name = if plan.image.python.is_some() { "Dockerfile.python" } else { "Dockerfile.node" };
    let python = plan.image.python.iter().flat_map(|python| &python.pip_config);
    let node = plan.image.node.iter().flat_map(|node| &node.secrets);
    let context = minijinja::context! {
        secrets => Serde(python.chain(node).collect::<Vec<_>>()),
        heading => heading(plan, "; `agentcli dockerfile` writes it again.").trim_end(),
        image => Serde(&plan.image),
        server => Serde(&plan.server),
        settings => settings(plan),
    };
    let environment = environment();
    let template = environment.get_template(name).and_then(|template| template.render(context));
    template.unwrap_or_else(|error| panic!("the template does not fit its context: {error:#}"))
}

fn environment() -> Environment<'static> {
    // A plan leaves out what is absent.
    let mut environment = template::environment(UndefinedBehavior::Chainable);
    for (name, template) in TEMPLATES {
        environment.add_template(name, template).expect("a template that every test renders");
    }
    environment.add_filter("assignments", assignments);
    environment.add_filter("below", below);
    environment.add_filter("by_directory", by_directory);
    environment.add_filter("commands", commands);
    environment.add_filter("copied", copied);
    environment.add_filter("directories", directories);
    environment.add_filter("each", each);
    environment.add_filter("expanded", |path: &str| quote::expanded(path));
    environment.add_filter("items", minijinja::filters::items);
    environment.add_filter("json", |words: Vec<String>| serde_json::json!(words).to_string());
    environment.add_filter("join", minijinja::filters::join);
    environment.add_filter("line", |command: &str| quote::shell_line(command));
    environment.add_filter("map", minijinja::filters::map);
    environment.add_filter("word", |word: &str| quote::shell(word));
    environment
}

/// Each word quoted for a shell, after a space and, if there is one, the option.
/// Without words, nothing. A path that starts like an option gets `./` before it.
fn each(words: Option<Vec<String>>, option: Option<&str>) -> String {
    let option = option.map(|option| format!("{option} ")).unwrap_or_default();
    let start = |word: &str| if word.starts_with('-') { "./" } else { "" };
    let word = |word: &String| format!(" {option}{}", quote::shell(&format!("{}{word}", start(word))));
    words.iter().flatten().map(word).collect()
}

/// The paths below a directory.
fn below(files: Vec<String>, directory: &str) -> Vec<String> {
    files.into_iter().map(|file| paths::join(directory, &file)).collect()
}

/// The directories of files, but for the root.
fn directories(files: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = files.iter().map(|file| paths::parent(file).to_owned()).collect();
    all.retain(|directory| directory != ".");
    all.sort();
    all.dedup();
    let others = all.clone();
    // `mkdir -p` makes those that contain another one.
    all.retain(|directory| !others.iter().any(|it| it != directory && paths::below(it, directory).is_some()));
    all
}

/// Files by directory, with a `/` at its end, in the order in which they are first named.
fn by_directory(files: Option<Vec<String>>) -> Vec<Value> {
    let mut groups: IndexMap<String, Vec<String>> = IndexMap::new();
    for file in files.into_iter().flatten() {
        let directory = paths::parent(&file);
        groups.entry(format!("{directory}/")).or_default().push(file);
    }
    groups.into_iter().map(|(directory, files)| minijinja::context! { directory, files }).collect()
}

/// The arguments of COPY for files of the context.
#[expect(clippy::needless_pass_by_value, reason = "filters take values")]
fn copied(files: Vec<String>, target: &str) -> String {
    quote::copy(&files, target)
}

/// Pairs of a name and a text as the arguments of ENV, one a line.
fn assignments(pairs: Value) -> Result<String, minijinja::Error> {
    let mut lines = Vec::new();
    for pair in pairs.try_iter()? {
        let (name, text) = (pair.get_item_by_index(0)?, pair.get_item_by_index(1)?);
        lines.push(format!("{name}={}", quote::variable(text.as_str().unwrap_or_default())));
    }
    Ok(lines.join(" \\\n    "))
}

/// The settings as text: a template would sort the keys of their values.
fn settings(plan: &Plan) -> Vec<Vec<String>> {
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    plan.contract.iter().map(|(name, value)| vec![name.clone(), text(value)]).collect()
}

/// Mounts and commands, one a line, as the arguments of RUN: each command runs if the one before it succeeded.
fn commands(lines: &str) -> String {
    let mut text = String::new();
    let mut has_command = false;
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !text.is_empty() {
            text.push_str(" \\\n    ");
        }
        let is_mount = line.starts_with("--mount");
        if has_command && !is_mount {
            text.push_str("&& ");
        }
        has_command |= !is_mount;
        text.push_str(&wrapped(line));
    }
    text
}

/// A command over several lines, if it is long.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    let mut words = quote::words(line).into_iter().peekable();
    while let Some(word) = words.next() {
        let mut part = word.to_owned();
        // An option stays with its value.
        if word.starts_with('-')
            && let Some(value) = words.next_if(|next| !next.starts_with('-'))
        {
            part = format!("{part} {value}");
        }
        let length = part.chars().count() + 1;
        // BuildKit takes a line that starts with `#` for a comment.
        if column > 0 && column + length > WIDTH && !part.starts_with('#') {
            text.push_str(" \\\n        ");
            column = 8;
        } else if column > 0 {
            text.push(' ');
        }
        text.push_str(&part);
        column += length;
    }
    text
}

/// The `.dockerignore` for that Dockerfile.
pub fn dockerignore(plan: &Plan) -> String {
    let mut text = heading(plan, ". Selects the build context of the Dockerfile beside it.");
    let withheld = plan.context.withheld.iter().map(|path| escaped(path));
    let locks = plan.image.python.iter().flat_map(|python| &python.locks);
    let requirements = locks.filter_map(|lock| Some(&lock.requirements.as_ref()?.path));
    let generated = plan.server.files.iter().chain(requirements).map(|path| format!("!{}", escaped(path)));
    for line in plan.context.ignore.iter().cloned().chain(withheld).chain(generated) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A word quoted for a POSIX shell.
pub fn shell_word(word: &str) -> String {
    quote::shell(word)
}
