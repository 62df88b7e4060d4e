//! Images of uploaded archives, templates and repositories: unpacked, copied or fetched, compiled as `agentcli build` does, and built by the engine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use agentcli::api::wire::LogLevel;
use agentcli::cli::report::text::{self, Layout};
use agentcli::compiler::agent_lock::{self, AgentLock, Wanted};
use agentcli::compiler::back::emit::dockerfile::shell_word;
use agentcli::compiler::server::product::Product;
use agentcli::compiler::{Compiled, Options, Unused};
use agentcli::engine::{BuildEvent, BuildRequest, Engine, Error};
use agentcli::project::{self, Boundary, Project};

use super::confined::confine;
use super::repository::{self, Remote};
use super::{BuildJob, Failure, LogSink, Origin, archive, tree};
use crate::net::address;
use crate::store::persist::system_error;
use crate::store::removal;

/// Width of the findings in a log, in columns.
const WIDTH: usize = 100;

/// Why a build is not tried again.
const ENDED: &str = "the service ended while it read the source of this revision, and does not try it again by itself; \
                     create another revision to try it once more";

/// Builds an image.
pub(super) async fn build(
    engine: &Engine,
    job: BuildJob,
    options: &super::Options,
    log: LogSink,
) -> Result<(), Failure> {
    let super::Options { builds, pull, repository_limit, .. } = options;
    let server = options.server;
    let tag = job.tag.clone();
    let config = job.config.clone();
    let cache = job.cache.clone();
    let tree = Tree::new(builds, &job.tag)?;
    if let Origin::Repository { url, reference, commit, access } = &job.origin {
        let remote = Remote { url, reference, commit: commit.as_deref(), access: *access };
        repository::fetch(&remote, &tree.path, *repository_limit, &log).await.map_err(Failure::Refused)?;
    }
    let (root, lines) = (tree.path.clone(), log.clone());
    let mark = tree.mark.clone();
    let prepared = tokio::task::spawn_blocking(move || {
        let _mark = Mark::set(&mark);
        prepare(&root, &job, server, &lines)
    });
    let prepared = prepared.await;
    let prepared = prepared.map_err(|_| Failure::Refused("the build stopped".to_owned()))?;
    let (request, of_tenant) = prepared.map_err(Failure::Refused)?;
    let lines = log.clone();
    let mut request = BuildRequest { tags: vec![tag], pull: *pull, ..request };
    let _bases = confine(engine, options, &mut request, &of_tenant, &cache).await?;
    engine.build(request, move |event| report(&event, &lines)).await.map(drop).map_err(|error| {
        let Error::Step(failed) = &error else { return error.into() };
        failed.last_lines.iter().for_each(|line| log(LogLevel::Error, line));
        let key = failed.step.key.as_ref().map(|key| format!("; it comes from `{key}` of {config}"));
        Failure::Refused(address::hidden(&format!("{error}{}", key.unwrap_or_default())))
    })
}

/// The tree of a build, which is removed with this.
struct Tree {
    path: PathBuf,
    /// The file of its [`Mark`].
    mark: PathBuf,
}

impl Tree {
    /// An empty tree for the build of the image `tag`. Fails if the last build of it ended the service.
    fn new(builds: &Path, tag: &str) -> Result<Self, Failure> {
        let mark = builds.join(format!("begun-{}", tag.replace(['/', ':'], "-")));
        if fs::remove_file(&mark).is_ok() {
            return Err(Failure::Refused(ENDED.to_owned()));
        }
        let created = fs::create_dir_all(builds).and_then(|()| TempDir::with_prefix_in("tree-", builds));
        let path = created.map(TempDir::keep).map_err(|error| {
            let reason = project::reason(&system_error(error));
            Failure::Refused(format!("cannot create a directory for the build: {reason}"))
        })?;
        Ok(Self { path, mark })
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _mark = Mark::set(&self.mark);
        removal::remove_directory(&self.path).ok();
    }
}

/// A file that exists while this process reads, writes or removes the source of a tenant. If it is there when a build begins,
/// the service ended meanwhile, perhaps by that source.
struct Mark<'a>(&'a Path);

