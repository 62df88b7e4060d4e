//! Lock files in the plan and the Dockerfile.

use agentcli::compiler::analyze;
use agentcli::compiler::back::emit::dockerfile::{dockerfile, instruction};
use agentcli::compiler::back::lower::{Options, lower};
use agentcli::compiler::back::plan::{Action, Plan};
use agentcli::compiler::files::MemoryFiles;

use super::properties;

/// The longest argument of a command on Linux, in bytes.
const MAX_ARGUMENT: usize = 128 * 1024;

const MANIFEST: &str = "[project]\nname = 'app'\nversion = '1'\ndependencies = [";

/// The plan of a project with these packages in its lock file, each with its dependency and its `[[package]]` table.
fn plan(config: &str, names: &[String], tables: &str, options: &Options) -> Plan {
    let list = |part: &dyn Fn(&String) -> String| names.iter().map(part).collect::<Vec<_>>().join(", ");
    let manifest = format!("{MANIFEST}{}]\n", list(&|name| format!("'{name}'")));
    let named = list(&|name| format!("{{ name = '{name}' }}"));
    let lock = format!(
        "version = 1\n[[package]]\nname = 'app'\nversion = '1'\nsource = {{ editable = '.' }}\ndependencies = [{named}]\n\
         [package.metadata]\nrequires-dist = [{named}]\n{tables}"
    );
    let files = MemoryFiles::new([
        ("agent.py", "graph = object()"),
        ("pyproject.toml", &*manifest),
        ("uv.lock", &lock),
    ]);
    let config = format!("{{{config}, \"graphs\": {{\"agent\": \"./agent.py:graph\"}}}}");
    let analysis = analyze("agent.json", &config, &files);
    assert!(analysis.diagnostics.is_empty(), "{:#?}", analysis.diagnostics);
    let plan = lower(&analysis.config, &files, "agent.json", options);
    properties::check(&plan).unwrap();
    plan
}

fn table(name: &str, source: &str, files: &str) -> String {
    format!("[[package]]\nname = '{name}'\nversion = '1.0'\nsource = {{ {source} }}\n{files}\n")
}

const SOURCE: &str = r#""source": {"kind": "uv"}"#;
const DEPENDENCIES: &str = r#""dependencies": ["."]"#;
const PUBLIC: &str = "registry = 'https://pypi.org/simple'";

#[test]
fn no_command_of_a_large_lock_is_too_long() {
    let names: Vec<String> = (0..600).map(|index| format!("package-{index}")).collect();
    let files: String = (0..6)
        .map(|index| format!("{{ filename = 'p-1.0-py3-none-any.whl', hash = 'sha256:{index:064}' }},"))
        .collect();
    let tables: String =
        names.iter().map(|name| table(name, PUBLIC, &format!("wheels = [{files}]"))).collect();
    let plan = plan(SOURCE, &names, &tables, &Options::default());
    let text = dockerfile(&plan);
    assert!(names.iter().all(|name| text.contains(&format!("'{name}==1.0 --hash="))));
    assert!(text.lines().all(|line| line.len() < 65_535));
    let runs = plan.steps.iter().filter(|step| matches!(step.action, Action::Run { .. }));
    let longest = runs.map(|step| instruction(step).len()).max().unwrap();
    assert!(longest < MAX_ARGUMENT, "{longest}");
}

#[test]
fn each_index_is_asked_for_its_own_packages() {
    let names = ["open", "closed", "direct", "repository"].map(str::to_owned);
    let tables = [
        table(
            "open",
            PUBLIC,
            "wheels = [{ url = 'https://x/open-1.0-py3-none-any.whl', hash = 'sha256:aa' }]",
        ),
        table(
            "closed",
            "registry = 'https://private.example/simple'",
            "sdist = { url = 'https://x/c.tar.gz', hash = 'sha256:bb' }",
        ),
        table(
            "direct",
            "url = 'https://x/direct.zip', subdirectory = 'py'",
            "sdist = { hash = 'sha256:cc' }",
        ),
        table("repository", "git = 'https://x/r?subdirectory=a&rev=v1#0123'", ""),
    ]
    .concat();
    let text = dockerfile(&plan(SOURCE, &names, &tables, &Options::default()));
    let text = text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "'open==1.0 --hash=sha256:aa'",
        "'direct @ https://x/direct.zip#subdirectory=py --hash=sha256:cc'",
        "'repository @ git+https://x/r@0123#subdirectory=a'",
        "--index-url https://private.example/simple -r /run/agentcli/requirements/2.txt",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.matches("--index-url").count(), 1, "{text}");
}

#[test]
fn a_lock_beside_a_manifest_is_used_unless_the_newest_versions_are_wanted() {
    let names = ["idna", "starlette"].map(str::to_owned);
    let tables = table("idna", PUBLIC, "") + &table("starlette", PUBLIC, "");
    let locked = plan(DEPENDENCIES, &names, &tables, &Options::default());
    let text = dockerfile(&locked);
    assert!(
        text.contains("idna==1.0") && text.contains("--no-deps -r /run/agentcli/requirements/1.txt"),
        "{text}"
    );
    // The server requires a newer one, so that only the manifest's requirement is left.
    assert!(!text.contains("starlette==1.0"), "{text}");
    let notes: Vec<&str> = locked.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(
        notes,
        [
            "the versions of `uv.lock` are installed; --no-lock installs the newest ones",
            "`starlette` 1.0 of `uv.lock` is not installed: the server requires >=1.3.1",
        ]
    );
    let newest = plan(DEPENDENCIES, &names, &tables, &Options { no_lock: true, ..Options::default() });
    assert!(!dockerfile(&newest).contains("==1.0") && newest.notes.is_empty());
}
