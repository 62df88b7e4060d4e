//! Lock files in the plan and the Dockerfile.

use agentcli::compiler::back::emit::dockerfile::dockerfile;
use agentcli::compiler::back::lower::lower;
use agentcli::compiler::back::plan::{Lock, LockFormat, Plan};
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze_for};

use super::properties;

const MANIFEST: &str = "[project]\nname = 'app'\nversion = '1'\ndependencies = [";

/// The plan of a project with these packages in its lock file, each with its dependency and its `[[package]]` table.
fn plan(config: &str, names: &[&str], tables: &str, options: &Options) -> Plan {
    let list = |part: &dyn Fn(&&str) -> String| names.iter().map(part).collect::<Vec<_>>().join(", ");
    let manifest = format!("{MANIFEST}{}]\n", list(&|name| format!("'{name}'")));
    let named = list(&|name| {
        let name = name.split(['<', '>', '=']).next().unwrap();
        format!("{{ name = '{name}' }}")
    });
    let lock = format!(
        "version = 1\n[[package]]\nname = 'app'\nversion = '1'\nsource = {{ editable = '.' }}\ndependencies = [{named}]\n\
         [package.metadata]\nrequires-dist = [{named}]\n{tables}"
    );
    let files = [("pyproject.toml", manifest.as_str()), ("uv.lock", &lock)];
    plan_with_codes(config, &files, options).0
}

/// The plan of a project of these files, and the codes of all findings.
fn plan_with_codes(config: &str, files: &[(&str, &str)], options: &Options) -> (Plan, Vec<&'static str>) {
    let agent = [("agent.py", "graph = object()")];
    let files = Tree::new(MemoryFiles::new(files.iter().copied().chain(agent)));
    let config = format!("{{{config}, \"graphs\": {{\"agent\": \"./agent.py:graph\"}}}}");
    let analysis = analyze_for(options, "agent.json", &config, &files);
    assert!(analysis.is_usable(), "{:#?}", analysis.diagnostics);
    let plan = lower(&analysis.config, &files, "agent.json", options);
    properties::check(&plan).unwrap();
    (plan, analysis.diagnostics.iter().map(|diagnostic| diagnostic.rule.code).collect())
}

/// The only lock of a plan.
#[track_caller]
fn lock(plan: &Plan) -> &Lock {
    let [lock] = &plan.image.python.as_ref().unwrap().locks[..] else { panic!("{:#?}", plan.image) };
    lock
}

/// The requirements file that is made of the only lock.
#[track_caller]
fn requirements(plan: &Plan) -> &str {
    &lock(plan).requirements.as_ref().unwrap().text
}

fn messages(plan: &Plan) -> Vec<&str> {
    plan.notes.iter().map(|note| note.message.as_str()).collect()
}

fn table(name: &str, source: &str, files: &str) -> String {
    format!("[[package]]\nname = '{name}'\nversion = '1.0'\nsource = {{ {source} }}\n{files}\n")
}

const SOURCE: &str = r#""source": {"kind": "uv"}"#;
const DEPENDENCIES: &str = r#""dependencies": ["."]"#;
const PIP: &str = r#""dependencies": ["."], "pip_installer": "pip""#;
const PUBLIC: &str = "registry = 'https://pypi.org/simple'";

/// So that a Dockerfile in a repository stays true when the lock changes.
#[test]
fn the_dockerfile_names_no_version_of_a_lock() {
    let text = |version: &str| {
        let tables = table("idna", PUBLIC, "").replace("1.0", version);
        dockerfile(&plan(DEPENDENCIES, &["idna"], &tables, &Options::default()))
    };
    assert_eq!(text("3.6"), text("3.7"));
    assert!(text("3.7").contains("uv export --frozen"), "{}", text("3.7"));
}

/// The image has 3.11, which the lock excludes.
#[test]
fn a_lock_for_a_newer_python_is_used_on_this_machine() {
    let manifest = format!("{MANIFEST}'idna']\nrequires-python = '>=3.12'\n");
    let lock = format!(
        "version = 1\nrequires-python = '>=3.12'\n[[package]]\nname = 'app'\nversion = '1'\n\
         source = {{ editable = '.' }}\ndependencies = [{{ name = 'idna' }}]\n\
         [package.metadata]\nrequires-dist = [{{ name = 'idna' }}]\n{}",
        table(
            "idna",
            PUBLIC,
            "wheels = [{ url = 'https://x/idna-1.0-py3-none-any.whl', hash = 'sha256:aa' }]"
        ),
    );
    let files = [("pyproject.toml", manifest.as_str()), ("uv.lock", &lock)];
    let options = Options { is_local: true, ..Options::default() };
    let (plan, codes) = plan_with_codes(DEPENDENCIES, &files, &options);
    assert_eq!(plan.local.python.unwrap().locks, ["uv.lock"]);
    assert_eq!(codes, [""; 0]);
}

