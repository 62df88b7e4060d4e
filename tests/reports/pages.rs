//! The documentation: the pages and the picture that are generated, and the links. `AGENTCLI_BLESS=1` writes the pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentcli::compiler::paths;
use agentcli::compiler::server::product::{PRODUCTS, Product, State, USER};
use anstyle_svg::Term;
use regex_lite::Regex;
use serde_json::Value;

use crate::harness::{TestEnv, golden};
use crate::house::{below, text};

pub(super) fn generated(path: &str, contents: &str) {
    golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), contents).unwrap();
}

fn help(command: &str) -> String {
    TestEnv::empty().run(&format!("{command} --help")).out
}

/// The headings of lists of commands.
const LISTS: &[&str] = &["Commands", "Start", "Ship", "Files", "Services"];

/// The lists of commands in a help text.
pub(crate) fn lists(help: &str) -> impl Iterator<Item = &str> {
    let sections = help.split("\n\n").filter_map(|section| section.split_once(":\n"));
    sections.filter(|(heading, _)| LISTS.contains(&heading.trim())).map(|(_, list)| list)
}

/// Every command with its help. The global options are in that of the program only.
#[test]
fn commands_are_documented() {
    fn add(page: &mut String, command: &str) {
        let help = help(command);
        let (own, global) = help.split_once("\nGlobal options:\n").unwrap_or((&help, ""));
        // Those of the command that follow them.
        let further = ["\nCluster:\n", "\nExamples:\n"].iter().find_map(|heading| global.find(heading));
        let further = further.map_or("", |at| &global[at..]);
        let shown = if command.is_empty() { help.clone() } else { format!("{own}{further}") };
        let title = format!("agentcli {command}");
        page.push_str(&format!("\n## {}\n\n```text\n{}\n```\n", title.trim_end(), shown.trim_end()));
        for line in lists(own).flat_map(str::lines) {
            let name = line.split_whitespace().next().unwrap();
            if name != "help" {
                add(page, format!("{command} {name}").trim_start());
            }
        }
    }
    let mut page = "# Commands\n\nThis page is the output of `--help`.\n".to_owned();
    add(&mut page, "");
    generated("docs/reference/commands.md", &page);
}

#[test]
fn findings_are_documented() {
    generated("docs/reference/findings.md", &TestEnv::empty().run("explain --format markdown").out);
}

#[test]
fn keys_are_documented() {
    let page = text(Path::new("docs/reference/configuration.md"));
    let table = TestEnv::empty().run("explain --keys --format markdown").out;
    let start = page.find("| key | value | server variable |").unwrap();
    let end = start + page[start..].find("\n\n").unwrap() + 1;
    generated("docs/reference/configuration.md", &format!("{}{table}{}", &page[..start], &page[end..]));
}

/// The schema describes the checks.
#[test]
fn checks_of_doctor_are_documented() {
    let schema: Value = serde_json::from_str(&TestEnv::empty().run("schema doctor").out).unwrap();
    let ids = schema["$defs"]["check"]["properties"]["id"]["oneOf"].as_array().unwrap();
    let row = |id: &Value| {
        format!("| `{}` | {} |\n", id["const"].as_str().unwrap(), id["description"].as_str().unwrap())
    };
    let page = text(Path::new("docs/reference/doctor.md"));
    let start = page.find("|---|---|\n").unwrap() + "|---|---|\n".len();
    let end = start + page[start - 1..].find("\n\n").unwrap();
    let rows: String = ids.iter().map(row).collect();
    generated("docs/reference/doctor.md", &format!("{}{rows}{}", &page[..start], &page[end..]));
}

