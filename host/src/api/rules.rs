//! Validation of requests: the sources, their fields, and the fields that can be changed.

use std::collections::HashSet;

use serde_json::Value;
use uuid::Uuid;

use agentcli::api::rules::{IMMUTABLE, READ_ONLY};
use agentcli::api::wire::{
    Deployment, DeploymentType, ResourceSpec, Secret, SecretReference, Source, SourceConfig,
    SourceRevisionConfig, Tier,
};

use super::answer::{Detail, Refusal};
use super::query::not_a_uuid;
use super::shared::Shared;
use crate::net::address;
use crate::net::host_name::HostName;
use crate::runner::{allowed_images, code_host, templates};
use crate::store::{Tx, is_digest};

/// Maximum number of replicas of a deployment: there is one machine.
const MAX_REPLICAS: u32 = 100;

/// A type that the public service accepts at creation in addition to those of the specification.
const SCALE_TO_ZERO: &str = "dev_zero";

/// Fields of a deployment that can be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    Creation,
    Patch,
}

/// Rejects bodies that set read-only fields.
pub(super) fn settable(body: &Value, occasion: Occasion) -> Result<(), Refusal> {
    let is_set = |record: &Value, name: &str| record.get(name).is_some_and(|value| !value.is_null());
    let immutable = if occasion == Occasion::Patch { IMMUTABLE } else { &[] };
    let set = |name: &&&str| is_set(body, name);
    let read_only = READ_ONLY.iter().filter(set);
    let mut details: Vec<Detail> =
        read_only.map(|name| Detail::new(&["body", name], "Is read-only.", "extra_forbidden")).collect();
    details.extend(
        immutable
            .iter()
            .filter(set)
            .map(|name| Detail::new(&["body", name], "Cannot be changed after creation.", "extra_forbidden")),
    );
    if body.get("source_revision_config").is_some_and(|config| is_set(config, "repo_commit_sha")) {
        let loc = ["body", "source_revision_config", "repo_commit_sha"];
        details.push(Detail::new(&loc, "Is read-only.", "extra_forbidden"));
    }
    if details.is_empty() { Ok(()) } else { Err(Refusal::Invalid(details)) }
}

/// Checks that this service supports the source.
pub(super) fn available(shared: &Shared, source: &Source) -> Result<(), Refusal> {
    known(shared, source, "source", Source::WORDS)?;
    let is_external = *source == Source::ExternalContainer;
    let kind = match (is_external, shared.options.is_self_hosted) {
        (true, false) => "self-hosted",
        (false, true) => "cloud-hosted",
        _ => return Ok(()),
    };
    let word = shared.word(source);
    Err(Refusal::bad(format!("Source '{word}' is only available for {kind} deployments.")))
}

/// Whether a source is one of `words` of the specification.
fn known(shared: &Shared, source: &Source, field: &str, words: &[&str]) -> Result<(), Refusal> {
    if words.contains(&source.word()) {
        return Ok(());
    }
    let words: Vec<String> = words.iter().map(|word| shared.word(&Source::from(*word))).collect();
    let msg = format!("Must be one of {}.", words.join(", "));
    Err(Refusal::invalid(&["body", field], msg, "literal_error"))
}

/// Checks that a deployment from `source` can have a revision from `other`.
pub(super) fn revision_source(shared: &Shared, source: &Source, other: &Source) -> Result<(), Refusal> {
    known(shared, other, "revision_source", &["codehost", "internal_container", "internal_source"])?;
    if *source != Source::ExternalContainer {
        return Ok(());
    }
    let (of, word) = (shared.word(source), shared.word(other));
    Err(Refusal::bad(format!("A deployment from '{of}' cannot have a revision from '{word}'.")))
}