impl<'a> Mark<'a> {
    fn set(path: &'a Path) -> Self {
        // Without it, the source is only tried once more.
        File::create(path).ok();
        Self(path)
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        fs::remove_file(self.0).ok();
    }
}

fn report(event: &BuildEvent, log: &LogSink) {
    match event {
        BuildEvent::UpToDate { .. } => log(LogLevel::Info, "the image is up to date"),
        BuildEvent::Context { files, bytes, .. } => {
            log(LogLevel::Info, &format!("build context: {files} files, {bytes} bytes"));
        }
        BuildEvent::StepStarted(step) if !step.internal => log(LogLevel::Info, &step.summary()),
        BuildEvent::StepLog { line, .. } => log(LogLevel::Info, line),
        BuildEvent::StepFailed { reason, .. } => log(LogLevel::Error, &address::hidden(reason)),
        BuildEvent::Warning { message } => log(LogLevel::Warning, &address::hidden(message)),
        BuildEvent::RunsAgain { .. }
        | BuildEvent::StepStarted(_)
        | BuildEvent::StepProgress { .. }
        | BuildEvent::StepRunning { .. }
        | BuildEvent::StepDone { .. } => {}
    }
}

/// Unpacks and compiles the source; the build, and the lines of the tenant in its Dockerfile. The error is a fragment.
fn prepare(
    root: &Path,
    job: &BuildJob,
    server: &'static Product,
    log: &LogSink,
) -> Result<(BuildRequest, Vec<String>), String> {
    match &job.origin {
        Origin::Archive(archive) => unpack(archive, &job.config, root, log)?,
        Origin::Template(directory) => tree::copy(directory, root)?,
        Origin::Repository { .. } => {}
    }
    // Before it is compiled: findings quote files.
    tree::check(root)?;
    compile(root, job, server, log)
}

/// Unpacks an archive into the empty directory `root`, and says what is in it. The error is a fragment.
pub fn unpack(archive: &File, config: &str, root: &Path, log: &LogSink) -> Result<(), String> {
    let archive::Contents { files, bytes } = archive::unpack(archive, config, root)?;
    log(LogLevel::Info, &format!("received {files} files, {bytes} bytes, with {config}"));
    Ok(())
}

