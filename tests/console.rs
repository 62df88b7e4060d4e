//! Runs the console blocks of the documentation that are marked, with a real shell. CONTRIBUTING.md describes the marks.

mod block;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use tempfile::TempDir;

use block::{Block, Shown, Step, steps};

use crate::harness::{PATIENCE, free_port};
use crate::house::text;
use crate::reports::pages::pages;

/// Runs `command` in the directory and with the variables that the command before it left.
const FOREGROUND: &str = r#"exec 2>&1
. "$STATE/variables" && cd "$(cat "$STATE/directory")" || exit
eval "$COMMAND"
code=$?
unset COMMAND
export -p >"$STATE/variables"
pwd >"$STATE/directory"
exit $code"#;

/// The same for one that keeps running: signals reach the command itself.
const BACKGROUND: &str = r#"exec 2>&1
. "$STATE/variables" && cd "$(cat "$STATE/directory")" || exit
eval "exec $COMMAND""#;

/// The default ports of `dev`, `up`, and `host serve` with its proxy.
const PORTS: [u16; 4] = [2024, 8123, 8900, 8980];

/// A command that runs until the end of its page.
struct Running {
    name: String,
    process: Child,
    log: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The shell of a page.
struct Shell {
    directory: TempDir,
    /// Directories before those of the PATH.
    programs: Vec<PathBuf>,
    variables: Vec<(&'static str, String)>,
    /// Default ports, each with the one that is used instead.
    ports: [(u16, u16); 4],
    running: Vec<Running>,
}

impl Shell {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let at = |name| directory.path().join(name);
        for name in ["programs", "state", "home", "work"] {
            fs::create_dir(at(name)).unwrap();
        }
        let ports = PORTS.map(|port| (port, free_port()));
        write_program(&at("programs/agentcli"), &program(&ports));
        write_program(&at("programs/cargo"), CARGO);
        let (programs, variables, running) = (vec![at("programs")], Vec::new(), Vec::new());
        let shell = Self { directory, programs, variables, ports, running };
        fs::write(shell.state("variables"), "").unwrap();
        fs::write(shell.state("directory"), shell.directory.path().join("work").to_str().unwrap()).unwrap();
        shell
    }

    /// `text` with the ports that are used.
    fn with_ports(&self, text: &str) -> String {
        let port =
            |text: String, (port, used): &(u16, u16)| text.replace(&format!(":{port}"), &format!(":{used}"));
        self.ports.iter().fold(text.to_owned(), port)
    }

    /// Removes what deployment services left on the engine: their databases run on when they stop.
    #[cfg(feature = "system-tests")]
    fn remove_services(&self, engine: &str) {
        let work = self.directory.path().join("work");
        for file in crate::new::files(&work).iter().filter_map(|file| file.strip_suffix("host.db")) {
            let service = agentcli_host::Store::attach(&work.join(file)).unwrap().host_id().unwrap();
            crate::engine::remove_labelled(engine, &format!("agentcli.host={service}"));
        }
    }

    fn state(&self, file: &str) -> PathBuf {
        self.directory.path().join("state").join(file)
    }

    fn command(&self, script: &str, command: &str) -> Command {
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(self.programs.iter().cloned().chain(env::split_paths(&path))).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("PATH", path).env("HOME", self.directory.path().join("home"));
        shell.env("STATE", self.state("")).env("COMMAND", command).stdin(Stdio::null());
        for inherited in ["AGENT_HOST_URL", "AGENT_HOST_API_KEY", "PYENV_VERSION", "VIRTUAL_ENV"] {
            shell.env_remove(inherited);
        }
        shell.envs(self.variables.iter().map(|(name, value)| (name, value)));
        shell
    }

    /// Runs the commands of a page. The error has the place, the command, and what was expected.
    fn run(&mut self, page: &str, steps: Vec<Step>) -> Result<(), String> {
        for step in steps {
            match step {
                Step::File { path, contents } => {
                    let directory = fs::read_to_string(self.state("directory")).unwrap();
                    let path = Path::new(directory.trim_end()).join(path);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, contents).unwrap();
                }
                Step::Run(block) => self.run_block(page, &block)?,
            }
        }
        for running in self.running.drain(..) {
            running.interrupt()?;
        }
        Ok(())
    }

