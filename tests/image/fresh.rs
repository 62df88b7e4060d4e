//! When a build has nothing to do, and when it has.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Copy;
use crate::engine::{docker, hosts_for};
use crate::harness::{Output, TestEnv};

const SERVER: &str = "langchain/langgraph-api:3.11";

/// What a build that has nothing to do says of a project.
const UP_TO_DATE: &str = "  up to date: ";

/// A project of its own on one engine, whose images go with it.
struct Project {
    copy: Copy,
    host: String,
    tag: String,
    /// Where it is remembered what was built.
    cache: TempDir,
}

impl Drop for Project {
    fn drop(&mut self) {
        for name in [&self.tag, &self.base()] {
            std::process::Command::new("docker").args(["-H", &self.host, "rmi", "-f", name]).output().ok();
        }
    }
}

impl Project {
    fn new(name: &str, host: &str) -> Self {
        let (copy, host) = (Copy::of("hello"), host.to_owned());
        let tag = format!("agentcli-test-fresh-{name}");
        let project = Self { copy, host, tag, cache: TempDir::new().unwrap() };
        // Steps of its own: else what another test builds anew meanwhile takes their place in the engine's cache.
        project.configure(json!({ "dockerfile_lines": [format!("RUN : {name}")] }));
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.copy.directory.path().join(path)
    }

    fn configure(&self, members: Value) {
        let path = self.path("agent.json");
        let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        config.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        fs::write(path, config.to_string()).unwrap();
    }

    /// A name for the base image that no registry has.
    fn base(&self) -> String {
        format!("localhost:1/{}-base:1", self.tag)
    }

    fn run(&self, more: &str) -> Output {
        let env = TestEnv::inside(self.copy.directory.path()).variable("DOCKER_HOST", &self.host);
        let cache = self.cache.path().to_str().unwrap();
        env.variable("XDG_CACHE_HOME", cache).run(&format!("build -t {} --no-pull {more}", self.tag))
    }

    /// Builds; `more` are further options. The image's id, which all its names must have.
    fn succeed(&self, more: &str, is_up_to_date: bool) -> String {
        let output = self.run(more);
        assert_eq!(output.code, 0, "{}: {}", self.host, output.err);
        assert_eq!(output.err.contains(UP_TO_DATE), is_up_to_date, "{}: {}", self.host, output.err);
        let (id, tags) = output.out.trim().split_once(' ').unwrap();
        for tag in tags.split(' ') {
            assert_eq!(docker(&self.host, &["image", "inspect", "-f", "{{.Id}}", tag]).trim(), id);
        }
        id.to_owned()
    }

    fn builds(&self) -> String {
        self.succeed("", false)
    }

    fn is_up_to_date(&self) -> String {
        self.succeed("", true)
    }
}

/// A project that has been built once, on one of the engines; on each in the long tests.
fn each(name: &str, check: impl Fn(&Project, &str)) {
    for host in hosts_for(name) {
        let project = Project::new(name, &host);
        let id = project.builds();
        check(&project, &id);
    }
}

#[test]
fn what_is_unchanged_is_not_built() {
    each("unchanged", |project, id| {
        let json = project.run("--progress json");
        let events: Vec<Value> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let bytes = events[0]["bytes"].as_u64().unwrap();
        let expected = [
            json!({ "event": "up_to_date", "files": 5, "bytes": bytes }),
            json!({ "event": "built", "id": id, "tags": [project.tag] }),
        ];
        assert_eq!((events, bytes > 1000), (expected.to_vec(), true));

        let again = project.run("");
        assert_eq!(again.out, format!("{id} {}\n", project.tag));
        let up_to_date = format!("           up to date: 5 files, {:.1} kB\n", bytes as f64 / 1000.0);
        assert!(again.err.ends_with(&up_to_date), "{}", again.err);
    });
}