/// Fails if `path` leads out of `root`, through links too: everything else on this machine belongs to others.
fn is_inside(root: &Path, path: &Path) -> io::Result<()> {
    let is_inside = path.canonicalize()?.starts_with(root.canonicalize()?);
    if is_inside { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The build of the configuration in an unpacked archive for `server`, and the lines of the tenant; its findings are logged.
fn compile(
    root: &Path,
    job: &BuildJob,
    server: &'static Product,
    log: &LogSink,
) -> Result<(BuildRequest, Vec<String>), String> {
    let path = Path::new(&job.config);
    is_inside(root, &root.join(path)).map_err(|_| format!("`{}` is not a file of the source", job.config))?;
    let directory = root.join(path.parent().unwrap_or(Path::new("")));
    let agent_lock = project::agent_lock(root, path);
    let agent_lock = agent_lock.map_err(|it| format!("cannot use {}: {}", it.place, it.message))?;
    let options = Options {
        agent_lock,
        server,
        install_command: job.install_command.clone(),
        build_command: job.build_command.clone(),
        called_from: project::relative(&directory, root),
        ..Options::default()
    };
    let boundary = Boundary::Directory(root);
    let (_, compiled) = Project::compile(Project::load(root, path, boundary), &options, Unused::default());
    let Compiled { checked, plan, config, .. } = compiled;
    let errors = checked.findings.iter().map(|it| &it.diagnostic).filter(|it| it.is_error());
    let errors: Vec<String> = errors.map(|it| it.message.clone()).collect();
    let level = if errors.is_empty() { LogLevel::Warning } else { LogLevel::Error };
    let findings = text::render(&[checked], Layout { is_coloured: false, width: WIDTH, is_brief: false });
    findings.lines().for_each(|line| log(level.clone(), line));
    match errors.as_slice() {
        [] => {}
        [one] => return Err(format!("{} is invalid: {one}", job.config)),
        [first, rest @ ..] => {
            return Err(format!("{} is invalid: {first}, and {} more errors", job.config, rest.len()));
        }
    }
    let plan = plan.ok_or_else(|| format!("{} cannot be read", job.config))?;
    if let Some(lock) = &options.agent_lock {
        check_lock(lock, &Wanted::new(&config), job, server)?;
        log(LogLevel::Info, &format!("using the images of {}", agent_lock::NAME));
    }
    plan.notes.iter().for_each(|note| log(LogLevel::Info, &note.message));
    let context = directory.join(&plan.context.root);
    is_inside(root, &context).map_err(|_| format!("{} needs files outside of the source", job.config))?;
    Ok((BuildRequest::of_plan(&plan, context)?, plan.image.lines.clone()))
}

/// Fails with the differences if the images of `lock` are not those that the source asks for.
fn check_lock(lock: &AgentLock, wanted: &Wanted, job: &BuildJob, server: &Product) -> Result<(), String> {
    let path = project::with_slashes(&Path::new(&job.config).with_file_name(agent_lock::NAME));
    // The databases are those of the service.
    let differences = lock.differences(wanted, |_| false);
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{path} is out of date ({}); run `agentcli lock {} --server {}`, and deploy again",
        differences.join(", "),
        shell_word(&job.config),
        server.name
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// A job for an archive with these files.
    fn job(directory: &Path, files: &[(&str, &str)]) -> BuildJob {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let path = directory.join("source.tar.gz");
        fs::write(&path, tar.into_inner().unwrap().finish().unwrap()).unwrap();
        let archive = Arc::new(File::open(path).unwrap());
        let (install_command, build_command) = (None, None);
        let (tag, config) = ("image:1".to_owned(), "app/agent.json".to_owned());
        let (cache, origin) = ("cache".to_owned(), Origin::Archive(archive));
        BuildJob { tag, cache, origin, config, install_command, build_command }
    }

    fn prepared(files: &[(&str, &str)]) -> (Result<BuildRequest, String>, Vec<String>, TempDir) {
        let (directory, tree) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        let log: LogSink = Arc::new(move |_, line| kept.lock().unwrap().push(line.to_owned()));
        let prepared = prepare(tree.path(), &job(directory.path(), files), Default::default(), &log);
        let prepared = prepared.map(|(request, _)| request);
        let lines = lines.lock().unwrap().clone();
        (prepared, lines, tree)
    }

    const VALID: &str = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}"#;

    #[test]
    fn archive_becomes_a_build_of_its_configuration() {
        let files =
            [("app/agent.json", VALID), ("app/agent.py", "graph = object()\n"), ("app/requirements.txt", "")];
        let (prepared, _, tree) = prepared(&files);
        let request = prepared.unwrap_or_else(|reason| panic!("{reason}"));
        assert!(request.context.root.starts_with(tree.path()));
        assert!(
            request
                .steps
                .iter()
                .any(|step| step.key.as_ref().is_some_and(|key| key.starts_with("/dependencies")))
        );
    }

    #[test]
    fn images_are_those_of_the_lock_file_in_the_source() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let lock = |version, base| {
            format!(
                "version = {version}\n[server]\nname = \"licensed\"\n[[image]]\nname = \"{base}\"\ndigest = \"{digest}\"\n"
            )
        };
        let prepare = |lock: String| {
            let files = [("app/agent.json", VALID), ("app/agent.py", "graph = object()\n")];
            let (prepared, lines, _tree) =
                prepared(&[&files[..], &[("app/requirements.txt", ""), ("app/agent.lock", &*lock)]].concat());
            (prepared, lines)
        };
        let base = "langchain/langgraph-api:3.11";
        let (request, lines) = prepare(lock(1, base));
        let request = request.unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!(request.images, [format!("{base}@{digest}")]);
        assert!(lines.contains(&"using the images of agent.lock".to_owned()), "{lines:?}");
        for (text, reason) in [
            (
                lock(1, "langchain/langgraph-api:3.12"),
                "app/agent.lock is out of date (- langchain/langgraph-api:3.12, + langchain/langgraph-api:3.11); run \
                 `agentcli lock app/agent.json --server licensed`, and deploy again",
            ),
            (lock(2, base), "cannot use app/agent.lock:1:11: it has version 2, and this agentcli reads 1"),
        ] {
            assert_eq!(prepare(text).0.err().as_deref(), Some(reason));
        }
    }

    /// The steps that restore the server after them have the same key.
    #[test]
    fn lines_of_a_tenant_are_told_from_those_of_the_compiler() {
        let config = VALID.replacen('{', r#"{"dockerfile_lines": ["RUN a", "COPY b c"], "#, 1);
        let files = [
            ("app/agent.json", &*config),
            ("app/agent.py", "graph = object()\n"),
            ("app/requirements.txt", ""),
            ("app/b", ""),
        ];
        let (directory, tree) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let log: LogSink = Arc::new(|_, _| ());
        let prepared = prepare(tree.path(), &job(directory.path(), &files), Default::default(), &log);
        let (_, lines) = prepared.unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!(lines, ["RUN a", "COPY b c"]);
    }

    #[test]
    fn files_outside_of_the_source_are_not_packed() {
        let above = VALID.replace("[\".\"]", "[\".\", \"../..\"]");
        let files = [
            ("app/agent.json", &*above),
            ("app/agent.py", "graph = object()\n"),
            ("app/requirements.txt", ""),
        ];
        let (prepared, ..) = prepared(&files);
        let reason = prepared.err().unwrap();
        assert!(reason.contains("`../..` leads out of the project"), "{reason}");
    }

    /// A compressed archive may be small, and what it unpacks is not.
    #[test]
    fn files_of_the_machine_and_huge_ones_are_not_read() {
        let up = "../".repeat(16);
        let include = format!("-r {up}etc/passwd\n-r {up}proc/self/environ\n-r /etc/passwd\n");
        let huge = "\0".repeat(usize::try_from(project::MAX_FILE).unwrap() + 1);
        let dependencies = VALID.replace("[\".\"]", "[\".\", \"../lib\", \"../huge\"]");
        let (prepared, lines, _) = prepared(&[
            ("app/agent.json", &*dependencies),
            ("app/agent.py", "graph = object()\n"),
            ("app/.git/HEAD", ""),
            ("app/requirements.txt", &*include),
            ("huge/requirements.txt", &*huge),
            ("lib/requirements.txt", "-r ../app/agent.py\n"),
        ]);
        assert!(prepared.is_err());
        let log = lines.join("\n");
        let codes = lines.iter().filter_map(|line| line.split_once(": ").map(|(code, _)| code));
        let codes: Vec<&str> = codes.filter(|code| code.ends_with(']')).collect();
        let outside = "error[path-outside-project]";
        assert_eq!(
            codes,
            [
                "warning[absolute-include]",
                outside,
                outside,
                "error[invalid-requirement]",
                "error[file-too-large]"
            ],
            "{log}"
        );
        assert!(log.contains("etc/passwd") && !log.contains("root:") && !log.contains("PATH="), "{log}");
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_source_are_refused_before_it_is_read() {
        let (secret, template) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(secret.path().join("config.json"), "{\"the secret\": }").unwrap();
        let link = template.path().join("agent.json");
        std::os::unix::fs::symlink(secret.path().join("config.json"), &link).unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = log.clone();
        let sink: LogSink = Arc::new(move |_, line| kept.lock().unwrap().push(line.to_owned()));
        let origin = Origin::Template(template.path().to_owned());
        let job = BuildJob { origin, config: "agent.json".to_owned(), ..job(secret.path(), &[]) };
        let tree = TempDir::new().unwrap();
        let reason = prepare(tree.path(), &job, Default::default(), &sink).err().unwrap();
        assert!(reason.starts_with("`agent.json` is a link out of the source"), "{reason}");
        assert_eq!(*log.lock().unwrap(), Vec::<String>::new());
        fs::remove_file(link).unwrap();
        fs::write(template.path().join("agent.json"), VALID).unwrap();
        fs::write(template.path().join("agent.py"), "graph = object()\n").unwrap();
        fs::write(template.path().join("requirements.txt"), "").unwrap();
        let tree = TempDir::new().unwrap();
        let (request, _) =
            prepare(tree.path(), &job, Default::default(), &sink).unwrap_or_else(|reason| panic!("{reason}"));
        assert!(request.context.root.starts_with(tree.path()));
    }

    /// A job for an archive with these entries: a directory has no text.
    fn job_of(directory: &Path, entries: &[(&str, u32, Option<&str>)]) -> BuildJob {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, mode, text) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.map_or(0, str::len) as u64);
            header.set_mode(*mode);
            if text.is_none() {
                header.set_entry_type(tar::EntryType::Directory);
            }
            tar.append_data(&mut header, path, text.unwrap_or_default().as_bytes()).unwrap();
        }
        let path = directory.join("modes.tar.gz");
        fs::write(&path, tar.into_inner().unwrap().finish().unwrap()).unwrap();
        let origin = Origin::Archive(Arc::new(File::open(path).unwrap()));
        BuildJob { origin, ..job(directory, &[]) }
    }

    #[cfg(unix)]
    #[test]
    fn tree_can_be_read_and_removed_whatever_the_modes_of_the_archive() {
        use std::os::unix::fs::PermissionsExt as _;
        let (directory, tree) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let entries = [
            ("app", 0, None),
            ("app/agent.json", 0, Some(VALID)),
            ("app/agent.py", 0o4755, Some("graph = object()\n")),
            ("app/requirements.txt", 0o444, Some("")),
            ("app/empty", 0o111, None),
        ];
        let log: LogSink = Arc::new(|_, _| ());
        let prepared = prepare(tree.path(), &job_of(directory.path(), &entries), Default::default(), &log);
        prepared.unwrap_or_else(|reason| panic!("{reason}"));
        let mode = |path: &str| fs::metadata(tree.path().join(path)).unwrap().permissions().mode() & 0o7777;
        let modes = entries.map(|(path, ..)| mode(path));
        assert_eq!(modes, [0o700, 0o600, 0o755, 0o644, 0o711]);
    }

    #[test]
    fn a_source_that_ended_the_service_is_not_read_again_by_itself() {
        let builds = TempDir::new().unwrap();
        let tag = "host/a/b.1:2";
        let tree = || Tree::new(builds.path(), tag);
        let names = || fs::read_dir(builds.path()).unwrap().count();
        let first = tree().unwrap_or_else(|error| panic!("{error}"));
        // As it is left if the service ends now.
        std::mem::forget(Mark::set(&first.mark));
        std::mem::forget(first);
        let Err(Failure::Refused(reason)) = tree() else { panic!("it is read again") };
        assert!(reason.contains("the service ended while it read the source"), "{reason}");
        // What a user asks for after that is another try, and so is the build of another revision.
        drop(tree().unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(names(), 1, "the tree of the first one");
    }

    #[test]
    fn failed_unpacking_names_the_entry_and_no_path_of_the_host() {
        let (directory, tree) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let entries = [("app", 0o644, Some("")), ("app/agent.json", 0o644, Some(VALID))];
        let log: LogSink = Arc::new(|_, _| ());
        let prepared = prepare(tree.path(), &job_of(directory.path(), &entries), Default::default(), &log);
        let reason = prepared.err().unwrap();
        assert!(reason.starts_with("cannot unpack `app/agent.json` of the archive: "), "{reason}");
        assert!(!reason.contains(tree.path().to_str().unwrap()), "{reason}");
    }

    #[test]
    fn findings_are_logged_and_the_first_error_is_the_reason() {
        let (prepared, lines, _) = prepared(&[("app/agent.json", VALID)]);
        let reason = prepared.err().unwrap();
        assert!(reason.starts_with("app/agent.json is invalid: "), "{reason}");
        assert!(lines.iter().any(|line| line.starts_with("error[reference-not-found]")), "{lines:?}");
    }
}
