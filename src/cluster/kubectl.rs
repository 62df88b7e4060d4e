//! The program kubectl.

use std::io;
use std::path::Path;

use serde_json::{Deserializer, Value};

use super::Error;
use super::error::Kind;
use crate::child::{Command, output_and_errors};
use crate::live::Stop;

/// Words of kubectl for a cluster that it cannot reach.
const UNREACHABLE: &[&str] = &[
    "Unable to connect to the server",
    "connection refused",
    "The connection to the server",
    "no such host",
    "i/o timeout",
    "context deadline exceeded",
    "Client.Timeout",
    "TLS handshake timeout",
    "ServiceUnavailable",
    "EOF",
];

/// Applies what is on stdin; the manager is [`super::MANAGER`].
const APPLY: &[&str] =
    &["apply", "--server-side", "--force-conflicts", "--field-manager=agentcli", "-f", "-"];

/// kubectl with the options that every call has.
pub(super) struct Kubectl {
    command: Command,
    pub(super) stop: Stop,
}

impl Kubectl {
    /// kubectl in `directory`, with these variables.
    pub(super) fn new(directory: &Path, variables: &[(String, String)], stop: Stop) -> Self {
        let command = Command::new("kubectl", directory);
        let set = |command: Command, (name, value): &(String, String)| command.variable(name, value);
        Self { command: variables.iter().fold(command, set), stop }
    }

    /// With further options of every call.
    pub(super) fn with(self, options: &[&str]) -> Self {
        Self { command: self.command.arguments(options), ..self }
    }

    /// Another program in the same place.
    pub(super) fn tool(&self, program: &str) -> Command {
        Command { program: program.into(), arguments: Vec::new(), ..self.command.clone() }
    }

    /// The command of a call.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        self.command.clone().arguments(arguments)
    }

    /// The answer of a call with `input` on stdin.
    pub(super) async fn run(&self, arguments: &[&str], input: &str) -> Result<String, Error> {
        self.stop.unless_asked(self.finish(arguments, input)).await?
    }

    /// The same, even if the program is asked to stop.
    pub(super) async fn finish(&self, arguments: &[&str], input: &str) -> Result<String, Error> {
        let command = self.command(arguments);
        let (status, answer, errors) = output_and_errors(&command, input).await.map_err(Self::missing)?;
        if status.is_success() {
            return Ok(String::from_utf8_lossy(&answer).into_owned());
        }
        Err(Self::failure(arguments, &errors))
    }

    /// The objects of an answer: of a list, or one after the other.
    pub(super) async fn objects(&self, arguments: &[&str], input: &str) -> Result<Vec<Value>, Error> {
        let answer = self.run(&[arguments, &["-o", "json"]].concat(), input).await?;
        let mut objects = Vec::new();
        for value in Deserializer::from_str(&answer).into_iter::<Value>() {
            let broken = |error| {
                let message = format!("cannot read the answer of `{}`: {error}", shown(arguments));
                Kind::Failed.error(message, "check that `kubectl` is the program of Kubernetes")
            };
            match value.map_err(broken)? {
                Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
                    if let Some(Value::Array(items)) = list.remove("items") {
                        objects.extend(items);
                    }
                }
                value => objects.push(value),
            }
        }
        Ok(objects)
    }

    /// Applies objects on the server, as their manager. Fields that others have set become ours.
    pub(super) async fn apply(&self, objects: &str) -> Result<(), Error> {
        self.run(APPLY, objects).await.map(drop)
    }

    /// The objects as they would be after [`Kubectl::apply`].
    pub(super) async fn apply_without_effect(&self, objects: &str) -> Result<Vec<Value>, Error> {
        self.objects(&[APPLY, &["--dry-run=server"]].concat(), objects).await
    }
}

impl Kubectl {
    /// The error of a program that does not start.
    pub(super) fn missing(error: io::Error) -> Error {
        if error.kind() == io::ErrorKind::NotFound {
            let hint = "install it: https://kubernetes.io/docs/tasks/tools/";
            return Kind::Refused.error("kubectl is not installed, or not on the PATH", hint);
        }
        Kind::Failed.error(format!("cannot run kubectl: {error}"), "check that it is an executable file")
    }

    /// The error of a call. Only its first line that says something is shown: others may quote objects.
    pub(super) fn failure(arguments: &[&str], errors: &str) -> Error {
        let lines = errors.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines
            .filter(|line| {
                !line.starts_with("Warning:") && !line.starts_with(['E', 'I', 'W']) || is_error(line)
            })
            .collect();
        let line =
            lines.iter().find(|line| is_error(line)).or(lines.last()).copied().unwrap_or("it gave no reason");
        let reason = line
            .split_once("): ")
            .filter(|_| line.starts_with("Error from server"))
            .map_or(line, |(_, rest)| rest);
        let reason: String = reason.trim_start_matches("error: ").chars().take(600).collect();
        let message = format!("`{}` failed: {reason}", shown(arguments));
        if UNREACHABLE.iter().any(|words| errors.contains(words)) {
            let hint =
                "check the context with `kubectl config get-contexts`, and that its cluster runs".to_owned();
            Kind::Unreachable.error(format!("cannot reach the cluster: {reason}"), hint)
        } else if line.contains("(Unauthorized)") || line.contains("must be logged in") {
            Kind::Denied.error(
                format!("the cluster does not know you: {reason}"),
                "renew the credentials of the context",
            )
        } else if line.contains("exceeded quota") {
            Kind::Refused.error(message, "raise the quota of the namespace, or lower the resources")
        } else if reason.contains(" is invalid: ") {
            Kind::Refused.error(message, "change what it names")
        } else if line.contains("(Forbidden)") {
            Kind::Denied.error(message, "ask the operator of the cluster for this right")
        } else {
            Kind::Failed.error(message, "see it with `kubectl` itself, such as `kubectl get events`")
        }
    }
}

/// `kubectl get pods`
fn shown(arguments: &[&str]) -> String {
    let words = arguments.iter().take_while(|word| !word.starts_with('-')).take(2);
    words.fold("kubectl".to_owned(), |text, word| text + " " + word)
}

fn is_error(line: &str) -> bool {
    line.starts_with("Error") || line.starts_with("error:")
}
