//! Runs the whole program in this process, in its own directory and with captured streams.

#[cfg(feature = "system-tests")]
pub(crate) mod browser;
mod lines;
#[cfg(feature = "system-tests")]
mod machine;
mod ports;
mod wait;
#[cfg(feature = "system-tests")]
pub(crate) mod wheel;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;
use std::{env, fs};

use agentcli::api::RetryPolicy;
use agentcli::cli;
use agentcli::cli::env::{Env, Stream};
use agentcli::cli::input::Input;
pub(crate) use lines::lines;
#[cfg(feature = "system-tests")]
pub(crate) use machine::{copy, outside, python};
pub(crate) use ports::free_port;
use proptest::test_runner::Config as ProptestConfig;
use tempfile::TempDir;
#[cfg(feature = "system-tests")]
pub(crate) use wait::ended;
pub(crate) use wait::{PATIENCE, until};

/// A valid configuration for the tree of [`TestEnv::project`].
pub(crate) const VALID: &str = r#"{
  "dependencies": ["."],
  "graphs": { "agent": "./agent.py:graph" }
}
"#;

/// A directory, and the environment of a process in it.
pub(crate) struct TestEnv {
    directory: PathBuf,
    variables: BTreeMap<String, String>,
    is_terminal: bool,
    /// What stdin has.
    input: String,
    width: usize,
    retry_policy: RetryPolicy,
    /// Removed when this value is dropped.
    _temporary: Option<TempDir>,
}

/// The exit code and the output of a run.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<std::process::Output> for Output {
    fn from(output: std::process::Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = u8::try_from(output.status.code().unwrap()).unwrap();
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

impl TestEnv {
    /// In an empty directory.
    pub(crate) fn empty() -> Self {
        let temporary = TempDir::new().unwrap();
        Self { _temporary: Some(temporary), ..Self::inside(&PathBuf::new()) }.moved()
    }

    /// In an existing directory.
    pub(crate) fn inside(directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self {
            directory,
            variables: BTreeMap::new(),
            is_terminal: false,
            input: String::new(),
            width: 100,
            retry_policy: hasty(),
            _temporary: None,
        }
    }

    /// In a directory with a valid Python project.
    pub(crate) fn project() -> Self {
        Self::empty()
            .file("agent.json", VALID)
            .file("agent.py", "graph = object()\n")
            .file("requirements.txt", "")
    }

    /// With this file.
    pub(crate) fn file(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
        self
    }

    /// With this environment variable.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With a terminal as its streams.
    pub(crate) fn at_a_terminal(mut self) -> Self {
        self.is_terminal = true;
        self
    }

    /// With this on stdin.
    pub(crate) fn input(mut self, text: &str) -> Self {
        text.clone_into(&mut self.input);
        self
    }

    /// With this many columns.
    pub(crate) fn width(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// With other timeouts.
    #[cfg(feature = "system-tests")]
    pub(crate) fn retry_policy(mut self, change: impl FnOnce(&mut RetryPolicy)) -> Self {
        change(&mut self.retry_policy);
        self
    }

    /// In another directory.
    pub(crate) fn enter(&mut self, directory: &Path) {
        self.directory = directory.to_owned();
    }

    /// A path in the directory.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// Runs `agentcli` with these arguments, separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.run_with(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    /// Like [`run`](Self::run), with arguments that may have spaces. `host` is run by its own program in this process.
    pub(crate) fn run_with(&self, arguments: &[&str]) -> Output {
        let out = Captured::default();
        let err = Captured::default();
        let env = |arguments| self.env(arguments, Box::new(out.clone()), Box::new(err.clone()));
        let code = match arguments.split_first() {
            Some((&"host", rest)) => agentcli_host::run(&mut env(rest)),
            _ => cli::run(&mut env(arguments)),
        };
        Output { code, out: out.text(), err: err.text() }
    }

    /// Like [`run`](Self::run), with another stdout.
    pub(crate) fn run_into(&self, arguments: &str, out: Box<dyn Write>) -> Output {
        let err = Captured::default();
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let code = cli::run(&mut self.env(&arguments, out, Box::new(err.clone())));
        Output { code, out: String::new(), err: err.text() }
    }

    fn env(&self, arguments: &[&str], out: Box<dyn Write>, err: Box<dyn Write>) -> Env {
        let variables = self.variables.clone();
        Env {
            arguments: ["agentcli"].iter().chain(arguments).map(Into::into).collect(),
            variables: Box::new(move |name| variables.get(name).cloned()),
            directory: self.directory.clone(),
            project_root: None,
            input: Input::new(Box::new(io::Cursor::new(self.input.clone())), self.is_terminal),
            out: Stream::new(out, self.is_terminal),
            err: Stream::new(err, self.is_terminal),
            width: self.width,
            verbose: false,
            retry_policy: self.retry_policy,
            stop: Default::default(),
            messages: Default::default(),
        }
    }

    fn moved(mut self) -> Self {
        self.directory =
            self._temporary.as_ref().map(|temporary| temporary.path().to_owned()).unwrap_or_default();
        self
    }
}

/// The timeouts of the program, but shorter.
fn hasty() -> RetryPolicy {
    RetryPolicy {
        attempt: Duration::from_secs(5),
        total: Duration::from_secs(20),
        pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(100),
        poll: Duration::from_millis(50),
        push: Duration::from_secs(60),
        ..RetryPolicy::default()
    }
}

/// The path of the program, under a name that stays: cargo replaces its own file when a test builds the wheel. The program
/// of the deployment service is beside it.
pub(crate) fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program");
        fs::create_dir_all(&directory).unwrap();
        let built = Path::new(env!("CARGO_BIN_EXE_agentcli"));
        for name in ["agentcli-host", "agentcli"] {
            let built = built.with_file_name(name).with_extension(env::consts::EXE_EXTENSION);
            assert!(built.exists(), "{} is not built: run `cargo test` for the workspace", built.display());
            let new = directory.join(std::process::id().to_string());
            fs::copy(built, &new).unwrap();
            fs::rename(&new, directory.join(name)).unwrap();
        }
        directory.join("agentcli").into_os_string().into_string().unwrap()
    });
    &PROGRAM
}

