//! Locks as uv writes them, shortened.

use super::*;

const LOCK: &str = r#"
version = 1
revision = 3
requires-python = ">=3.11"
conflicts = [[
    { package = "app", extra = "cpu" },
    { package = "app", extra = "gpu" },
]]

[manifest]
members = ["app", "lib"]

[[package]]
name = "app"
version = "0.1.0"
source = { editable = "apps/app" }
dependencies = [
    { name = "lib", extra = ["fast"] },
    { name = "old", marker = "python_full_version < '3.12'" },
    { name = "pywin", marker = "sys_platform == 'win32'" },
    { name = "torch", version = "2.0", source = { registry = "https://pypi.org/simple" }, marker = "extra != 'extra-3-app-cpu'" },
    { name = "torch", version = "2.0+cpu", source = { registry = "https://cpu.example/simple" }, marker = "extra == 'extra-3-app-cpu'" },
]

[package.optional-dependencies]
cpu = [{ name = "cpuinfo" }]

[package.dev-dependencies]
test = [{ name = "pytest" }]

[package.metadata]
requires-dist = [
    { name = "cpuinfo", marker = "extra == 'cpu'", specifier = ">=1" },
    { name = "lib", extras = ["fast"], editable = "libs/lib" },
    { name = "old", marker = "python_full_version < '3.12'", specifier = ">=1,<2" },
]
provides-extras = ["cpu", "gpu"]

[[package]]
name = "cpuinfo"
version = "1.0"
source = { url = "https://example.com/cpuinfo-1.0.zip", subdirectory = "py" }
sdist = { hash = "sha256:11" }

[[package]]
name = "lib"
source = { virtual = "libs/lib" }

[package.optional-dependencies]
fast = [{ name = "speedups", marker = "platform_machine == 'x86_64'" }]

[[package]]
name = "old"
version = "1.5"
source = { git = "https://example.com/old?subdirectory=py#0123" }

[[package]]
name = "pytest"
version = "8"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "pywin"
version = "1"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "speedups"
version = "3"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "https://files.example/speedups-3.tar.gz", hash = "sha256:aa", size = 1 }
wheels = [
    { url = "https://files.example/speedups-3-cp311-cp311-manylinux_2_17_x86_64.whl", hash = "sha256:bb" },
    { url = "https://files.example/speedups-3-cp312-cp312-win_amd64.whl", hash = "sha256:cc" },
]

[[package]]
name = "torch"
version = "2.0"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "torch"
version = "2.0+cpu"
source = { registry = "https://cpu.example/simple" }
"#;

fn closure(python: &str, extras: &[&str], groups: &[&str]) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let request = Request { package: "App", extras: owned(extras), groups: owned(groups), python };
    let lock = read(LOCK).unwrap();
    let selected = lock.closure(&request).unwrap();
    selected
        .iter()
        .map(|it| {
            format!(
                "{} {} {}",
                it.package.name,
                it.package.version.as_deref().unwrap_or("-"),
                it.machines.join(" ")
            )
        })
        .collect()
}

#[test]
fn closures() {
    let both = "x86_64 aarch64";
    let always = [format!("app 0.1.0 {both}"), format!("lib - {both}")];
    let with = |more: &[String]| {
        let mut all: Vec<String> = always.iter().chain(more).cloned().collect();
        all.sort();
        all
    };
    let torch = format!("torch 2.0 {both}");
    let speedups = "speedups 3 x86_64".to_owned();
    assert_eq!(closure("3.12", &[], &[]), with(&[speedups.clone(), torch.clone()]));
    assert_eq!(
        closure("3.11", &[], &[]),
        with(&[format!("old 1.5 {both}"), speedups.clone(), torch.clone()])
    );
    let cpu = [format!("cpuinfo 1.0 {both}"), speedups.clone(), format!("torch 2.0+cpu {both}")];
    assert_eq!(closure("3.12", &["cpu"], &[]), with(&cpu));
    assert_eq!(closure("3.12", &[], &["test"]), with(&[format!("pytest 8 {both}"), speedups, torch]));
}

#[test]
fn what_a_closure_cannot_be_told_from() {
    let why = |lock: &str| {
        let request = Request { package: "app", python: "3.12", ..Request::default() };
        read(lock).unwrap().closure(&request).unwrap_err()
    };
    for (part, other, message) in [
        ("name = \"app\"", "name = \"apple\"", "`app` is not a local package of the lock"),
        (
            "[[package]]\nname = \"lib\"",
            "[[package]]\nname = \"lab\"",
            "`app` needs `lib`, which is not in it",
        ),
        (
            "source = { registry = \"https://pypi.org/simple\" }, marker = \"extra !=",
            "marker = \"extra !~",
            "`app` needs `torch` under a condition that cannot be read",
        ),
    ] {
        assert_eq!(why(&LOCK.replacen(part, other, 1)), message);
    }
    let ambiguous =
        LOCK.replace("version = \"2.0+cpu\"", "version = \"2.0\"").replace("cpu.example", "pypi.org");
    assert_eq!(why(&ambiguous), "`app` needs `torch`, which is in it more than once");
}