/// Checks that the given fields belong to the source.
pub(super) fn source_config(
    shared: &Shared,
    source: &Source,
    given: &SourceConfig,
    whole: &SourceConfig,
) -> Result<(), Refusal> {
    let is_codehost = *source == Source::Codehost;
    let is_external = *source == Source::ExternalContainer;
    let fields = [
        ("integration_id", given.integration_id.is_some(), is_codehost, Source::Codehost),
        ("repo_url", given.repo_url.is_some(), is_codehost, Source::Codehost),
        ("build_on_push", given.build_on_push == Some(true), is_codehost, Source::Codehost),
        ("custom_url", given.custom_url.is_some(), is_external, Source::ExternalContainer),
        ("listener_id", given.listener_id.is_some(), is_external, Source::ExternalContainer),
        ("listener_config", given.listener_config.is_some(), is_external, Source::ExternalContainer),
        ("install_command", given.install_command.is_some(), !is_external, Source::InternalSource),
        ("build_command", given.build_command.is_some(), !is_external, Source::InternalSource),
    ];
    for (field, is_given, applies, of) in fields {
        if is_given && !applies {
            let of = shared.word(&of);
            return Err(Refusal::bad(format!("source_config.{field} is only applicable to source '{of}'.")));
        }
    }
    for (field, id) in [("integration_id", &given.integration_id), ("listener_id", &given.listener_id)] {
        if id.as_ref().is_some_and(|id| Uuid::parse_str(id).is_err()) {
            return Err(Refusal::Invalid(vec![not_a_uuid(&["body", "source_config", field])]));
        }
    }
    if is_codehost && (whole.integration_id.is_none() || whole.repo_url.is_none()) {
        let word = shared.word(source);
        return Err(Refusal::bad(format!(
            "source_config.integration_id and source_config.repo_url are required for source '{word}'."
        )));
    }
    if let Some(url) = &given.repo_url {
        code_host::printed(url)
            .map_err(|reason| Refusal::bad(format!("source_config.repo_url must {reason}.")))?;
    }
    if let Some(url) = &given.custom_url {
        custom_url(shared, url)?;
    }
    if let Some(DeploymentType::Other(word)) = &given.deployment_type
        && word != SCALE_TO_ZERO
    {
        let msg = format!("Must be one of {}.", DeploymentType::WORDS.join(", "));
        let loc = ["body", "source_config", "deployment_type"];
        return Err(Refusal::invalid(&loc, msg, "literal_error"));
    }
    whole.resource_spec.as_ref().map_or(Ok(()), resources)
}

/// Hosts below `localhost` belong to names of deployments, and the addresses of this service to nobody.
fn custom_url(shared: &Shared, text: &str) -> Result<(), Refusal> {
    let wrong = || {
        Refusal::bad(
            "source_config.custom_url must be an http or https URL whose host is neither below localhost nor an address of \
             this service.",
        )
    };
    let host = HostName::of_url(text).ok_or_else(wrong)?;
    let is_own = match host.ip() {
        Some(ip) => {
            ip.is_loopback() || ip.is_unspecified() || [shared.address.ip(), shared.proxy.ip()].contains(&ip)
        }
        None => address::is_localhost(&host.to_string()),
    };
    if is_own { Err(wrong()) } else { Ok(()) }
}

/// Checks amounts and numbers of replicas. CPU is a float that may be negative; other resources are unsigned integers.
fn resources(spec: &ResourceSpec) -> Result<(), Refusal> {
    let tiers = Tier::ALL.map(|tier| (tier.prefix(), spec.tier(tier)));
    let amounts = tiers
        .iter()
        .flat_map(|(prefix, tier)| [(prefix, "cpu", tier.cpu), (prefix, "cpu_limit", tier.cpu_limit)]);
    let mut negative =
        amounts.filter_map(|(prefix, field, cpu)| Some((prefix, field, cpu.filter(|cpu| *cpu < 0.0)?)));
    if let Some((prefix, field, cpu)) = negative.next() {
        return Err(Refusal::bad(format!("resource_spec.{prefix}{field}, {cpu}, must not be less than 0.")));
    }
    let (least, most) = spec.tier(Tier::Server).scale;
    if least.max(most).is_some_and(|count| count > MAX_REPLICAS) {
        return Err(Refusal::bad(format!(
            "resource_spec.min_scale and resource_spec.max_scale must be at most {MAX_REPLICAS}."
        )));
    }
    for (prefix, tier) in tiers {
        if let (Some(least), Some(most)) = tier.scale
            && least > most
        {
            return Err(Refusal::bad(format!(
                "resource_spec.{prefix}min_scale, {least}, is more than resource_spec.{prefix}max_scale, {most}."
            )));
        }
    }
    Ok(())
}

