//! The rules of the specification for requests. Requests that break one are not sent.

use super::wire::{
    ContainerSpec, Deployment, DeploymentCreation, DeploymentPatch, DeploymentType, Object, ResourceSpec,
    Secret, Source, SourceConfig, SourceRevisionConfig,
};
use super::{DeploymentFilter, Error};

/// Maximum number of resources per page.
pub(super) const MAX_LIMIT: u32 = 100;

/// Fields of a deployment that only its creation can set.
pub const IMMUTABLE: &[&str] = &["name", "source"];

/// Fields of a deployment that only the service sets.
pub const READ_ONLY: &[&str] = &[
    "id",
    "tenant_id",
    "created_at",
    "updated_at",
    "status",
    "latest_revision_id",
    "active_revision_id",
    "image_version",
];

fn invalid(message: impl Into<String>) -> Error {
    Error::Invalid { message: message.into() }
}

/// A page has from 1 to 100 resources.
pub(super) fn limit(limit: u32) -> Result<(), Error> {
    match limit {
        1..=MAX_LIMIT => Ok(()),
        _ => Err(invalid(format!("the limit {limit} is not between 1 and {MAX_LIMIT}"))),
    }
}

/// IDs are UUIDs, and the type is known.
pub(super) fn filter(filter: &DeploymentFilter) -> Result<(), Error> {
    if let Some(DeploymentType::Other(word)) = &filter.deployment_type {
        let words = DeploymentType::WORDS.join(", ");
        return Err(invalid(format!("`{word}` is not a type of deployment; use one of {words}")));
    }
    filter.deployment_ids.iter().try_for_each(|it| id(it, "a deployment"))?;
    filter.tag_value_ids.iter().try_for_each(|it| id(it, "a tag value"))
}

/// An ID is a UUID, and so a single segment of a path.
pub fn id(id: &str, what: &str) -> Result<(), Error> {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = id.split('-').collect();
    let is_part =
        |(part, length): (&&str, usize)| part.len() == length && part.chars().all(|c| c.is_ascii_hexdigit());
    if parts.len() == lengths.len() && parts.iter().zip(lengths).all(is_part) {
        return Ok(());
    }
    Err(invalid(format!("`{id}` is not the ID of {what}, such as 01234567-89ab-cdef-0123-456789abcdef")))
}

pub(super) fn creation(creation: &DeploymentCreation) -> Result<(), Error> {
    if creation.agent.is_none() && creation.name.as_deref().is_none_or(str::is_empty) {
        return Err(invalid("the deployment has no name"));
    }
    references(creation.secret_references.is_some(), &creation.source)?;
    secrets(&creation.secrets, |_| false)?;
    variables(&creation.source_config)?;
    commit(&creation.source_revision_config)
}

/// The fields of a patch can be changed and have values.
pub fn patch(before: &Deployment, patch: &DeploymentPatch) -> Result<(), Error> {
    let mut fixed = IMMUTABLE.iter().chain(READ_ONLY);
    if let Some(name) = fixed.find(|name| patch.other.contains_key(**name)) {
        return Err(invalid(format!("cannot change `{name}` of a deployment")));
    }
    if let Some(source @ (Source::ExternalContainer | Source::InternalTemplate)) = &patch.revision_source {
        return Err(invalid(format!(
            "cannot make a revision from `{source}`; use codehost, internal_container or internal_source"
        )));
    }
    references(patch.secret_references.is_some(), &before.source)?;
    let is_kept = |name: &str| before.merges_secrets() && before.has_secret(name);
    patch.secrets.as_deref().map_or(Ok(()), |given| secrets(given, is_kept))?;
    patch.source_config.as_ref().map_or(Ok(()), variables)?;
    patch.source_revision_config.as_ref().map_or(Ok(()), commit)
}

/// Secrets have values, unless the service keeps those that it has: it returns them without, and other services would clear
/// what is sent back like that.
fn secrets(secrets: &[Secret], is_kept: impl Fn(&str) -> bool) -> Result<(), Error> {
    match secrets.iter().find(|secret| secret.value.is_none() && !is_kept(&secret.name)) {
        Some(Secret { name, .. }) => Err(invalid(format!("the secret `{name}` has no value"))),
        None => Ok(()),
    }
}

/// Environment variables of containers have values or references.
fn variables(config: &SourceConfig) -> Result<(), Error> {
    let Some(spec) = &config.resource_spec else { return Ok(()) };
    let containers = [&spec.init_containers, &spec.sidecars].into_iter().flatten().flatten();
    let mut variables = containers.flat_map(|ContainerSpec { env, .. }| env.iter().flatten());
    match variables.find(|variable| variable.value.is_none() && variable.value_from.is_none()) {
        Some(variable) => {
            let name = variable.name.as_deref().unwrap_or_default();
            Err(invalid(format!("the variable `{name}` of a container has no value")))
        }
        None => Ok(()),
    }
}

/// Secret references require a deployment in the cluster of the user.
fn references(are_given: bool, source: &Source) -> Result<(), Error> {
    match source {
        Source::ExternalContainer | Source::Other(_) => Ok(()),
        source if are_given => Err(invalid(format!(
            "secret references require a deployment with source external_container; this one has source {source}"
        ))),
        _ => Ok(()),
    }
}

fn commit(config: &SourceRevisionConfig) -> Result<(), Error> {
    match config.repo_commit_sha {
        Some(_) => Err(invalid("`repo_commit_sha` is read-only; set `repo_ref` to a branch or a tag")),
        None => Ok(()),
    }
}

/// Unknown fields of a patch, as paths with dots, each with the known names of its record.
pub fn unknown_fields(patch: &DeploymentPatch) -> Vec<(String, &'static [&'static str])> {
    let source = patch.source_config.as_ref();
    let resources = source.and_then(|config| config.resource_spec.as_ref());
    let revision = patch.source_revision_config.as_ref();
    let records = [
        ("", DeploymentPatch::FIELDS, Some(&patch.other)),
        ("source_config.", SourceConfig::FIELDS, source.map(|it| &it.other)),
        ("source_config.resource_spec.", ResourceSpec::FIELDS, resources.map(|it| &it.other)),
        ("source_revision_config.", SourceRevisionConfig::FIELDS, revision.map(|it| &it.other)),
    ];
    let fields = |(place, known, other): (&str, _, Option<&Object>)| {
        let names: Vec<_> = other.into_iter().flat_map(Object::keys).collect();
        names.into_iter().map(|name| (format!("{place}{name}"), known)).collect::<Vec<_>>()
    };
    records.into_iter().flat_map(fields).collect()
}

/// Whether a patch creates a revision; `None` if the specification leaves that open, as it does for unknown fields.
pub fn makes_revision(patch: &DeploymentPatch) -> Option<bool> {
    let is_given = |config: &SourceRevisionConfig| {
        *config != SourceRevisionConfig { other: config.other.clone(), ..SourceRevisionConfig::default() }
    };
    match patch {
        DeploymentPatch { source_revision_config: Some(config), .. } if is_given(config) => Some(true),
        DeploymentPatch {
            revision_source: None,
            tracked_packages: None,
            secrets: None,
            secret_references: None,
            ..
        } if unknown_fields(patch).is_empty() => Some(false),
        _ => None,
    }
}