#[test]
fn broken_locks() {
    for (text, message, part) in [
        ("version = 2\npackage = 5", "format version 2 is not supported", "2"),
        ("version = 1\npackage = 5", "invalid type: integer `5`, expected a sequence", "5"),
        (
            "version = 1\n[[package]]\nname = 'a b'\nsource = { virtual = '.' }",
            "unexpected white space",
            "a b",
        ),
        (
            "version = 1\n[[package]]\nname = 'a'\nsource = { x = '.' }",
            "unknown kind of package source",
            "{ x = '.' }",
        ),
        ("<<<<<<< HEAD", "", ""),
        ("", "missing field `version`", ""),
    ] {
        let broken = read(text).unwrap_err();
        assert!(broken.message.contains(message), "{text}: {}", broken.message);
        assert!(part.is_empty() || &text[broken.span.clone()] == part, "{text}: {:?}", broken.span);
    }
}

#[test]
fn no_part_of_a_requirement_has_white_space() {
    for source in [
        r#"{ url = "https://x.example/a.zip", subdirectory = "a\nb" }"#,
        r#"{ git = "git@x.example:a\nb#0a" }"#,
        r#"{ registry = "https://x.example/a b" }"#,
    ] {
        let lock = format!("version = 1\n[[package]]\nname = 'a'\nversion = '1'\nsource = {source}");
        assert_eq!(read(&lock).unwrap_err().message, "unexpected white space", "{source}");
    }
}

#[test]
fn files_for_linux() {
    let lock = read(LOCK).unwrap();
    let package = lock.packages.iter().find(|it| it.name == "speedups").unwrap();
    let hashes = |python| {
        let files = package.files(python, &["x86_64"]);
        files.map(|file| file.hash.clone().unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(hashes("3.11"), "sha256:bb sha256:aa");
    assert_eq!(hashes("3.12"), "sha256:aa");
}

#[test]
fn differences_to_a_manifest() {
    let lock = read(LOCK).unwrap();
    let difference = |dependencies: &str, extras: &str, root: &str| {
        let manifest =
            format!("[project]\ndependencies = [{dependencies}]\noptional-dependencies = {{{extras}}}");
        lock.local("app").unwrap().difference(&manifest.parse().unwrap(), &root.parse().unwrap())
    };
    let sources = "[tool.uv.sources]\nLib = { workspace = true }";
    let (own, cpu) = ("'lib[fast]', 'Old<2,>=1; python_version < \"3.12\"'", "cpu = ['cpuinfo>=1']");
    assert_eq!(difference(own, cpu, sources), None);
    let added = |text: &str| Some(Difference::Added(text.to_owned()));
    let changed = |text: &str| Some(Difference::Changed(text.to_owned()));
    let removed = |name: &str| Some(Difference::Removed(name.to_owned()));
    assert_eq!(difference(&format!("{own}, 'httpx>=1'"), cpu, sources), added("httpx>=1"));
    assert_eq!(difference(own, "", sources), removed("cpuinfo"));
    assert_eq!(difference(own, "gpu = ['cpuinfo>=1']", sources), added("cpuinfo>=1"));
    assert_eq!(difference("'lib[fast]', 'old<3,>=1'", cpu, sources), changed("old<3,>=1"));
    assert_eq!(difference("'lib', 'old<2,>=1'", cpu, sources), changed("lib"));
    assert_eq!(difference(own, cpu, ""), changed("lib[fast]"));
    assert_eq!(
        difference(own, cpu, &format!("{sources}\nold = {{ git = 'https://x' }}")),
        changed("Old<2,>=1; python_version < \"3.12\"")
    );
    let renamed = "[project]\nname = 'Apple'".parse().unwrap();
    let difference_of =
        |name: &str, manifest| lock.local(name).unwrap().difference(manifest, &Default::default());
    assert_eq!(difference_of("app", &renamed), Some(Difference::Renamed("Apple".to_owned())));
    // A lock does not repeat that there are no requirements.
    let required = "[project]\nname = 'lib'\ndependencies = ['idna']".parse().unwrap();
    assert_eq!(difference_of("lib", &required), added("idna"));
    // It cannot be read reliably.
    assert_eq!(difference("'lib===1'", cpu, sources), None);
}
