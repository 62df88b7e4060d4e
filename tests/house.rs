//! The layout of the source: the dependencies of rooms, the length of files, and that every file is used.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Room, and the other rooms that it may use. `main` and `lib` are not rooms.
pub(crate) const ROOMS: &[(&str, &[&str])] = &[
    ("api", &[]),
    ("diagnostic", &[]),
    (
        "error",
        &[
            "api", "cluster", "compose", "context", "dev", "engine", "invoke", "live", "lsp", "project",
            "registry", "ship", "up",
        ],
    ),
    ("compiler", &["diagnostic"]),
    ("context", &["compiler"]),
    ("engine", &["child", "compiler", "context", "live"]),
    ("invoke", &["api"]),
    ("kubernetes", &["api", "compiler"]),
    ("live", &["compiler", "probe", "watch"]),
    ("lsp", &["compiler", "diagnostic", "project"]),
    ("watch", &["compiler", "project"]),
    ("probe", &["api"]),
    ("child", &["live"]),
    ("cluster", &["api", "child", "compiler", "dev", "kubernetes", "live", "ship"]),
    ("compose", &["child", "compiler", "engine", "live", "probe", "project", "up"]),
    ("doctor", &["api", "compiler", "dev", "engine", "project", "up"]),
    ("dev", &["child", "compiler", "live", "probe", "project", "watch"]),
    ("up", &["compiler", "engine", "live", "probe", "watch"]),
    ("project", &["compiler", "diagnostic"]),
    ("registry", &["api", "compiler", "context", "engine", "live"]),
    ("ship", &["api", "context", "engine", "live", "registry"]),
    (
        "cli",
        &[
            "api",
            "child",
            "cluster",
            "compiler",
            "compose",
            "context",
            "dev",
            "diagnostic",
            "doctor",
            "engine",
            "error",
            "invoke",
            "kubernetes",
            "live",
            "lsp",
            "project",
            "registry",
            "ship",
            "up",
        ],
    ),
];

/// Room of the host, from the bottom to the top, and the others that it may use. `main` and `lib` are not rooms.
const HOST_ROOMS: &[(&str, &[&str])] = &[
    ("lock", &[]),
    ("net", &["lock"]),
    ("proxy", &["lock", "net"]),
    ("store", &["lock", "net"]),
    ("runner", &["lock", "net", "store"]),
    ("registry", &["lock", "net", "runner", "store"]),
    ("reconcile", &["lock", "net", "proxy", "registry", "runner", "store"]),
    ("api", &["lock", "net", "registry", "runner", "store"]),
    ("service", &["api", "net", "proxy", "reconcile", "registry", "runner", "store"]),
    ("command", &["api", "net", "registry", "runner", "service", "store"]),
];

/// The source of the compiler, a crate of its own: cargo compiles it in parallel with libraries that it does not use, and
/// it cannot use the other rooms.
const COMPILER: &str = "crates/compiler/src";

