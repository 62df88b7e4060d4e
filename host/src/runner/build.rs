//! Images of uploaded archives and of repositories: unpacked or fetched, compiled as `agentcli build` does, and built by the engine.

use std::fs::File;
use std::io::{self, Seek as _};
use std::path::Path;

use flate2::read::GzDecoder;
use tempfile::TempDir;

use agentcli::api::wire::LogLevel;
use agentcli::child::{self, Command};
use agentcli::cli::check;
use agentcli::cli::report::text::{self, Layout};
use agentcli::compiler::back::lower::{self, Options};
use agentcli::compiler::{self, Analysis};
use agentcli::engine::{BuildEvent, BuildRequest, Engine, Error};
use agentcli::project::{self, Project};

use super::{BuildJob, Failure, LogSink, Origin};

/// Width of the findings in a log, in columns.
const WIDTH: usize = 100;

/// The rule that does not apply when a command builds the files of a graph.
const NOT_BUILT: &str = "reference-not-built";

/// The protocols by which repositories are fetched: not from the files of this machine.
const PROTOCOLS: &str = "https:http:ssh";

/// Builds an image.
pub(super) async fn build(engine: &Engine, job: BuildJob, pull: bool, log: LogSink) -> Result<(), Failure> {
    let (tag, config) = (job.tag.clone(), job.config.clone());
    // It is removed when the build ends.
    let tree = TempDir::with_prefix("agentcli-build-").map_err(|error| {
        Failure::Refused(format!("cannot create a temporary directory: {}", project::reason(&error)))
    })?;
    if let Origin::Repository { url, reference } = &job.origin {
        fetch(url, reference, tree.path(), &log).await.map_err(Failure::Refused)?;
    }
    let (root, lines) = (tree.path().to_owned(), log.clone());
    let prepared = tokio::task::spawn_blocking(move || prepare(&root, &job, &lines)).await;
    let prepared = prepared.map_err(|error| Failure::Refused(format!("the build stopped: {error}")))?;
    let request = prepared.map_err(Failure::Refused)?;
    let lines = log.clone();
    let request = BuildRequest { tags: vec![tag], pull, ..request };
    engine.build(request, move |event| report(&event, &lines)).await.map(drop).map_err(|error| {
        let Error::Step(failed) = &error else { return error.into() };
        failed.last_lines.iter().for_each(|line| log(LogLevel::Error, line));
        let key = failed.step.key.as_ref().map(|key| format!("; it comes from `{key}` of {config}"));
        Failure::Refused(format!("{error}{}", key.unwrap_or_default()))
    })
}

fn report(event: &BuildEvent, log: &LogSink) {
    match event {
        BuildEvent::UpToDate { .. } => log(LogLevel::Info, "the image is up to date"),
        BuildEvent::Context { files, bytes, .. } => {
            log(LogLevel::Info, &format!("build context: {files} files, {bytes} bytes"));
        }
        BuildEvent::StepStarted(step) if !step.internal => log(LogLevel::Info, &step.summary()),
        BuildEvent::StepLog { line, .. } => log(LogLevel::Info, line),
        BuildEvent::StepFailed { reason, .. } => log(LogLevel::Error, reason),
        BuildEvent::Warning { message } => log(LogLevel::Warning, message),
        BuildEvent::StepStarted(_) | BuildEvent::StepProgress { .. } | BuildEvent::StepDone { .. } => {}
    }
}

/// Fetches a branch or a tag with the git of this machine, which has the credentials. The error is a fragment.
async fn fetch(url: &str, reference: &str, root: &Path, log: &LogSink) -> Result<(), String> {
    log(LogLevel::Info, &format!("fetching {reference} of {url}"));
    let name = reference.trim_start_matches("refs/tags/").trim_start_matches("refs/heads/");
    let clone = Command::new("git", root)
        .arguments(["clone", "--quiet", "--depth=1", "--single-branch"])
        .arguments([&format!("--branch={name}"), "--", url, "."])
        .variable("GIT_TERMINAL_PROMPT", "0")
        .variable("GIT_ALLOW_PROTOCOL", PROTOCOLS);
    let (status, _) = child::output(&clone, "").await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "cannot fetch the repository: git is not installed on the host".to_owned(),
        _ => format!("cannot run git: {}", project::reason(&error)),
    })?;
    if !status.is_success() {
        return Err(format!(
            "git cannot fetch {name} of {url}; `git ls-remote {url} {name}` on the host says why"
        ));
    }
    let commit = Command::new("git", root).arguments(["rev-parse", "HEAD"]);
    if let Ok((_, commit)) = child::output(&commit, "").await {
        log(LogLevel::Info, &format!("commit {}", String::from_utf8_lossy(&commit).trim()));
    }
    Ok(())
}

