//! A dry run: the objects and fields that a change would change, as the server computes them.

use serde_json::Value;

use super::change::Change;
use super::secrets::Secrets;
use super::{Cluster, Error, MANAGER, REVISION, list, text, title};
use crate::kubernetes::Manifests;
use crate::live::{Event, Reporter};

/// Fields that only the server sets, and the label that every revision changes.
const IGNORED: &[&str] =
    &["creationTimestamp", "generation", "managedFields", "resourceVersion", "status", "uid", REVISION];

/// The longest value that is shown, in characters.
const LONGEST: usize = 60;

impl Cluster {
    /// Reports the changes.
    pub(super) async fn rehearsed(
        &self,
        change: &Change,
        secrets: &Secrets,
        manifests: &Manifests,
        reporter: &mut impl Reporter,
    ) -> Result<(), Error> {
        let manager = format!("--field-manager={MANAGER}");
        let objects = list(&manifests.objects);
        let before = self.kubectl.objects(&["get", "--ignore-not-found", "-f", "-"], &objects).await?;
        let dry_run =
            ["apply", "--server-side", "--force-conflicts", "--dry-run=server", &manager, "-f", "-"];
        let after = self.kubectl.objects(&dry_run, &objects).await?;
        let mut would = |step, message| reporter.event(&Event::Would { step, message });
        for (name, is_new, keys) in secrets.changed() {
            let step = if is_new { "create" } else { "update" };
            would(step, format!("Secret {name}: {}", keys.join(", ")));
        }
        for object in &after {
            let name = title(object);
            let Some(live) = before.iter().find(|live| title(live) == name) else {
                would("create", name);
                continue;
            };
            let mut fields = Vec::new();
            differences("", live, object, &mut fields);
            for field in fields {
                would("update", format!("{name}: {field}"));
            }
        }
        if let Some(wait) = change.wait {
            would("wait", format!("until the revision serves, at most {} s", wait.as_secs()));
        }
        Ok(())
    }
}

/// Adds `path: before -> after` for each field that differs.
fn differences(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            for name in old.keys().chain(added).filter(|name| !IGNORED.contains(&name.as_str())) {
                let value =
                    |object: &serde_json::Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                differences(&inner(name), &value(old), &value(new), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                let name = text(new, "/name");
                let name = if name.is_empty() { index.to_string() } else { name.to_owned() };
                differences(&inner(&name), old, new, found);
            }
        }
        _ if before == after => {}
        _ => found.push(format!("{path}: {} -> {}", short(before), short(after))),
    }
}

fn short(value: &Value) -> String {
    let text = if value.is_null() { "none".to_owned() } else { value.to_string() };
    if text.chars().count() <= LONGEST {
        text
    } else {
        text.chars().take(LONGEST).collect::<String>() + "…"
    }
}