/// Module of the compiler, and the other modules that it may use. A module without a row is an error.
const MODULES: &[(&str, &[&str])] = &[
    ("agent_lock", &["front::base_image", "front::config", "manifests", "server"]),
    ("back::emit", &["back::plan", "graph", "manifests::dockerignore", "paths"]),
    (
        "back::lower",
        &[
            "agent_lock",
            "back::plan",
            "back::resolve",
            "files",
            "front::config",
            "front::dialect",
            "front::keys",
            "front::reference",
            "front::without_env",
            "front::workspace",
            "manifests",
            "options",
            "paths",
            "server",
            "tree",
            "words",
        ],
    ),
    ("back::plan", &["front::config", "front::keys", "manifests", "server"]),
    (
        "back::resolve",
        &[
            "back::plan",
            "files",
            "front::base_image",
            "front::config",
            "front::workspace",
            "manifests",
            "options",
            "paths",
            "tree",
        ],
    ),
    ("diagnostic", &[]),
    ("discover", &["files", "manifests", "paths", "server", "tree"]),
    ("files", &["paths"]),
    ("finding", &["front::document", "front::source"]),
    ("front::base_image", &["front::config", "manifests", "server", "tree"]),
    (
        "front::check",
        &[
            "files",
            "front::base_image",
            "front::config",
            "front::document",
            "front::keys",
            "front::reference",
            "front::schema",
            "front::workspace",
            "graph",
            "manifests",
            "paths",
            "secrecy",
            "server",
            "tree",
            "words",
        ],
    ),
    ("front::config", &["files", "front::dialect", "manifests", "paths", "server", "tree"]),
    ("front::dialect", &["paths", "server"]),
    ("front::document", &["secrecy"]),
    ("front::documentation", &["front::keys", "front::schema", "words"]),
    ("front::keys", &[]),
    (
        "front::extent",
        &["files", "front::config", "front::reference", "front::workspace", "manifests", "paths", "tree"],
    ),
    ("front::reference", &["front::keys", "paths"]),
    ("front::schema", &["front::dialect", "front::document", "front::keys", "secrecy", "words"]),
    ("front::source", &[]),
    ("front::without_env", &["front::document", "front::schema", "secrecy", "words"]),
    (
        "front::workspace",
        &["files", "front::base_image", "front::config", "manifests", "paths", "server", "tree", "words"],
    ),
    ("graph", &["manifests::stack", "manifests::symbols", "paths", "words"]),
    ("manifests::above", &["files", "manifests", "paths", "tree"]),
    ("manifests::dependency", &["files", "manifests", "paths", "tree"]),
    ("manifests::dockerfile", &[]),
    ("manifests::dockerignore", &[]),
    ("manifests::dotenv", &[]),
    ("manifests::gitignore", &["files", "manifests::dependency", "paths", "tree"]),
    ("manifests::image_name", &[]),
    ("manifests::import_names", &["manifests"]),
    ("manifests::known_names", &["manifests", "words"]),
    ("manifests::tsconfig", &["files", "manifests", "paths", "tree"]),
    ("manifests::version_file", &["files", "paths", "tree"]),
    ("manifests::installation", &["files", "manifests", "paths", "tree"]),
    ("manifests::local_requirements", &["files", "manifests", "paths", "tree"]),
    ("manifests::marker", &[]),
    ("manifests::npm_credentials", &["manifests", "paths", "secrecy"]),
    ("manifests::npm_lock", &["files", "manifests", "paths", "tree"]),
    ("manifests::package", &["files", "manifests", "paths", "tree"]),
    ("manifests::package_json", &["files", "manifests", "paths", "tree"]),
    ("manifests::package_version", &["files", "manifests", "paths", "tree"]),
    ("manifests::package_manager", &["files", "manifests", "paths", "tree"]),
    ("manifests::pyproject", &["files", "paths", "tree"]),
    ("manifests::requirement", &["words"]),
    ("manifests::requirements_txt", &["files", "manifests", "paths", "tree"]),
    ("manifests::requires_python", &["files", "manifests", "paths", "tree"]),
    ("manifests::setup_cfg", &[]),
    ("manifests::setup_py", &["files", "manifests::stack", "paths", "tree"]),
    ("manifests::source_tree", &["files", "manifests::symbols", "paths", "tree"]),
    ("manifests::stack", &[]),
    ("manifests::symbols", &["manifests::setup_py", "manifests::stack"]),
    ("manifests::tracked", &["files", "manifests", "paths", "tree"]),
    ("manifests::uv_lock", &["manifests", "paths"]),
    ("manifests::uv_workspace", &["files", "manifests", "paths", "tree"]),
    ("manifests::virtual_project", &["files", "manifests", "paths", "tree"]),
    ("manifests::workspace", &["files", "manifests", "paths", "tree"]),
    ("manifests::yaml", &[]),
    ("options", &["agent_lock", "front::config", "server"]),
    ("paths", &[]),
    ("secrecy", &["words"]),
    ("server", &[]),
    ("tree", &["files", "paths"]),
    ("unused", &["finding", "options"]),
    ("words", &[]),
];