#[test]
fn times_and_the_umask_do_not_count_but_contents_modes_and_links_do() {
    each("inputs", |project, id| {
        let graph = project.path("src/hello/graph.py");
        File::options().append(true).open(&graph).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        fs::set_permissions(&graph, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(project.is_up_to_date(), id);

        let text = fs::read_to_string(&graph).unwrap();
        fs::write(&graph, text.replace("Hello", "Howdy")).unwrap();
        let edited = project.builds();
        assert_ne!(edited, id);
        assert_eq!(project.is_up_to_date(), edited);

        fs::set_permissions(&graph, Permissions::from_mode(0o700)).unwrap();
        let executable = project.builds();
        assert_ne!(executable, edited);

        symlink("graph.py", project.path("src/hello/link.py")).unwrap();
        project.builds();
        fs::remove_file(project.path("src/hello/link.py")).unwrap();
        symlink("./graph.py", project.path("src/hello/link.py")).unwrap();
        project.builds();

        // What is left out does not count.
        fs::create_dir_all(project.path(".git")).unwrap();
        fs::write(project.path(".git/description"), "x").unwrap();
        project.is_up_to_date();
    });
}

#[test]
fn the_dockerfile_the_platform_and_the_record_of_layers_count() {
    each("dockerfile", |project, _| {
        project.configure(json!({ "dockerfile_lines": ["ENV LINE=1"] }));
        let image = project.builds();
        assert_eq!(project.is_up_to_date(), image);
        let platform = docker(&project.host, &["version", "-f", "{{.Server.Os}}/{{.Server.Arch}}"]);
        let platform = format!("--platform {}", platform.trim());
        project.succeed(&platform, false);
        project.succeed(&platform, true);
        project.builds();
        project.succeed("--cache-to inline", false);
        project.succeed("--cache-to inline", true);
        project.builds();
    });
}

#[test]
fn an_image_must_have_all_its_names() {
    each("names", |project, id| {
        let other = format!("{}:other", project.tag);
        let both = format!("-t {other}");
        assert_eq!(project.succeed(&both, false), id);
        assert_eq!(project.succeed(&both, true), id);

        docker(&project.host, &["rmi", &other]);
        assert_eq!(project.succeed(&both, false), id, "a name was removed");
        docker(&project.host, &["tag", SERVER, &other]);
        assert_eq!(project.succeed(&both, false), id, "a name was moved");
        docker(&project.host, &["rmi", &other]);

        docker(&project.host, &["rmi", "-f", &project.tag]);
        project.builds();
    });
}

/// It has everything that the image has, labels included, and one thing more.
#[test]
fn an_image_on_top_of_it_is_another() {
    each("derived", |project, id| {
        let context = TempDir::new().unwrap();
        fs::write(context.path().join("Dockerfile"), format!("FROM {}\nENV MORE=1\n", project.tag)).unwrap();
        docker(&project.host, &["build", "-q", "-t", &project.tag, context.path().to_str().unwrap()]);
        assert_eq!(project.builds(), id);
    });
}

#[test]
fn the_base_image_counts() {
    each("base", |project, _| {
        docker(&project.host, &["tag", SERVER, &project.base()]);
        project.configure(json!({ "base_image": project.base() }));
        let image = project.builds();
        assert_eq!(project.is_up_to_date(), image);

        let context = TempDir::new().unwrap();
        fs::write(context.path().join("Dockerfile"), format!("FROM {SERVER}\nENV OTHER=1\n")).unwrap();
        docker(&project.host, &["build", "-q", "-t", &project.base(), context.path().to_str().unwrap()]);
        let other = project.builds();
        assert_ne!(other, image);
        assert_eq!(project.is_up_to_date(), other);

        let pulled = project.run("--pull");
        assert_eq!(pulled.code, 0, "the local image is used: {}", pulled.err);
        assert!(
            pulled.err.contains("warning: cannot pull the image"),
            "the registry is asked: {}",
            pulled.err
        );

        docker(&project.host, &["rmi", "-f", &project.base()]);
        assert!(!project.run("").err.contains(UP_TO_DATE), "it is not here");
        let pulled = project.run("--pull");
        assert!(pulled.code == 1 && pulled.err.contains("error: cannot pull the image"), "{}", pulled.err);
    });
}

#[test]
fn what_cannot_be_told_is_built() {
    each("unknown", |project, _| {
        project.configure(json!({ "dockerfile_lines": [format!("COPY --from={SERVER} /etc/hostname /")] }));
        let image = project.builds();
        assert_eq!(project.builds(), image);
    });
}

#[test]
fn no_cache_builds_every_step() {
    each("no-cache", |project, _| {
        let output = project.run("--no-cache");
        assert_eq!(output.code, 0, "{}", output.err);
        let cached: Vec<&str> = output.err.lines().filter(|line| line.starts_with("   cached")).collect();
        assert!(!output.err.contains(UP_TO_DATE), "{}", output.err);
        assert!(cached.iter().all(|line| line.contains("FROM")), "{}", output.err);
        project.is_up_to_date();
    });
}

#[test]
fn what_was_remembered_may_be_lost() {
    each("lost", |project, id| {
        let memory = project.cache.path().join("agentcli/built");
        fs::write(&memory, "nonsense\n").unwrap();
        assert_eq!(project.builds(), id);
        fs::remove_dir_all(project.cache.path()).unwrap();
        fs::write(project.cache.path(), "no directory").unwrap();
        assert_eq!(project.builds(), id);
        assert_eq!(project.builds(), id);
        fs::remove_file(project.cache.path()).unwrap();
        fs::create_dir(project.cache.path()).unwrap();
    });
}