/// Checks that a patch does not change fields that are set at creation.
pub(super) fn unchanged(before: &SourceConfig, after: &SourceConfig) -> Result<(), Refusal> {
    let fields = [
        ("integration_id", before.integration_id == after.integration_id),
        ("repo_url", before.repo_url == after.repo_url),
        ("deployment_type", before.deployment_type == after.deployment_type),
        ("listener_id", before.listener_id == after.listener_id),
        ("listener_config", before.listener_config == after.listener_config),
    ];
    match fields.iter().find(|(_, is_same)| !is_same) {
        None => Ok(()),
        Some((field, _)) => {
            Err(Refusal::bad(format!("source_config.{field} cannot be changed after creation.")))
        }
    }
}

/// Secrets become environment variables, so their names are unique. Those of `before` need no value: they keep it.
pub(super) fn secrets(secrets: &[Secret], before: &[Secret]) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    for (index, Secret { name, value, .. }) in secrets.iter().enumerate() {
        if value.is_none() && before.iter().all(|kept| kept.name != *name) {
            return Err(Refusal::Invalid(vec![missing("secrets", index, "value")]));
        }
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Refusal::bad("The name of a secret is not empty and holds no `=`."));
        }
        if !names.insert(name) {
            return Err(Refusal::bad(format!("The secret '{name}' is given twice.")));
        }
    }
    Ok(())
}

/// Secret references require a deployment in the cluster of the user.
pub(super) fn secret_references(
    shared: &Shared,
    source: &Source,
    references: Option<&Vec<SecretReference>>,
) -> Result<(), Refusal> {
    let Some(references) = references.filter(|references| !references.is_empty()) else { return Ok(()) };
    if *source != Source::ExternalContainer {
        let word = shared.word(&Source::ExternalContainer);
        return Err(Refusal::bad(format!("secret_references are only applicable to source '{word}'.")));
    }
    for (index, reference) in references.iter().enumerate() {
        let fields = [
            ("name", &reference.name),
            ("secret_name", &reference.secret_name),
            ("secret_key", &reference.secret_key),
        ];
        if let Some((field, _)) = fields.into_iter().find(|(_, value)| value.is_none()) {
            return Err(Refusal::Invalid(vec![missing("secret_references", index, field)]));
        }
    }
    Ok(())
}

fn missing(list: &str, index: usize, field: &str) -> Detail {
    let mut detail = Detail::new(&["body", list], "Is required.", "missing");
    detail.loc.extend([index.into(), field.into()]);
    detail
}

/// Checks that the configuration of a revision from `source` has the required fields and no others.
pub(super) fn revision_config(
    shared: &Shared,
    source: &Source,
    given: &SourceRevisionConfig,
    whole: &SourceRevisionConfig,
) -> Result<(), Refusal> {
    let word = shared.word(source);
    let applicable = applicable(source);
    for (field, value) in fields(given) {
        if value.is_some() && !applicable.contains(&field) {
            return Err(Refusal::bad(format!(
                "source_revision_config.{} is not applicable to source '{word}'.",
                field_word(shared, field)
            )));
        }
    }
    for (field, value) in fields(whole) {
        if applicable.contains(&field) && value.is_none_or(|value| value.trim().is_empty()) {
            return Err(Refusal::bad(format!(
                "source_revision_config.{} is required for source '{word}'.",
                field_word(shared, field)
            )));
        }
    }
    if *source == Source::InternalTemplate {
        template(shared, whole)?;
    }
    whole.image_uri.as_deref().map_or(Ok(()), |image| image_uri(shared, source, image))
}