/// Whether the file at `path` belongs to `module`, such as `compiler::manifests`.
fn is_in(path: &str, module: &str) -> bool {
    let module = match module.strip_prefix("compiler") {
        Some(below) => format!("{COMPILER}{}", below.replace("::", "/")),
        None => format!("src/{}", module.replace("::", "/")),
    };
    path.strip_prefix(&module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Crates and the modules that may use them.
const VENDORS: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["cli"]),
    ("anstyle_query", &["cli"]),
    ("bollard", &["engine"]),
    ("bollard_buildkit_proto", &["engine"]),
    ("clap", &["cli", "error"]),
    ("clap_complete", &["cli"]),
    ("clap_complete_nushell", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("fs4", &["doctor"]),
    ("flate2", &["context"]),
    ("globset", &["compiler::manifests"]),
    ("hyper", &["engine", "invoke"]),
    ("hyper_util", &["engine", "invoke"]),
    ("indicatif", &["cli"]),
    ("jsonschema", &["compiler"]),
    ("listeners", &["dev", "up"]),
    ("lsp_server", &["lsp"]),
    ("lsp_types", &["lsp"]),
    ("minijinja", &["compiler"]),
    ("notify", &["watch"]),
    ("open", &["child"]),
    ("oxc_allocator", &["compiler::graph", "compiler::manifests::symbols"]),
    ("oxc_ast", &["compiler::graph", "compiler::manifests::symbols"]),
    ("oxc_ecmascript", &["compiler::manifests::symbols"]),
    ("oxc_parser", &["compiler::graph", "compiler::manifests::symbols"]),
    ("oxc_span", &["compiler::graph", "compiler::manifests::symbols"]),
    ("oxc_syntax", &["compiler::manifests::symbols"]),
    ("pep508_rs", &["compiler"]),
    ("regex_lite", &["compiler"]),
    ("reqwest", &["api"]),
    (
        "ruff_python_ast",
        &["compiler::graph", "compiler::manifests::setup_py", "compiler::manifests::symbols"],
    ),
    (
        "ruff_python_parser",
        &["compiler::graph", "compiler::manifests::setup_py", "compiler::manifests::symbols"],
    ),
    ("ruff_text_size", &["compiler::graph", "compiler::manifests::symbols"]),
    ("rustix", &["child::unix", "project::regular"]),
    ("rustls", &["api", "cluster", "doctor", "engine", "invoke"]),
    ("same_file", &["up"]),
    ("saphyr_parser", &["compiler::manifests::yaml"]),
    ("signal_hook", &["live::signals"]),
    ("stacker", &["compiler::manifests::stack"]),
    ("tar", &["context", "engine"]),
    ("tempfile", &["context", "doctor", "engine", "project"]),
    ("wild", &["cli::env"]),
    ("tokio_rustls", &["engine"]),
    ("tonic", &["engine"]),
    (
        "tokio",
        &[
            "api", "child", "cli", "cluster", "compose", "context", "dev", "doctor", "engine", "invoke",
            "live", "probe", "registry", "ship", "up", "watch",
        ],
    ),
];

/// The modules whose code depends on the operating system.
const OF_THE_SYSTEM: &[&str] =
    &["child", "cli::command", "context::walk", "engine::local", "live::signals", "project::regular"];

/// The marks of such code.
const SYSTEMS: &[&str] = &[
    "(target_family",
    "(target_os",
    "(unix)",
    "(windows)",
    "MAIN_SEPARATOR",
    "consts::OS",
    "os::unix",
    "os::windows",
    "signal::unix",
    "signal::windows",
    "windows::named_pipe",
];

/// Effects that a pure room must not have.
const EFFECTS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "println!",
    "eprintln!",
    "async fn",
];

/// The most lines of code of a file, without its tests.
const MAX_LINES: usize = 400;

struct File {
    /// Relative to the repository.
    path: String,
    /// Without comments and tests.
    code: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `directory` of the repository.
pub(crate) fn below(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(directory)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{directory}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(below(&path));
        } else {
            found.push(path.into());
        }
    }
    found.sort();
    found
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn sources() -> Vec<File> {
    sources_below("src").into_iter().chain(sources_below(COMPILER)).collect()
}

fn sources_below(directory: &str) -> Vec<File> {
    let is_code = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "rs") && !path.to_str().unwrap().contains("/tests")
    };
    let files = below(directory).into_iter().filter(is_code);
    let file = |path: PathBuf| {
        let text = text(&path);
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        File { path: path.to_str().unwrap().to_owned(), code: code.join("\n") }
    };
    files.map(file).collect()
}

