//! Lock files in the plan and the Dockerfile.

use agentcli::compiler::back::emit::dockerfile::{dockerfile, instruction};
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::back::plan::{Action, Plan};
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze};

use super::properties;

/// The longest argument of a command on Linux, in bytes.
const MAX_ARGUMENT: usize = 128 * 1024;

const MANIFEST: &str = "[project]\nname = 'app'\nversion = '1'\ndependencies = [";

/// The plan of a project with these packages in its lock file, each with its dependency and its `[[package]]` table.
fn plan(config: &str, names: &[String], tables: &str, options: &Options) -> Plan {
    let list = |part: &dyn Fn(&String) -> String| names.iter().map(part).collect::<Vec<_>>().join(", ");
    let manifest = format!("{MANIFEST}{}]\n", list(&|name| format!("'{name}'")));
    plan_of(&manifest, config, names, tables, options)
}

/// The same with another manifest.
fn plan_of(manifest: &str, config: &str, names: &[String], tables: &str, options: &Options) -> Plan {
    let list = |part: &dyn Fn(&String) -> String| names.iter().map(part).collect::<Vec<_>>().join(", ");
    let named = list(&|name| format!("{{ name = '{name}' }}"));
    let lock = format!(
        "version = 1\n[[package]]\nname = 'app'\nversion = '1'\nsource = {{ editable = '.' }}\ndependencies = [{named}]\n\
         [package.metadata]\nrequires-dist = [{named}]\n{tables}"
    );
    let files = Tree::new(MemoryFiles::new([
        ("agent.py", "graph = object()"),
        ("pyproject.toml", manifest),
        ("uv.lock", &lock),
    ]));
    let config = format!("{{{config}, \"graphs\": {{\"agent\": \"./agent.py:graph\"}}}}");
    let analysis = analyze("agent.json", &config, &files);
    assert!(analysis.is_usable(), "{:#?}", analysis.diagnostics);
    let plan = lower(&analysis.config, analysis.packages.as_ref(), &files, "agent.json", options);
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
        "--index-url https://private.example/simple -r /tmp/requirements/2.txt",
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
        text.contains("idna==1.0") && text.contains("--no-deps -r /tmp/requirements/resolved.txt"),
        "{text}"
    );
    // The server requires a newer one, so that only the manifest's requirement is left.
    assert!(!text.contains("starlette==1.0"), "{text}");
    let notes: Vec<&str> = locked.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(
        notes,
        [
            "the versions of `uv.lock` are installed; --no-lock installs the newest ones",
            "the server does not work with the versions of `starlette` in `uv.lock`, and keeps its own",
        ]
    );
    let newest = plan(DEPENDENCIES, &names, &tables, &Options { no_lock: true, ..Options::default() });
    assert!(!dockerfile(&newest).contains("==1.0") && newest.notes.is_empty());
}

#[test]
fn versions_are_resolved_before_they_are_installed_where_the_server_needs_others() {
    let lowered = |config: &str, name: &str, source: &str| {
        let names = ["idna", name].map(str::to_owned);
        let tables = table("idna", PUBLIC, "") + &table(name, source, "");
        let plan = plan(config, &names, &tables, &Options::default());
        (dockerfile(&plan), plan.notes.into_iter().map(|note| note.message).collect::<Vec<_>>())
    };
    let excluding =
        "the versions of `langchain` in `uv.lock` exclude what the server needs: others are installed";
    let pip = format!("{DEPENDENCIES}, \"pip_installer\": \"pip\"");
    let older = format!("{DEPENDENCIES}, \"api_version\": \"0.4.1\"");
    for (config, name, source, is_resolved, is_excluding) in [
        (DEPENDENCIES, "tabulate", PUBLIC, false, false),
        (DEPENDENCIES, "starlette", PUBLIC, true, false),
        (DEPENDENCIES, "langchain", PUBLIC, true, true),
        (&pip, "starlette", PUBLIC, false, false),
        (&older, "langchain", PUBLIC, false, false),
        // The default index is not asked for what another one has.
        (DEPENDENCIES, "langchain", "registry = 'https://private.example/simple'", false, false),
        (DEPENDENCIES, "langchain", "git = 'https://x/r#0123'", false, false),
    ] {
        let (text, notes) = lowered(config, name, source);
        assert_eq!(text.contains("uv pip compile"), is_resolved, "{name} {config}\n{text}");
        let installed = if is_resolved { "resolved" } else { "1" };
        assert!(text.contains(&format!("-r /tmp/requirements/{installed}.txt")), "{text}");
        assert_eq!(notes.iter().any(|note| note == excluding), is_excluding, "{notes:?}");
        // No version that the server excludes is preferred.
        let preferred =
            "++' /tmp/requirements/1.txt /tmp/requirements/image.txt > /tmp/requirements/resolved.txt";
        let joined = text.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(joined.contains(preferred), is_resolved, "{joined}");
    }
}