/// What each server is and does not do, from its data.
#[test]
fn servers_are_documented() {
    let row = |title: &str, value: &dyn Fn(&Product) -> String| {
        let cells: Vec<String> = PRODUCTS.iter().map(|product| value(product)).collect();
        format!("| {title} | {} |\n", cells.join(" | "))
    };
    let mut table = row("", &|product| {
        let default = if *product == *PRODUCTS[0] { " (default)" } else { "" };
        format!("`{}`{default}", product.name)
    });
    table.push_str(&format!("|---{}|\n", "|---".repeat(PRODUCTS.len())));
    table.push_str(&row("for", &|product| product.purpose.to_owned()));
    table.push_str(&row("key", &|product| {
        if product.keys.is_empty() { "none" } else { "a license or an API key" }.to_owned()
    }));
    table.push_str(&row("base image", &|product| {
        let python = format!("`{}:VERSION{}`", product.python_image, product.tag_suffix);
        let suffix = product.tag_suffix;
        let javascript = product.javascript_image.map(|image| format!("`{image}:VERSION{suffix}`"));
        [python].into_iter().chain(javascript).collect::<Vec<_>>().join(", ")
    }));
    table.push_str(&row("packages", &|product| match &product.installation {
        Some(installation) => {
            installation.own.iter().map(|own| format!("`{own}`")).collect::<Vec<_>>().join(", ")
        }
        None => "those of the base image".to_owned(),
    }));
    table.push_str(&row("state", &|product| match product.state {
        State::Databases { .. } => "PostgreSQL and Redis".to_owned(),
        State::Directory { volume, path } => format!("in memory, and on the volume `{volume}` (`{path}`)"),
    }));
    table.push_str(&row("replicas", &|product| {
        if product.has_replicas() { "several" } else { "one" }.to_owned()
    }));
    table.push_str(&row("migrations", &|product| {
        match product.state {
            State::Databases { migrations: Some(_) } => "once, before the servers start",
            State::Databases { migrations: None } => "by the server when it starts",
            State::Directory { .. } => "none",
        }
        .to_owned()
    }));
    table.push_str(&row("user in the container", &|product| match &product.installation {
        Some(_) => format!("{USER}, not root"),
        None => "that of the base image".to_owned(),
    }));
    table.push_str(&row("`/api_version`", &|product| {
        let version = product.installation.as_ref().map(|installation| installation.version);
        version.map_or_else(|| "any".to_owned(), str::to_owned)
    }));
    table.push_str(&row("JavaScript graphs", &|product| {
        let refused = product.refusals_in_javascript().iter().filter(|it| it.values.is_empty());
        let without: Vec<_> = refused.map(|it| format!("`{}`", it.pointer)).collect();
        match product.javascript_image {
            None => "refused".to_owned(),
            Some(_) if without.is_empty() => "yes".to_owned(),
            Some(_) => format!("yes, if all are; without {}", without.join(", ")),
        }
    }));
    let refusals = PRODUCTS.iter().flat_map(|product| product.refusals());
    let refused: BTreeSet<_> = refusals.map(|refusal| (refusal.pointer, refusal.values)).collect();
    for key in refused {
        let (pointer, values) = key;
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        let title = format!("`{pointer}` {}", values.join(", "));
        table.push_str(&row(title.trim_end(), &|product| {
            let found = product.refusals().find(|refusal| (refusal.pointer, refusal.values) == key);
            found.map_or_else(|| "yes".to_owned(), |refusal| format!("refused: {}", refusal.why))
        }));
    }
    let page = text(Path::new("docs/guides/containers.md"));
    let start = page.find("|  | `licensed`").or_else(|| page.find("| | `licensed`")).unwrap();
    let end = start + page[start..].find("\n\n").unwrap() + 1;
    generated("docs/guides/containers.md", &format!("{}{table}{}", &page[..start], &page[end..]));
}

#[test]
fn picture_shows_a_real_run() {
    let config = r#"{
  "dependencies": ["."],
  "graphs": { "agent": "./src/hello/graph.py:grahp" },
  "python_version": "3.9",
  "http": { "cors": { "allow_origin": ["*"] } }
}
"#;
    let project = TestEnv::empty().file("agent.json", config).file("requirements.txt", "").file(
        "src/hello/graph.py",
        "from langgraph.graph import StateGraph\n\ngraph = StateGraph(dict).compile()\n",
    );
    let run = project.at_a_terminal().width(90).run("validate");
    assert_eq!(run.code, 1);
    let shown = format!("$ agentcli validate\n{}{}", run.out, run.err);
    generated("docs/validate.svg", &Term::new().render_svg(&shown));
}