/// The names that follow `prefix`, such as `crate::`, directly or in braces.
fn used(code: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, _) in code.match_indices(prefix) {
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            None => found.extend(rest.split(|c| !is_word(c)).next().map(str::to_owned)),
            Some(list) => {
                let mut depth = 0;
                let mut names = String::new();
                for c in list.chars() {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    match depth {
                        ..0 => break,
                        0 => names.push(c),
                        _ => {}
                    }
                }
                let names = names.split(',').map(|name| name.trim().split("::").next().unwrap_or_default());
                found.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
            }
        }
    }
    found
}

/// The first part of a path below `directory`: that of `src/cli/env.rs` is `cli`.
fn first<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let name = path.strip_prefix(directory)?.split('/').nth(1)?;
    Some(name.strip_suffix(".rs").unwrap_or(name))
}

/// The room of a file: `src/cli/env.rs` belongs to `cli`.
fn room(path: &str) -> &str {
    match first(path, COMPILER) {
        Some("diagnostic") => "diagnostic",
        Some(_) => "compiler",
        None => first(path, "src").unwrap(),
    }
}

#[test]
fn rooms_use_only_what_they_may() {
    let rooms: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    for File { path, code } in sources() {
        let room = room(&path);
        if matches!(room, "lib" | "main") {
            continue;
        }
        let may =
            rooms.get(room).unwrap_or_else(|| panic!("{path}: a room that tests/house.rs does not know"));
        assert!(!code.contains("agentcli_compiler"), "{path} does not name the compiler as its room");
        for other in used(&code, "crate::") {
            let is_known = rooms.contains_key(other.as_str());
            assert!(!is_known || other == room || may.contains(&other.as_str()), "{path} uses {other}");
        }
        for (vendor, owners) in VENDORS {
            let uses = code.contains(&format!("use {vendor}::")) || code.contains(&format!(" {vendor}::"));
            assert!(!uses || owners.iter().any(|owner| is_in(&path, owner)), "{path} uses {vendor}");
        }
    }
}

#[test]
fn rooms_of_the_host_use_only_what_they_may() {
    let rooms: BTreeMap<&str, &[&str]> = HOST_ROOMS.iter().copied().collect();
    for File { path, code } in sources_below("host/src") {
        let room = first(&path, "host/src").unwrap();
        if matches!(room, "lib" | "main") {
            continue;
        }
        let may =
            rooms.get(room).unwrap_or_else(|| panic!("{path}: a room that tests/house.rs does not know"));
        for other in used(&code, "crate::") {
            // What `lib` hands on to other packages, files name by its room.
            assert!(other == room || may.contains(&other.as_str()), "{path} uses {other}");
        }
    }
}

/// Those of the nodes that are in a circle, or use one that is.
fn in_circles(mut nodes: Vec<(&str, Vec<String>)>) -> Vec<String> {
    loop {
        let left: Vec<String> = nodes.iter().map(|(name, _)| (*name).to_owned()).collect();
        nodes.retain(|(_, uses)| uses.iter().any(|other| left.contains(other)));
        if nodes.len() == left.len() {
            return left;
        }
    }
}

#[test]
fn rooms_make_no_circle() {
    for rooms in [ROOMS, HOST_ROOMS] {
        let node = |&(room, uses): &(&'static str, &[&str])| {
            (room, uses.iter().map(|&other| other.to_owned()).collect())
        };
        assert_eq!(in_circles(rooms.iter().map(node).collect()), [""; 0]);
    }
}

/// A file and those below its own folder may use each other: it is their face.
#[test]
fn files_make_no_circle() {
    for root in ["src", COMPILER, "host/src"] {
        let files = sources_below(root);
        let module = |path: &str| path[root.len() + 1..].trim_end_matches(".rs").to_owned();
        let modules: Vec<String> = files.iter().map(|file| module(&file.path)).collect();
        let uses = |own: &str, code: &str| -> Vec<String> {
            let is_face = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
            let used = paths(code).into_iter().filter_map(|path| used_module(own, &path, &modules));
            used.filter(|other| other != own && !is_face(other, own) && !is_face(own, other)).collect()
        };
        let nodes = files.iter().zip(&modules);
        let nodes = nodes.map(|(file, own)| (own.as_str(), uses(own, &file.code))).collect();
        assert_eq!(in_circles(nodes), [""; 0]);
    }
}