#[test]
fn each_package_comes_from_its_own_place() {
    let names = ["open", "closed", "direct", "repository"];
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
    for (config, format) in
        [(SOURCE, LockFormat::Uv), (DEPENDENCIES, LockFormat::Uv), (PIP, LockFormat::Requirements)]
    {
        let plan = plan(config, &names, &tables, &Options::default());
        assert_eq!((lock(&plan).format, &*lock(&plan).file), (format, "uv.lock"), "{config}");
        assert_eq!(lock(&plan).indexes, ["https://private.example/simple"], "{config}");
        assert!(plan.image.python.as_ref().unwrap().has_index, "{config}");
        if format == LockFormat::Requirements {
            let text = requirements(&plan);
            for part in [
                "\nopen==1.0 \\\n    --hash=sha256:aa\n",
                "\nclosed==1.0 \\\n    --hash=sha256:bb\n",
                "\ndirect @ https://x/direct.zip#subdirectory=py \\\n    --hash=sha256:cc\n",
                "\nrepository @ git+https://x/r@0123#subdirectory=a\n",
            ] {
                assert!(text.contains(part), "{part}\n{text}");
            }
            assert!(dockerfile(&plan).contains("COPY Dockerfile.requirements.txt "), "{}", dockerfile(&plan));
        }
    }
}

#[test]
fn a_lock_beside_a_manifest_is_used_unless_the_newest_versions_are_wanted() {
    let names = ["idna", "starlette"];
    let tables = table("idna", PUBLIC, "") + &table("starlette", PUBLIC, "");
    let locked = plan(DEPENDENCIES, &names, &tables, &Options::default());
    assert_eq!(lock(&locked).file, "uv.lock");
    let notes = [
        "the versions of `uv.lock` are installed; --no-lock installs the newest ones",
        "the server does not work with the versions of `starlette` in `uv.lock`, and keeps its own",
    ];
    assert_eq!(messages(&locked), notes);
    let pip = plan(PIP, &names, &tables, &Options::default());
    // The server requires a newer one, so that only the manifest's requirement is left.
    assert!(requirements(&pip).contains("idna==1.0") && !requirements(&pip).contains("starlette"));
    let newest = plan(DEPENDENCIES, &names, &tables, &Options { no_lock: true, ..Options::default() });
    assert!(newest.image.python.as_ref().unwrap().locks.is_empty() && newest.notes.is_empty());
}

/// The versions that exclude what the server needs are named; where the server is older or the package comes from elsewhere,
/// nothing is known.
#[test]
fn versions_that_the_server_excludes_are_noted() {
    let excluding =
        "the versions of `langchain` in `uv.lock` exclude what the server needs: others are installed";
    let older = format!("{DEPENDENCIES}, \"api_version\": \"0.4.1\"");
    for (config, name, source, expected) in [
        (DEPENDENCIES, "tabulate", PUBLIC, false),
        (DEPENDENCIES, "langchain", PUBLIC, true),
        (&*older, "langchain", PUBLIC, false),
        (DEPENDENCIES, "langchain", "registry = 'https://private.example/simple'", false),
        (DEPENDENCIES, "langchain", "git = 'https://x/r#0123'", false),
    ] {
        let tables = table("idna", PUBLIC, "") + &table(name, source, "");
        let plan = plan(config, &["idna", name], &tables, &Options::default());
        assert_eq!(messages(&plan).contains(&excluding), expected, "{name} {config}: {:?}", plan.notes);
        // The second installation lifts them, and nothing else.
        let last = plan.image.python.as_ref().unwrap().installs.last().unwrap();
        assert!(last.requirements.contains(&"langgraph-api".to_owned()), "{last:?}");
    }
}

#[test]
fn dev_is_constrained_to_the_versions_of_the_lock() {
    let names = ["idna", "starlette", "torch", "repository", "langgraph-api"];
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
    let plan = plan(DEPENDENCIES, &["via"], &(via + &forks), &Options::default());
    let constraints = plan.local.python.unwrap().constraints;
    assert_eq!(constraints, ["via==1.0", "idna==1.0 ; python_version == \"3.11\""]);
}