/// Compares `actual` with the contents of `file`; AGENTCLI_BLESS=1 writes it there instead.
pub(crate) fn golden(file: &Path, actual: &str) -> Result<(), String> {
    if env::var_os("AGENTCLI_BLESS").is_some() {
        fs::write(file, actual).unwrap();
        return Ok(());
    }
    let expected = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    if expected == actual {
        return Ok(());
    }
    Err(format!("{}:\n--- expected\n{expected}\n+++ actual\n{actual}", file.display()))
}

/// Whether the long tests run: `tests/run --long`.
pub(crate) fn is_long() -> bool {
    env::var_os("AGENTCLI_TEST_LONG").is_some()
}

/// The seed of random tests: that of tests/run, which follows from the sources, so that a run can be repeated.
pub(crate) fn seed() -> u64 {
    let given = env::var("PROPTEST_RNG_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| fastrand::u64(..))
}

/// How many random cases a test has: AGENTCLI_TEST_MUTATIONS, or `count`, and ten times as many in the long tests.
pub(crate) fn mutations(count: u32) -> u32 {
    let given = env::var("AGENTCLI_TEST_MUTATIONS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(if is_long() { 10 * count } else { count })
}

/// Returns the configuration of a property with this number of random cases.
pub(crate) fn random_cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: mutations(count), failure_persistence: None, ..ProptestConfig::default() }
}

/// A folder of `fixtures/`.
pub(crate) fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder)
}

/// Files that running a project leaves in its directory. They are not copied, so that trying out a project in
/// `fixtures/` does not change the tests.
const LEFT_BY_RUNS: &[&str] = &[".agentcli", ".langgraph_api", "__pycache__", "node_modules"];

/// Copies a project with `change` made to every file.
pub(crate) fn copy_changed(from: &Path, to: &Path, change: &dyn Fn(Vec<u8>) -> Vec<u8>) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let target = to.join(&name);
        if LEFT_BY_RUNS.contains(&name.as_str()) || name.ends_with(".egg-info") {
            continue;
        }
        if entry.path().is_dir() {
            copy_changed(&entry.path(), &target, change);
        } else {
            fs::write(&target, change(fs::read(entry.path()).unwrap())).unwrap();
            fs::set_permissions(target, entry.metadata().unwrap().permissions()).unwrap();
        }
    }
}

#[derive(Clone, Default)]
struct Captured(Rc<RefCell<Vec<u8>>>);

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