/// The paths in `code`, also those of groups in a `use`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c| !is_part(c)).filter(|word| word.contains("::") && !word.ends_with("::"));
    let mut found: Vec<Vec<String>> =
        words.map(|word| word.split("::").map(str::to_owned).collect()).collect();
    for item in syn::parse_file(code).unwrap().items {
        if let syn::Item::Use(item) = item {
            add_paths(&item.tree, Vec::new(), &mut found);
        }
    }
    found
}

fn add_paths(tree: &syn::UseTree, mut before: Vec<String>, found: &mut Vec<Vec<String>>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            add_paths(&path.tree, before, found);
        }
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| add_paths(tree, before.clone(), found));
        }
        syn::UseTree::Name(name) => found.push([before, vec![name.ident.to_string()]].concat()),
        syn::UseTree::Rename(name) => found.push([before, vec![name.ident.to_string()]].concat()),
        syn::UseTree::Glob(_) => found.push(before),
    }
}

/// The module that `path` in the module `own` leads to.
fn used_module(own: &str, path: &[String], modules: &[String]) -> Option<String> {
    let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    let from = match path.first()?.as_str() {
        "crate" => "",
        "super" => folder,
        _ => return None,
    };
    let parts = from.split('/').filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.chain(path[1..].iter().map(String::as_str)).collect();
    let mut longest_first = (1..=parts.len()).rev().map(|length| parts[..length].join("/"));
    longest_first.find(|module| modules.contains(module))
}

/// The module of the compiler for a path below [`COMPILER`] or a Rust path below `crate::` in it.
fn module(path: &str, separator: &str) -> String {
    let parts: Vec<&str> = path.split(separator).map(|part| part.trim_end_matches(".rs")).collect();
    let depth = if matches!(parts[0], "back" | "front" | "manifests") { 2 } else { 1 };
    parts[..depth.min(parts.len())].join("::")
}

#[test]
fn the_compiler_goes_one_way() {
    let modules: BTreeMap<&str, &[&str]> = MODULES.iter().copied().collect();
    for File { path, code } in sources() {
        let Some(below) = path.strip_prefix(&format!("{COMPILER}/")) else { continue };
        let own = module(below, "/");
        if matches!(own.as_str(), "back" | "front" | "lib" | "manifests") {
            continue;
        }
        let may =
            modules.get(own.as_str()).unwrap_or_else(|| panic!("{path}: tests/house.rs does not know it"));
        for phase in ["", "back::", "front::", "manifests::"] {
            for other in used(&code, &format!("crate::{phase}")) {
                let other = format!("{phase}{other}");
                let is_phase = matches!(other.as_str(), "back" | "diagnostic" | "front" | "manifests");
                let is_allowed = may.iter().any(|it| other == *it || other.starts_with(&format!("{it}::")));
                assert!(is_phase || other == own || is_allowed, "{path} uses {other}");
            }
        }
    }
}

#[test]
fn the_compiler_is_pure() {
    for File { path, code } in sources_below(COMPILER) {
        let effect = EFFECTS.iter().find(|effect| code.contains(**effect));
        assert_eq!(effect, None, "{path}");
    }
}

#[test]
fn files_are_short_and_named_alike() {
    for File { path, code } in sources().into_iter().chain(sources_below("host/src")) {
        let lines = code.lines().count();
        assert!(lines <= MAX_LINES, "{path} has {lines} lines");
        assert!(!path.ends_with("/mod.rs"), "{path}");
        assert!(!code.contains("super::super::"), "{path} reaches two levels up");
    }
}

/// Of three names and three values on one line, nobody sees which belong together.
#[test]
fn a_tuple_binds_two_values_at_most() {
    for File { path, code } in sources().into_iter().chain(sources_below("host/src")) {
        for (names, value) in code.split("let (").skip(1).filter_map(|rest| rest.split_once(')')) {
            let binds = value.trim_start_matches(' ').strip_prefix('=').map(str::trim_start);
            let is_built = binds.is_some_and(|it| it.starts_with('(') || it.starts_with("Default::"));
            let is_list = names.chars().all(|c| c.is_alphanumeric() || "_, ".contains(c));
            assert!(!(is_built && is_list) || names.matches(',').count() < 2, "{path}: let ({names})");
        }
    }
}