#[test]
fn the_server_that_requirements_name_is_not_installed() {
    let names = ["idna", "langgraph-api", "langgraph-runtime-inmem"];
    let bounded = ["idna", "langgraph-api<0.12", "langgraph-runtime-inmem>=0.1"];
    let tables: String = names.iter().map(|name| table(name, PUBLIC, "")).collect();
    let note = "`langgraph-api<0.12` does not change the server: the image has its own";
    let unlocked = plan(DEPENDENCIES, &bounded, &tables, &Options { no_lock: true, ..Options::default() });
    assert_eq!(messages(&unlocked), [note]);
    assert!(unlocked.image.python.unwrap().replaces_server);
    for config in [SOURCE, DEPENDENCIES, PIP] {
        let plan = plan(config, &names, &tables, &Options::default());
        if let Some(file) = &lock(&plan).requirements {
            assert!(file.text.contains("idna==1.0") && !file.text.contains("langgraph-"), "{}", file.text);
        } else {
            assert_eq!(lock(&plan).left_out, ["langgraph-api", "langgraph-runtime-inmem"], "{config}");
        }
    }
}

/// The plan of a project that requires `idna` and has one lock file, and the codes of all findings.
fn with_lock(name: &str, text: &str) -> (Plan, Vec<&'static str>) {
    let manifest = "[project]\nname = 'app'\nversion = '1'\ndependencies = ['idna>=3']";
    plan_with_codes(DEPENDENCIES, &[("pyproject.toml", manifest), (name, text)], &Options::default())
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
    let (plan, codes) = with_lock("pylock.toml", PYLOCK);
    assert_eq!((lock(&plan).format, codes), (LockFormat::Pylock, Vec::new()));
    assert_eq!(lock(&plan).indexes, ["https://private.example/simple"]);
    for (name, text, idna) in [
        ("poetry.lock", POETRY, "\nidna==3.7 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"),
        ("pdm.lock", PDM, "\nidna==3.7 \\\n    --hash=sha256:aa\n"),
    ] {
        let (plan, codes) = with_lock(name, text);
        assert_eq!(codes, [""; 0], "{name}");
        let text = requirements(&plan);
        assert!(text.contains(idna), "{name}: {text}");
        assert!(text.contains("\nrepository @ git+https://x/r.git@0123#subdirectory=a\n"), "{name}: {text}");
        assert!(!["pytest", "colorama", "local @"].iter().any(|it| text.contains(it)), "{name}: {text}");
        assert_eq!(plan.generated_files()[0].path, "Dockerfile.requirements.txt");
    }
}

/// All installations read the pip configuration: those of the lock file, and the packages that need their source.
#[test]
fn every_installation_reads_the_pip_configuration() {
    let manifest =
        format!("[build-system]\nrequires = ['unknown']\nbuild-backend = 'unknown'\n{MANIFEST}'idna']");
    let config = r#""dependencies": [".", "httpx"], "pip_installer": "pip", "pip_config_file": "pip.conf""#;
    let files = [("pyproject.toml", manifest.as_str()), ("poetry.lock", POETRY), ("pip.conf", "")];
    let text = dockerfile(&plan_with_codes(config, &files, &Options::default()).0);
    let steps: Vec<&str> = text.split("\nRUN ").filter(|step| step.contains("pip install")).collect();
    // Those of the lock and of other requirements, and of the package itself.
    assert_eq!(steps.iter().map(|step| step.matches("pip install").count()).sum::<usize>(), 3, "{steps:#?}");
    let mount = "--mount=type=bind,from=secrets,source=/pip.conf,target=/etc/pip.conf";
    assert!(steps.iter().all(|step| step.contains(mount)), "{steps:#?}");
}

#[test]
fn settings_of_uv_beside_packages_of_an_index_are_used_with_credentials() {
    for (text, has_index) in [
        ("[[index]]\nname = 'private'\nurl = 'https://private.example/simple'\n", true),
        ("prerelease = 'allow'\n", false),
    ] {
        let config = r#""dependencies": [".", "httpx"]"#;
        let python =
            plan_with_codes(config, &[("uv.toml", text)], &Options::default()).0.image.python.unwrap();
        assert_eq!((python.manifests, python.has_index), (vec!["uv.toml".to_owned()], has_index), "{text}");
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
        let (plan, codes) = with_lock(name, &text.replacen(part, other, 1));
        assert_eq!(codes, ["unused-lock"], "{name}: {other}");
        assert!(plan.image.python.unwrap().locks.is_empty(), "{name}: {other}");
    }
}