/// Unpacks and compiles the source. The error is a fragment.
fn prepare(root: &Path, job: &BuildJob, log: &LogSink) -> Result<BuildRequest, String> {
    if let Origin::Archive(archive) = &job.origin {
        unpack(archive, root).map_err(|error| format!("cannot unpack the archive: {error}"))?;
    }
    compile(root, job, log)
}

/// Unpacks an archive, which was checked.
fn unpack(mut archive: &File, root: &Path) -> io::Result<()> {
    archive.rewind()?;
    tar::Archive::new(GzDecoder::new(archive)).unpack(root)
}

/// Fails if `path` leads out of `root`, through links too: everything else on this machine belongs to others.
fn is_inside(root: &Path, path: &Path) -> io::Result<()> {
    let is_inside = path.canonicalize()?.starts_with(root.canonicalize()?);
    if is_inside { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The build of the configuration in an unpacked archive; its findings are logged.
fn compile(root: &Path, job: &BuildJob, log: &LogSink) -> Result<BuildRequest, String> {
    let path = Path::new(&job.config);
    is_inside(root, &root.join(path)).map_err(|_| format!("`{}` is not a file of the source", job.config))?;
    let mut checked = check::check(root, path);
    checked.findings.retain(|it| job.build_command.is_none() || it.diagnostic.rule.code != NOT_BUILT);
    let errors: Vec<String> = checked
        .findings
        .iter()
        .map(|it| &it.diagnostic)
        .filter(|it| it.is_error())
        .map(|it| it.message.clone())
        .collect();
    let level = if errors.is_empty() { LogLevel::Warning } else { LogLevel::Error };
    let findings = text::render(&[checked], Layout { is_coloured: false, width: WIDTH });
    findings.lines().for_each(|line| log(level.clone(), line));
    match errors.as_slice() {
        [] => {}
        [one] => return Err(format!("{} is invalid: {one}", job.config)),
        [first, rest @ ..] => {
            return Err(format!("{} is invalid: {first}, and {} more errors", job.config, rest.len()));
        }
    }
    let project = Project::load(root, path).map_err(|unreadable| unreadable.diagnostic.message)?;
    let Analysis { config, .. } =
        compiler::analyze(&project.source.name, &project.source.text, &project.files);
    let directory = root.join(path.parent().unwrap_or(Path::new("")));
    let options = Options {
        install_command: job.install_command.clone(),
        build_command: job.build_command.clone(),
        called_from: project::relative(&directory, root),
        no_lock: false,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plan = lower::lower(&config, &project.files, &name, &options);
    plan.notes.iter().for_each(|note| log(LogLevel::Info, &note.message));
    let context = directory.join(&plan.context.root);
    is_inside(root, &context).map_err(|_| format!("{} needs files outside of the source", job.config))?;
    BuildRequest::of_plan(&plan, context, &[])
}

#[cfg(test)]
mod tests {
    use std::fs;
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
        BuildJob { tag, origin: Origin::Archive(archive), config, install_command, build_command }
    }

    fn prepared(files: &[(&str, &str)]) -> (Result<BuildRequest, String>, Vec<String>, TempDir) {
        let (directory, tree) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        let log: LogSink = Arc::new(move |_, line| kept.lock().unwrap().push(line.to_owned()));
        let prepared = prepare(tree.path(), &job(directory.path(), files), &log);
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
    fn files_outside_of_the_source_are_not_packed() {
        let above = VALID.replace("[\".\"]", "[\".\", \"../..\"]");
        let files = [
            ("app/agent.json", &*above),
            ("app/agent.py", "graph = object()\n"),
            ("app/requirements.txt", ""),
        ];
        let (prepared, ..) = prepared(&files);
        let reason = prepared.err().unwrap();
        assert!(reason.contains("needs files outside of the source"), "{reason}");
    }

    #[test]
    fn findings_are_logged_and_the_first_error_is_the_reason() {
        let (prepared, lines, _) = prepared(&[("app/agent.json", VALID)]);
        let reason = prepared.err().unwrap();
        assert!(reason.starts_with("app/agent.json is invalid: "), "{reason}");
        assert!(lines.iter().any(|line| line.starts_with("error[reference-not-found]")), "{lines:?}");
    }
}
