//! CycloneDX 1.6 as JSON.

use serde_json::{Map, Value, json};

use super::component::{Component, Hash, Source};
use super::document::{Bill, seconds, uuid};
use super::licence::Licence;

/// The document.
pub(super) fn document(bill: &Bill) -> Value {
    let image = &bill.image;
    let platform = image.platform.iter().map(|it| json!({ "name": "agentcli:platform", "value": it }));
    let subject = json!({
        "type": "container",
        "bom-ref": image.id,
        "name": image.name,
        "version": image.id,
        "properties": platform.collect::<Vec<_>>(),
    });
    let mut metadata = Map::new();
    if let Some(time) = bill.time {
        metadata.insert("timestamp".to_owned(), seconds(time).into());
    }
    let tool = json!({ "type": "application", "name": "agentcli", "version": env!("CARGO_PKG_VERSION") });
    metadata.insert("tools".to_owned(), json!({ "components": [tool] }));
    metadata.insert("component".to_owned(), subject);
    let components: Vec<Value> = bill.components.iter().map(component).collect();
    let serial = uuid(&json!([metadata, components]));
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": format!("urn:uuid:{serial}"),
        "version": 1,
        "metadata": metadata,
        "components": components,
    })
}

fn component(component: &Component) -> Value {
    let mut entry = Map::new();
    let mut add = |name: &str, value: Value| _ = entry.insert(name.to_owned(), value);
    let is_own = matches!(component.source, Source::Directory(_));
    add("type", if is_own { "application" } else { "library" }.into());
    add("bom-ref", component.id().into());
    add("name", component.name.clone().into());
    add("version", component.version.clone().into());
    if !component.hashes.is_empty() {
        let hash = |it: &Hash| json!({ "alg": it.cyclonedx(), "content": it.digest() });
        add("hashes", component.hashes.iter().map(hash).collect());
    }
    match &component.licence {
        Some(Licence::Expression(text)) => add("licenses", json!([{ "expression": text }])),
        Some(Licence::Name(text)) => add("licenses", json!([{ "license": { "name": text } }])),
        None => {}
    }
    if let Some(purl) = component.purl() {
        add("purl", purl.into());
    }
    match &component.source {
        Source::Url(url) => add("externalReferences", json!([{ "type": "distribution", "url": url }])),
        Source::Repository(url) => add("externalReferences", json!([{ "type": "vcs", "url": url }])),
        Source::Index | Source::Directory(_) | Source::File => {}
    }
    let occurrences: Value = component.locations.iter().map(|it| json!({ "location": it })).collect();
    add("evidence", json!({ "occurrences": occurrences }));
    let origins = component.origins.iter().map(|it| ("agentcli:origin", it.clone()));
    let locked = component.locked.iter();
    let locked = locked.map(|it| ("agentcli:locked-hash", format!("{}:{}", it.name(), it.digest())));
    let properties: Vec<Value> =
        origins.chain(locked).map(|(name, value)| json!({ "name": name, "value": value })).collect();
    if !properties.is_empty() {
        add("properties", properties.into());
    }
    entry.into()
}