#[test]
fn locks_that_cannot_be_resolved_are_installed_as_they_are() {
    let names = ["idna", "starlette"].map(str::to_owned);
    let tables = table("idna", PUBLIC, "") + &table("starlette", PUBLIC, "");
    let known = format!("{MANIFEST}'idna', 'starlette']\n");
    let computed = "[project]\nname = 'app'\nversion = '1'\ndynamic = ['dependencies']\n";
    let indexed = format!(
        "{known}[tool.uv.sources]\nidna = {{ index = 'own' }}\n[[tool.uv.index]]\nname = 'own'\nurl = 'https://x/simple'\n"
    );
    let with_another = r#""dependencies": [".", "httpx"]"#;
    for (manifest, is_resolved) in [(&*known, true), (computed, false), (&indexed, false)] {
        let text = dockerfile(&plan_of(manifest, with_another, &names, &tables, &Options::default()));
        assert_eq!(text.contains("uv pip compile"), is_resolved, "{manifest}\n{text}");
        assert!(text.contains("idna==1.0"), "{text}");
    }
}

#[test]
fn versions_of_a_large_lock_are_resolved_beside_its_stage() {
    let names: Vec<String> =
        (0..600).map(|index| format!("package-{index}")).chain(["starlette".to_owned()]).collect();
    let hash = format!("wheels = [{{ filename = 'p-1.0-py3-none-any.whl', hash = 'sha256:{:0160}' }}]", 1);
    let tables: String = names.iter().map(|name| table(name, PUBLIC, &hash)).collect();
    let text = dockerfile(&plan(DEPENDENCIES, &names, &tables, &Options::default()));
    let mount = "from=requirements,source=/tmp/requirements,target=/tmp/requirements,rw ";
    assert!(
        text.contains(mount) && text.contains("/tmp/requirements/2.txt /tmp/requirements/image.txt"),
        "{text}"
    );
    assert!(!text.contains("rm -r /tmp/requirements"), "{text}");
}

#[test]
fn dev_is_constrained_to_the_versions_of_the_lock() {
    let names = ["idna", "starlette", "torch", "repository", "langgraph-api"].map(str::to_owned);
    let tables = [
        table("idna", PUBLIC, ""),
        table("starlette", PUBLIC, ""),
        table("torch", PUBLIC, "").replace("1.0", "1.0+cpu"),
        table("repository", "git = 'https://x/r#0123'", ""),
        table("langgraph-api", PUBLIC, ""),
    ]
    .concat();
    let packages = |options| plan(DEPENDENCIES, &names, &tables, &options).local.python.unwrap();
    let locked = packages(Options::default());
    assert_eq!(
        (&*locked.locks, &*locked.constraints),
        (&["uv.lock".to_owned()][..], &["idna==1.0".to_owned()][..])
    );
    assert!(locked.manifests.contains(&"uv.lock".to_owned()), "{:?}", locked.manifests);
    let newest = packages(Options { no_lock: true, ..Options::default() });
    assert!(newest.locks.is_empty() && newest.constraints.is_empty());
}

#[test]
fn a_fork_constrains_only_its_python_version() {
    let forks: String = [("1.0", "<"), ("2.0", ">=")]
        .map(|(version, operator)| {
            let package = table("idna", PUBLIC, "").replace("1.0", version);
            format!("{package}resolution-markers = [\"python_full_version {operator} '3.12'\"]\n")
        })
        .concat();
    let by_version = |version: &str, operator: &str| {
        format!(
            "{{ name = 'idna', version = '{version}', source = {{ {PUBLIC} }}, marker = \"python_full_version {operator} '3.12'\" }},"
        )
    };
    let via = format!(
        "{}dependencies = [{}{}]\n",
        table("via", PUBLIC, ""),
        by_version("1.0", "<"),
        by_version("2.0", ">=")
    );
    let plan = plan(DEPENDENCIES, &["via".to_owned()], &(via + &forks), &Options::default());
    let constraints = plan.local.python.unwrap().constraints;
    assert_eq!(constraints, ["via==1.0", "idna==1.0 ; python_version == \"3.11\""]);
}