    fn run_block(&mut self, page: &str, block: &Block) -> Result<(), String> {
        for (number, shown) in block.commands.iter().enumerate() {
            let shown = &shown.map(|text| self.with_ports(text));
            let is_last = number + 1 == block.commands.len();
            let name = format!("{page}:{}: {}", shown.line, shown.command);
            if is_last && block.is_background {
                self.start(name, shown)?;
                continue;
            }
            let output = self.command(FOREGROUND, &shown.command).output().unwrap();
            let actual = String::from_utf8_lossy(&output.stdout);
            let code = if is_last { block.code } else { 0 };
            if output.status.code() != Some(code) {
                return Err(format!("{name}\nexpected exit code {code}: {}\n{actual}", output.status));
            }
            if !shown.expected.is_empty() && !shown.matches(&actual) {
                return Err(shown.mismatch(&name, &actual));
            }
        }
        Ok(())
    }

    /// Starts a command, and waits until it has printed the expected lines.
    fn start(&mut self, name: String, shown: &Shown) -> Result<(), String> {
        let log = self.state(&format!("{}.log", self.running.len()));
        allow_interrupts();
        let mut command = self.command(BACKGROUND, &shown.command);
        let process = command.stdout(File::create(&log).unwrap()).stderr(Stdio::null()).spawn().unwrap();
        let mut running = Running { name, process, log };
        let deadline = Instant::now() + PATIENCE;
        while !shown.begins(&running.log()) {
            if Instant::now() > deadline || running.process.try_wait().unwrap().is_some() {
                return Err(shown.mismatch(&running.name, &running.log()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.running.push(running);
        Ok(())
    }
}

impl Running {
    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }

    /// Ctrl-C, after which the command has to succeed.
    fn interrupt(mut self) -> Result<(), String> {
        kill_process(Pid::from_child(&self.process), Signal::INT).ok();
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.process.try_wait().unwrap() {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(format!("{}\nafter Ctrl-C: {status}\n{}", self.name, self.log()));
                }
                None if Instant::now() > deadline => {
                    return Err(format!("{}\nCtrl-C does not end it\n{}", self.name, self.log()));
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// Stands for cargo: what it installs or runs is there already, since a release build takes minutes.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
'install --locked --path .') ;;
'run --release --locked --bin agentcli -- '*) shift 6 && exec agentcli "$@" ;;
*) exit 1 ;;
esac
"#;

/// A program that runs `agentcli` on the ports that are used, and without pulling: base images are local on the test
/// engines.
fn program(ports: &[(u16, u16); 4]) -> String {
    let [(_, dev), (_, up), (_, host), (_, proxy)] = ports;
    format!(
        r#"#!/bin/sh
case " $* " in
*" --help "* | *" --port "*) ;;
" dev "*) set -- "$@" --port {dev} ;;
" up "*) set -- "$@" --port {up} ;;
" host serve "*) set -- "$@" --listen 127.0.0.1:{host} --proxy 127.0.0.1:{proxy} ;;
esac
case " $* " in
*" --help "* | *" --no-pull "*) ;;
" build "* | " up "*) set -- "$@" --no-pull ;;
esac
exec '{}' "$@"
"#,
        crate::harness::program()
    )
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Lets commands be interrupted if the tests run with SIGINT ignored, as in the background of a script: a command inherits
/// that, but no handler. The handler does what is done without one.
fn allow_interrupts() {
    static ALLOWED: Once = Once::new();
    ALLOWED.call_once(|| {
        flag::register_conditional_default(SIGINT, Arc::new(AtomicBool::new(true))).unwrap();
    });
}

/// Runs `steps` in a shell with nothing but the program.
fn run(page: &str, steps: Vec<Step>) -> Result<(), String> {
    Shell::new().run(page, steps)
}

/// The steps of every page, without the blocks that need a machine which `tests/run` has set up, unless `with_system`.
fn documented(with_system: bool) -> Vec<(String, Vec<Step>)> {
    let pages = pages().into_iter().map(|page| {
        let mut steps = steps(&text(&page)).unwrap_or_else(|error| panic!("{}:{error}", page.display()));
        steps.retain(|step| with_system || !matches!(step, Step::Run(block) if block.is_system));
        (page.display().to_string(), steps)
    });
    pages.filter(|(_, steps)| steps.iter().any(|step| matches!(step, Step::Run(_)))).collect()
}