#[test]
fn every_template_and_schema_is_used() {
    let code: String = sources().into_iter().map(|file| file.code).collect();
    for file in below("templates").into_iter().chain(below("schemas")) {
        let file = file.to_str().unwrap().to_owned();
        // tests/new.rs compares those with what `new` writes.
        if file.starts_with("templates/new/") {
            continue;
        }
        assert!(code.contains(&format!("/{file}\"")), "{file} is used by nothing");
    }
}

#[test]
fn every_folder_of_fixtures_is_used() {
    let tests: String = below("tests")
        .iter()
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .map(|path| text(path))
        .collect();
    for entry in fs::read_dir(root().join("fixtures")).unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        assert!(tests.contains(&format!("fixtures(\"{folder}")), "fixtures/{folder} is used by nothing");
    }
}

/// A process that is started elsewhere may outlive the program.
#[test]
fn only_child_starts_processes() {
    for File { path, code } in sources() {
        let found = ["std::process", "tokio::process"].map(|module| used(&code, &format!("{module}::")));
        let is_harmless = |name: &String| matches!(name.as_str(), "ExitCode" | "exit" | "id");
        let starts = code.contains("::process;") || !found.concat().iter().all(is_harmless);
        assert!(!starts || is_in(&path, "child"), "{path} starts processes");
    }
}

/// Everything else is portable, so that it runs on Windows, where these tests do not.
#[test]
fn only_few_modules_depend_on_the_operating_system() {
    for File { path, code } in sources() {
        let mark = SYSTEMS.iter().find(|mark| code.contains(**mark));
        let may = OF_THE_SYSTEM.iter().any(|module| is_in(&path, module));
        assert!(mark.is_none() || may, "{path} has {mark:?}");
    }
}

/// `Env::variable` reads those of the table in `cli::environment`, which a debug build asserts.
#[test]
fn only_env_reads_variables() {
    for File { path, code } in sources() {
        let reads = ["env::var", "variables)("].iter().any(|read| code.contains(read));
        // A panic is reported without an `Env`.
        assert!(!reads || is_in(&path, "cli::env") || is_in(&path, "cli::guard"), "{path} reads variables");
    }
}

/// Only the server's contract, the table of keys and the check of variables name the server.
#[test]
fn only_the_contract_knows_the_server() {
    for File { path, code } in sources() {
        let names = ["langchain/", "langgraph-api", "langgraphjs", "LANGGRAPH_", "LANGSERVE_"];
        let known = names.iter().find(|name| code.contains(**name));
        let may = ["compiler::server", "compiler::front::keys", "compiler::front::check::variables"];
        assert!(known.is_none() || may.iter().any(|module| is_in(&path, module)), "{path} knows {known:?}");
    }
}

/// The test file `file` and its submodules in `directory` that run on any machine.
fn plain_tests(file: PathBuf, directory: &Path) -> Vec<PathBuf> {
    let code = text(&file);
    let mut found = vec![file];
    let mut attribute = "";
    for line in code.lines() {
        let name = line.trim_start_matches("pub(crate) ").strip_prefix("mod ");
        if let Some(name) = name.and_then(|name| name.strip_suffix(';'))
            && attribute != "#[cfg(feature = \"system-tests\")]"
        {
            let path = directory.join(name);
            found.extend(plain_tests(path.with_extension("rs"), &path));
        }
        attribute = line;
    }
    found
}

/// A test that spawns another program belongs to the group `system-tests`, but for the shell of the documentation's
/// console blocks.
#[test]
fn plain_tests_spawn_only_the_program() {
    for file in plain_tests("tests/lib.rs".into(), Path::new("tests")) {
        for spawned in text(&file).split("Command::new").filter_map(|rest| rest.strip_prefix('(')) {
            let is_allowed =
                ["crate::harness::program())", "cargo)", "\"sh\")"].iter().any(|it| spawned.starts_with(it));
            let spawned = spawned.lines().next().unwrap_or_default();
            assert!(is_allowed, "{} spawns {spawned}", file.display());
        }
    }
}