#[test]
fn the_server_that_requirements_name_is_not_installed() {
    let names = ["idna", "langgraph-api", "langgraph-runtime-inmem"].map(str::to_owned);
    let bounded = ["idna", "langgraph-api<0.12", "langgraph-runtime-inmem>=0.1"].map(str::to_owned);
    let tables: String = names.iter().map(|name| table(name, PUBLIC, "")).collect();
    let unlocked = plan(DEPENDENCIES, &bounded, &tables, &Options { no_lock: true, ..Options::default() });
    let text = dockerfile(&unlocked);
    assert!(text.contains("-c /api/constraints.txt idna \\\n"), "{text}");
    let notes: Vec<&str> = unlocked.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(notes, ["`langgraph-api<0.12` does not change the server: the image has its own"]);
    for config in [SOURCE, DEPENDENCIES] {
        let text = dockerfile(&plan(config, &names, &tables, &Options::default()));
        assert!(text.contains("idna==1.0"), "{text}");
        assert!(!text.contains("'langgraph-api==") && !text.contains("'langgraph-runtime-inmem=="), "{text}");
        // The server of the image keeps what it requires.
        let written = text.matches("sed -n '/^langgraph-api==/p' > /tmp/server.txt").count();
        let read = text.matches(" -r /tmp/server.txt").count();
        assert_eq!((written, read), (1, 1), "{text}");
        assert!(!text.contains("-e /api"), "{text}");
    }
}

/// The Dockerfile of a project that requires `idna` and has one lock file, and the codes of all findings.
fn with_lock(name: &str, text: &str) -> (String, Vec<&'static str>) {
    let files = Tree::new(MemoryFiles::new([
        ("agent.py", "graph = object()"),
        ("pyproject.toml", "[project]\nname = 'app'\nversion = '1'\ndependencies = ['idna>=3']"),
        (name, text),
    ]));
    let config = format!("{{{DEPENDENCIES}, \"graphs\": {{\"agent\": \"./agent.py:graph\"}}}}");
    let analysis = analyze("agent.json", &config, &files);
    assert!(analysis.is_usable(), "{:#?}", analysis.diagnostics);
    let codes = analysis.diagnostics.iter().map(|diagnostic| diagnostic.rule.code).collect();
    (
        dockerfile(&lower(
            &analysis.config,
            analysis.packages.as_ref(),
            &files,
            "agent.json",
            &Options::default(),
        )),
        codes,
    )
}

const PYLOCK: &str = r#"
lock-version = '1.0'
requires-python = '>=3.11'
environments = ["sys_platform == 'linux'"]
[[packages]]
name = 'idna'
version = '3.7'
index = 'https://private.example/simple'
wheels = [{ url = 'https://x/idna-3.7-py3-none-any.whl', hashes = { sha256 = 'aa' } }]
[[packages]]
name = 'colorama'
version = '0.4'
marker = "sys_platform == 'win32'"
[[packages]]
name = 'local'
directory = { path = '.', editable = true }
[[packages]]
name = 'repository'
vcs = { type = 'git', url = 'https://x/r.git', commit-id = '0123', subdirectory = 'a' }
"#;

const POETRY: &str = r#"
[[package]]
name = 'idna'
version = '3.7'
optional = false
groups = ['main', 'dev']
markers = {main = "python_version >= '3.11'", dev = "python_version >= '3.12'"}
files = [
    {file = 'idna-3.7-py3-none-any.whl', hash = 'sha256:aa'},
    {file = 'idna-3.7.tar.gz', hash = 'sha256:bb'},
]
[[package]]
name = 'pytest'
version = '8.0'
optional = false
groups = ['dev']
files = []
[[package]]
name = 'repository'
version = '1.0'
optional = false
groups = ['main']
files = []
[package.source]
type = 'git'
url = 'https://x/r.git'
reference = 'main'
resolved_reference = '0123'
subdirectory = 'a'
[metadata]
lock-version = '2.1'
python-versions = '>=3.11'
"#;

const PDM: &str = r#"
[metadata]
groups = ['default', 'dev']
strategy = ['inherit_metadata']
lock_version = '4.5.0'
[[package]]
name = 'idna'
version = '3.7'
groups = ['default']
marker = "python_version >= '3.11'"
files = [{file = 'idna-3.7-py3-none-any.whl', hash = 'sha256:aa'}]
[[package]]
name = 'pytest'
version = '8.0'
groups = ['dev']
files = []
[[package]]
name = 'repository'
version = '1.0'
groups = ['default']
git = 'https://x/r.git'
ref = 'main'
revision = '0123'
subdirectory = 'a'
"#;