/// Checks that a revision names the configuration of a template.
fn template(shared: &Shared, config: &SourceRevisionConfig) -> Result<(), Refusal> {
    let Some(templates) = &shared.options.templates else {
        return Err(Refusal::bad("This service has no templates; it was started without --templates."));
    };
    let path = config.graph_config_path.as_deref().unwrap_or_default();
    if templates::find(templates, path).is_some() {
        return Ok(());
    }
    let field = shared.options.vocabulary.field("source_revision_config", "graph_config_path");
    Err(Refusal::bad(format!(
        "source_revision_config.{field} must be the configuration in a template, TEMPLATE/PATH; the templates are: {}.",
        templates::names(templates).join(", ")
    )))
}

/// The required field of a revision from `source`.
pub(super) fn applicable(source: &Source) -> &'static [&'static str] {
    match source {
        Source::Codehost => &["repo_ref", "graph_config_path"],
        Source::ExternalContainer | Source::InternalContainer => &["image_uri"],
        Source::InternalSource => &["source_tarball_path", "graph_config_path"],
        Source::InternalTemplate => &["graph_config_path"],
        Source::Other(_) => &[],
    }
}

/// Fields that requests can set.
pub(super) fn fields(config: &SourceRevisionConfig) -> [(&'static str, Option<&String>); 4] {
    [
        ("repo_ref", config.repo_ref.as_ref()),
        ("graph_config_path", config.graph_config_path.as_ref()),
        ("image_uri", config.image_uri.as_ref()),
        ("source_tarball_path", config.source_tarball_path.as_ref()),
    ]
}

/// A field of the configuration of a revision, in the dialect of the service.
fn field_word<'a>(shared: &Shared, field: &'a str) -> &'a str {
    shared.options.vocabulary.field("source_revision_config", field)
}

fn image_uri(shared: &Shared, source: &Source, image: &str) -> Result<(), Refusal> {
    let name = allowed_images::parse(image).map_err(|reason| {
        Refusal::bad(format!(
            "source_revision_config.image_uri must be REPOSITORY[:TAG] or REPOSITORY@sha256:DIGEST: {reason}."
        ))
    })?;
    if !name.digest.is_none_or(is_digest) {
        return Err(Refusal::bad(
            "source_revision_config.image_uri must be REPOSITORY[:TAG] or REPOSITORY@sha256:DIGEST.",
        ));
    }
    if allowed_images::is_of_host(image) {
        return Err(Refusal::bad(
            "source_revision_config.image_uri must not be an image that the service itself named.",
        ));
    }
    match &shared.options.registry {
        Some(registry) if *source == Source::InternalContainer && !registry.holds(image) => {
            Err(Refusal::bad(format!(
                "source_revision_config.image_uri must lie in {}, where the push token is for.",
                registry.address()
            )))
        }
        _ => Ok(()),
    }
}

/// Fails if a revision would run an image of the registry that is not in the repository of its deployment.
pub(super) fn pushed_image(
    shared: &Shared,
    tx: &Tx<'_>,
    deployment: &Deployment,
    source: &Source,
) -> Result<(), Refusal> {
    match shared.distribution.missing_image(tx, deployment, source)? {
        None => Ok(()),
        Some(place) => Err(Refusal::bad(format!(
            "source_revision_config.image_uri must be a digest in {place}, and it is not there, or not any more; push the \
             image first."
        ))),
    }
}

/// `build_on_push` requires a branch, since tags do not move.
pub(super) fn build_on_push(config: &SourceConfig, revision: &SourceRevisionConfig) -> Result<(), Refusal> {
    let is_tag = revision.repo_ref.as_ref().is_some_and(|name| name.starts_with("refs/tags/"));
    if config.build_on_push == Some(true) && is_tag {
        return Err(Refusal::bad("source_config.build_on_push must be false where repo_ref is a tag."));
    }
    Ok(())
}