/// All pages, relative to the repository.
pub(crate) fn pages() -> Vec<PathBuf> {
    let root = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from);
    root.into_iter()
        .chain(below("docs"))
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect()
}

/// A page without its code blocks.
fn prose(path: &Path) -> String {
    let text = text(path);
    text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// The anchors of the headings of a page.
fn anchors(path: &Path) -> BTreeSet<String> {
    let prose = prose(path);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let code = Regex::new(r"`[^`\n]*`").unwrap();
    let mut broken = Vec::new();
    for page in pages() {
        let prose = prose(&page);
        for found in link.captures_iter(&code.replace_all(&prose, "code")) {
            let (path, anchor) = found[1].split_once('#').unwrap_or((&found[1], ""));
            if path.contains("://") {
                continue;
            }
            let directory = paths::parent(page.to_str().unwrap());
            let target = if path.is_empty() { page.clone() } else { paths::join(directory, path).into() };
            let exists = Path::new(env!("CARGO_MANIFEST_DIR")).join(&target).exists();
            if !exists || !anchor.is_empty() && !anchors(&target).contains(anchor) {
                broken.push(format!("{}: {}", page.display(), &found[1]));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A page that nothing links to is not found. The documents of rules are parts of a page.
#[test]
fn every_page_is_linked() {
    let all: String = pages().iter().map(|page| text(page)).collect();
    for page in below("docs").into_iter().filter(|page| !page.starts_with("docs/rules")) {
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        let is_linked = ["/", "("].iter().any(|before| all.contains(&format!("{before}{name}")));
        assert!(is_linked, "{}", page.display());
    }
}

#[test]
fn readme_is_short() {
    let lines = text(Path::new("README.md")).lines().count();
    assert!(lines < 150, "README.md has {lines} lines");
}

/// The program that the documentation names exists: `agentcli COMMAND` at the start of a console line or of inline code.
#[test]
fn documented_commands_exist() {
    let command = Regex::new(r"(?m)(?:^\$ |`)agentcli ([a-z][a-z ]*[a-z])").unwrap();
    for page in pages() {
        let text = text(&page);
        for found in command.captures_iter(&text) {
            let words: Vec<&str> = found[1].split(' ').collect();
            let run = TestEnv::empty().run(&format!("{} --help", words[0]));
            assert_eq!(run.code, 0, "{}: agentcli {}", page.display(), &found[1]);
        }
    }
}

/// Cargo.toml has the version. The files that users copy, and the extension, name it, too.
#[test]
fn every_version_is_this_one() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, before) in [
        ("examples/ci/github.yml", "/agentcli-"),
        ("examples/ci/gitlab.yml", "/agentcli-"),
        ("docs/guides/check.md", "rev: v"),
        ("editors/vscode/package.json", "\"version\": \""),
    ] {
        let text = text(Path::new(file));
        let found: Vec<&str> = text.split(before).skip(1).collect();
        assert!(!found.is_empty() && found.iter().all(|rest| rest.starts_with(version)), "{file}");
    }
}

#[test]
fn guide_has_the_picture_of_its_graph() {
    let env = TestEnv::inside(&crate::harness::fixtures("graph"));
    generated("docs/graph.svg", &env.run("graph --format svg").out);
    let page = text(Path::new("docs/guides/graph.md"));
    let drawing = env.run("graph").out;
    let start = page.find("assistant (agent.py").unwrap();
    let end = start + page[start..].find("```").unwrap();
    generated("docs/guides/graph.md", &format!("{}{drawing}{}", &page[..start], &page[end..]));
}