#[test]
fn lock_files_of_other_tools_are_used() {
    for (name, text, idna) in [
        ("pylock.toml", PYLOCK, "'idna==3.7 --hash=sha256:aa'"),
        ("poetry.lock", POETRY, "'idna==3.7 --hash=sha256:aa --hash=sha256:bb'"),
        ("pdm.lock", PDM, "'idna==3.7 --hash=sha256:aa'"),
    ] {
        let (text, codes) = with_lock(name, text);
        assert_eq!(codes, [""; 0], "{name}");
        assert!(text.contains(idna), "{name}: {text}");
        assert!(text.contains("'repository @ git+https://x/r.git@0123#subdirectory=a'"), "{name}: {text}");
        assert!(!["pytest", "colorama", "local @"].iter().any(|it| text.contains(it)), "{name}: {text}");
        assert_eq!(text.contains("--index-url https://private.example/simple"), name == "pylock.toml");
    }
}

/// All installations read the pip configuration: those of the lock file, and the packages that need their source.
#[test]
fn every_installation_reads_the_pip_configuration() {
    let manifest = "[build-system]\nrequires = ['unknown']\nbuild-backend = 'unknown'\n";
    let files = Tree::new(MemoryFiles::new([
        ("agent.py", "graph = object()"),
        ("pyproject.toml", &*format!("{manifest}{MANIFEST}'idna']")),
        ("poetry.lock", POETRY),
        ("pip.conf", ""),
    ]));
    let config = r#"{"dependencies": [".", "httpx"], "pip_installer": "pip", "pip_config_file": "pip.conf",
        "graphs": {"agent": "./agent.py:graph"}}"#;
    let analysis = analyze("agent.json", config, &files);
    assert!(analysis.is_usable(), "{:#?}", analysis.diagnostics);
    let plan = lower(&analysis.config, analysis.packages.as_ref(), &files, "agent.json", &Options::default());
    let steps: Vec<String> = plan.steps.iter().map(instruction).collect();
    let installs: Vec<&String> = steps.iter().filter(|step| step.contains("pip install")).collect();
    // Those of the lock and of other requirements, and of the package itself.
    let number: usize = installs.iter().map(|step| step.matches("pip install").count()).sum();
    assert!(number >= 3, "{installs:#?}");
    for step in installs {
        let (mount, variable) = ("from=pip,source=/pip.conf", "PIP_CONFIG_FILE=/run/agentcli/pip.conf");
        assert!(step.contains(mount), "{step}");
        assert_eq!(step.matches("pip install").count(), step.matches(variable).count(), "{step}");
    }
}

#[test]
fn settings_of_uv_beside_packages_of_an_index_are_used_with_credentials() {
    for (text, has_mount) in [
        ("[[index]]\nname = 'private'\nurl = 'https://private.example/simple'\n", true),
        ("prerelease = 'allow'\n", false),
    ] {
        let files = Tree::new(MemoryFiles::new([("agent.py", "graph = object()"), ("uv.toml", text)]));
        let config = r#"{"dependencies": ["httpx"], "graphs": {"agent": "./agent.py:graph"}}"#;
        let analysis = analyze("agent.json", config, &files);
        let text = dockerfile(&lower(
            &analysis.config,
            analysis.packages.as_ref(),
            &files,
            "agent.json",
            &Options::default(),
        ));
        assert!(text.contains("--directory /deps/app"), "{text}");
        assert_eq!(text.contains("type=secret,id=netrc"), has_mount, "{text}");
    }
}

#[test]
fn lock_files_of_other_tools_that_do_not_fit_are_not_used() {
    for (name, text, part, other) in [
        ("pylock.toml", PYLOCK, "'idna'", "'other'"),
        ("pylock.toml", PYLOCK, "version = '3.7'", "version = '2.7'"),
        ("pylock.toml", PYLOCK, ">=3.11", ">=3.12"),
        ("pylock.toml", PYLOCK, "'linux'", "'darwin'"),
        ("pylock.toml", PYLOCK, "lock-version = '1.0'", "lock-version = '2.0'"),
        ("poetry.lock", POETRY, "lock-version = '2.1'", "lock-version = '2.0'"),
        ("poetry.lock", POETRY, "groups = ['main', 'dev']", "groups = 5"),
        ("pdm.lock", PDM, "'inherit_metadata'", ""),
    ] {
        let (text, codes) = with_lock(name, &text.replacen(part, other, 1));
        assert_eq!(codes, ["unused-lock"], "{name}: {other}");
        assert!(!text.contains("requirements of the lock file"), "{name}: {text}");
    }
}
