//! Applies patches: given fields replace existing ones, also those of the resource specification; lists and free-form
//! objects are replaced as a whole; absent fields and nulls change nothing.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use agentcli::api::wire::{Object, Source, SourceConfig, SourceRevisionConfig};

use super::rules;

/// The configuration after a patch.
pub(super) fn source_config(before: &SourceConfig, given: &SourceConfig) -> SourceConfig {
    let mut after = overlaid(before, given);
    if let (Some(before), Some(given)) = (&before.resource_spec, &given.resource_spec) {
        after.resource_spec = Some(overlaid(before, given));
    }
    known(&mut after);
    after
}

/// Removes unknown fields.
pub(super) fn known(config: &mut SourceConfig) {
    config.other = Object::new();
    if let Some(spec) = &mut config.resource_spec {
        spec.other = Object::new();
    }
}

/// The configuration of a new revision from `source`; the previous one may have another source.
pub(super) fn revision_config(
    source: &Source,
    before: &SourceRevisionConfig,
    given: &SourceRevisionConfig,
) -> SourceRevisionConfig {
    let mut after: SourceRevisionConfig = overlaid(before, given);
    let keep = |field: &str| rules::applicable(source).contains(&field);
    after.repo_ref = after.repo_ref.filter(|_| keep("repo_ref"));
    after.graph_config_path = after.graph_config_path.filter(|_| keep("graph_config_path"));
    after.image_uri = after.image_uri.filter(|_| keep("image_uri"));
    after.source_tarball_path = after.source_tarball_path.filter(|_| keep("source_tarball_path"));
    after.repo_commit_sha = None;
    after.other = Object::new();
    after
}

/// `before` with the fields of `given`.
fn overlaid<T: Serialize + DeserializeOwned + Clone>(before: &T, given: &T) -> T {
    let fields = |record: &T| match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => fields,
        _ => Object::new(),
    };
    let mut after = fields(before);
    after.extend(fields(given));
    // Both were parsed from JSON, so a combination of their fields can be, too.
    serde_json::from_value(Value::Object(after)).unwrap_or_else(|_| before.clone())
}