#[test]
fn blocks_do_what_they_show() {
    let pages = documented(false);
    assert!(pages.len() >= 5, "the marks are not found");
    let failed: Vec<String> = pages.into_iter().filter_map(|(page, steps)| run(&page, steps).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// On the machine that `tests/run` has set up.
#[cfg(feature = "system-tests")]
#[test]
fn blocks_with_an_engine_do_what_they_show() {
    let tools = crate::harness::python().parent().unwrap().to_owned();
    let cache = format!("{}/.cache/uv", env::var("HOME").unwrap());
    let variables = [
        ("DOCKER_HOST", crate::engine::hosts().remove(0)),
        ("UV_CACHE_DIR", cache),
        ("PYENV_ROOT", "/nowhere".to_owned()),
    ];
    let has_system = |steps: &[Step]| steps.iter().any(|step| matches!(step, Step::Run(it) if it.is_system));
    let pages = documented(true).into_iter().filter(|(_, steps)| has_system(steps));
    let failed: Vec<String> = pages
        .filter_map(|(page, steps)| {
            let mut shell = Shell::new();
            shell.programs.push(tools.clone());
            shell.variables.extend(variables.clone());
            let result = shell.run(&page, steps);
            // A page that failed may not have removed its containers.
            shell.command(FOREGROUND, "agentcli down --volumes").output().unwrap();
            shell.remove_services(&crate::engine::hosts()[0]);
            result.err()
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Runs a page with this text.
fn run_text(page: &str) -> Result<(), String> {
    run("page", steps(page)?)
}

#[test]
fn a_page_shares_its_directory_and_variables() {
    let page = "\
<!-- file: a/b.txt -->
```text
one
two
```

Hidden:

<!-- run
$ cd a
$ export WORD='x y'
-->

<!-- run -->
```console
$ cat b.txt
one
two
$ echo \"$WORD\" \\
    and more
x y and more
$ touch unchecked && ls
```

```console
$ never-run
```

<!-- run: exit 3 -->
```console
$ echo took 1.5 s of 12 kB, sha256:0000000000000000000000000000000000000000000000000000000000000000
took 0.9 s of 3 kB, sha256:1111111111111111111111111111111111111111111111111111111111111111
$ seq 5; exit 3
1
...
4
5
```
";
    run_text(page).unwrap();
}

#[test]
fn a_broken_block_fails_with_its_place() {
    for (block, expected) in [
        ("$ echo one\ntwo", "page:2: echo one\nexpected:\ntwo\nactual:\none\n"),
        ("$ echo one; echo two\none", "page:2: echo one; echo two\nexpected:\none\nactual:\none\ntwo\n"),
        ("$ echo port 2025\nport 2024", "expected:\nport 2024\nactual:\nport 2025\n"),
        ("$ true\n$ echo no; false", "page:3: echo no; false\nexpected exit code 0: exit status: 1\nno\n"),
        ("$ seq 3\n1\n...\n4", "actual:\n1\n2\n3\n"),
    ] {
        let page = format!("<!-- run -->\n```console\n{block}\n```\n");
        // The block begins in the second line.
        let expected = expected.replace("page:3", "page:4").replace("page:2", "page:3");
        let failed = run_text(&page).unwrap_err();
        assert!(failed.contains(&expected), "{failed}");
    }
    for (page, expected) in [
        ("text\n<!-- run -->\ntext\n", "2: no fenced block after the mark"),
        ("<!-- run: often -->\n```console\n$ true\n```\n", "1: unknown mark `often`"),
        ("<!-- run -->\n```console\ntext\n```\n", "3: output without a command"),
        ("<!-- run -->\n```console\n$ true\n", "1: the block does not end"),
    ] {
        assert_eq!(run_text(page).unwrap_err(), expected);
    }
}

#[test]
fn background_commands_run_until_the_end_of_the_page() {
    let page = |trap: &str| {
        format!(
            "<!-- run: background -->\n```console\n$ sh -c '{trap}; echo ready; while :; do sleep 0.1; done'\nready\n```\n\
             <!-- run -->\n```console\n$ echo meanwhile\nmeanwhile\n```\n"
        )
    };
    run_text(&page("trap \"exit 0\" INT")).unwrap();
    let failed = run_text(&page("trap \"exit 9\" INT")).unwrap_err();
    assert!(failed.contains("after Ctrl-C: exit status: 9"), "{failed}");
    let failed = run_text("<!-- run: background -->\n```console\n$ echo other\nready\n```\n").unwrap_err();
    assert!(failed.contains("expected:\nready\nactual:\nother\n"), "{failed}");
}
