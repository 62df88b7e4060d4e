//! SPDX 2.3 as JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::component::{Component, Hash, Kind, Source};
use super::document::{Bill, seconds, uuid};
use super::licence::Licence;

/// The value of everything that is not known.
const NOTHING: &str = "NOASSERTION";

const DOCUMENT: &str = "SPDXRef-DOCUMENT";
const IMAGE: &str = "SPDXRef-Image";

/// The document.
pub(super) fn document(bill: &Bill) -> Value {
    let image = &bill.image;
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for component in &bill.components {
        if let Some(Licence::Name(text)) = &component.licence {
            names.insert(reference(text), text);
        }
    }
    let subject = json!({
        "SPDXID": IMAGE,
        "name": image.name,
        "versionInfo": image.id,
        "downloadLocation": NOTHING,
        "filesAnalyzed": false,
        "licenseConcluded": NOTHING,
        "licenseDeclared": NOTHING,
        "copyrightText": NOTHING,
        "primaryPackagePurpose": "CONTAINER",
    });
    let packages: Vec<Value> = [subject].into_iter().chain(bill.components.iter().map(package)).collect();
    let relationship = |from: &str, kind: &str, to: &str| json!({ "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to });
    let contains = bill.components.iter().map(|it| relationship(IMAGE, "CONTAINS", &id(it)));
    let relationships: Vec<Value> =
        [relationship(DOCUMENT, "DESCRIBES", IMAGE)].into_iter().chain(contains).collect();
    let licence =
        |(id, name): (&String, &&str)| json!({ "licenseId": id, "name": name, "extractedText": name });
    let licences: Vec<Value> = names.iter().map(licence).collect();
    // The format wants a time: that of the image, if no other is given.
    let time = bill.time.or(image.created).unwrap_or(Timestamp::UNIX_EPOCH);
    let creation = json!({
        "created": seconds(time),
        "creators": [format!("Tool: agentcli-{}", env!("CARGO_PKG_VERSION"))],
    });
    let own = uuid(&json!([creation, packages]));
    let mut document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": DOCUMENT,
        "name": image.name,
        "documentNamespace": format!("https://spdx.org/spdxdocs/agentcli-{own}"),
        "creationInfo": creation,
        "packages": packages,
        "relationships": relationships,
    });
    if !licences.is_empty() {
        document["hasExtractedLicensingInfos"] = licences.into();
    }
    document
}

fn package(component: &Component) -> Value {
    let mut entry = Map::new();
    let mut add = |name: &str, value: Value| _ = entry.insert(name.to_owned(), value);
    add("SPDXID", id(component).into());
    add("name", component.name.clone().into());
    add("versionInfo", component.version.clone().into());
    add(
        "downloadLocation",
        match &component.source {
            Source::Repository(url) | Source::Url(url) => url.clone().into(),
            Source::Index | Source::Directory(_) | Source::File => NOTHING.into(),
        },
    );
    add("filesAnalyzed", false.into());
    if !component.hashes.is_empty() {
        let hash = |it: &Hash| json!({ "algorithm": it.spdx(), "checksumValue": it.digest() });
        add("checksums", component.hashes.iter().map(hash).collect());
    }
    add("licenseConcluded", NOTHING.into());
    add(
        "licenseDeclared",
        match &component.licence {
            Some(Licence::Expression(text)) => text.clone().into(),
            Some(Licence::Name(text)) => reference(text).into(),
            None => NOTHING.into(),
        },
    );
    add("copyrightText", NOTHING.into());
    let is_own = matches!(component.source, Source::Directory(_));
    add("primaryPackagePurpose", if is_own { "APPLICATION" } else { "LIBRARY" }.into());
    if let Some(purl) = component.purl() {
        let category = "PACKAGE-MANAGER";
        let reference =
            json!({ "referenceCategory": category, "referenceType": "purl", "referenceLocator": purl });
        add("externalRefs", json!([reference]));
    }
    let listed = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(", ");
    let mut about = format!("found in {}", listed(&mut component.locations.iter().cloned()));
    if !component.origins.is_empty() {
        about = format!("{about}; origin: {}", listed(&mut component.origins.iter().cloned()));
    }
    add("sourceInfo", about.into());
    if !component.locked.is_empty() {
        let hashes = component.locked.iter().map(|hash| format!("{}:{}", hash.name(), hash.digest()));
        add("comment", format!("the lock allows {}", listed(&mut hashes.into_iter())).into());
    }
    entry.into()
}

/// The ID of a package, which says what it is: `SPDXRef-python-name-1.0-0123456789ab`.
fn id(component: &Component) -> String {
    let kind = match component.kind {
        Kind::Apk => "apk",
        Kind::Deb => "deb",
        Kind::JavaScript => "npm",
        Kind::Python => "python",
    };
    format!("SPDXRef-{kind}-{}", named(&format!("{}-{}", component.name, component.version), &component.id()))
}

/// The ID of a licence that is no SPDX expression.
fn reference(name: &str) -> String {
    format!("LicenseRef-{}", named(name, name))
}

/// Text of the characters that IDs may have, and the start of the digest of `whole`.
fn named(text: &str, whole: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let text: String = text.chars().map(letter).collect();
    let digest = hex::encode(&Sha256::digest(whole)[..6]);
    format!("{text}-{digest}")
}
