//! PostgreSQL and Redis, where no secret reference names those of the user.

use serde_json::{Value, json};

use super::compute::{check_amount, claim, resources};
use super::{Refused, Scope, container, metadata, secrets, server};
use crate::api::wire::Tier;
use crate::compiler::server::{cluster, setup};

/// Name of the volume of the database.
const DATA: &str = "data";

/// The Service and the StatefulSet of PostgreSQL.
pub(super) fn postgres(scope: &Scope<'_>) -> Result<[Value; 2], Refused> {
    let it = &scope.request.resources;
    let name = scope.name("postgres");
    let component = "postgres";
    let data = &setup::POSTGRES;
    let (_, directory) = setup::DATA;
    let own = |(variable, _): &&(&str, &str)| *variable != cluster::PASSWORD_VARIABLE;
    let mut variables: Vec<Value> = data
        .environment
        .iter()
        .filter(own)
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let password = container::reference(&scope.name(secrets::PASSWORD), secrets::PASSWORD_KEY);
    variables.push(json!({ "name": cluster::PASSWORD_VARIABLE, "valueFrom": password }));
    variables.push(json!({ "name": cluster::DATA_VARIABLE, "value": format!("{directory}/pgdata") }));
    let mut arguments: Vec<String> = data.command.iter().map(|&word| word.to_owned()).collect();
    if let Some(connections) = it.db_max_connections {
        check_amount("db_max_connections", connections.into())?;
        arguments.extend(["-c".to_owned(), format!("{}={connections}", cluster::CONNECTIONS)]);
    }
    let mut container = beside(
        scope,
        data,
        ("postgres", cluster::POSTGRES_PORT),
        resources(Tier::Database, it.tier(Tier::Database))?,
    );
    container["args"] = arguments.into();
    container["env"] = variables.into();
    container["volumeMounts"] = json!([{ "name": DATA, "mountPath": directory }]);
    let mut object = metadata::object(scope, ("apps/v1", "StatefulSet"), name.clone(), component)?;
    object["spec"] = json!({
        "replicas": 1,
        "serviceName": name,
        "selector": { "matchLabels": metadata::selector(scope, component) },
        "template": template(scope, component, &container)?,
        "volumeClaimTemplates": [claim(scope, DATA)?],
    });
    Ok([server::service(scope, &name, component, ("postgres", cluster::POSTGRES_PORT))?, object])
}

/// The Service and the Deployment of Redis, which keeps nothing.
pub(super) fn redis(scope: &Scope<'_>) -> Result<[Value; 2], Refused> {
    let it = &scope.request.resources;
    let (name, component) = (scope.name("redis"), "redis");
    let container = beside(
        scope,
        &setup::REDIS,
        ("redis", cluster::REDIS_PORT),
        resources(Tier::Redis, it.tier(Tier::Redis))?,
    );
    let mut object = metadata::object(scope, ("apps/v1", "Deployment"), name.clone(), component)?;
    object["spec"] = json!({
        "replicas": 1,
        "selector": { "matchLabels": metadata::selector(scope, component) },
        "strategy": { "type": "Recreate" },
        "template": template(scope, component, &container)?,
    });
    Ok([server::service(scope, &name, component, ("redis", cluster::REDIS_PORT))?, object])
}

/// The container of a service beside the server.
fn beside(
    scope: &Scope<'_>,
    data: &setup::Service,
    (port_name, port): (&str, u16),
    resources: Value,
) -> Value {
    let probe = |failures: u32| {
        json!({
            "exec": { "command": data.health },
            "periodSeconds": setup::INTERVAL,
            "timeoutSeconds": setup::TIMEOUT,
            "failureThreshold": failures,
        })
    };
    json!({
        "name": port_name,
        "image": scope.request.images.get(data.image).map_or(data.image, String::as_str),
        "ports": [{ "name": port_name, "containerPort": port }],
        "startupProbe": probe(data.start_period / setup::INTERVAL + setup::RETRIES),
        "readinessProbe": probe(setup::RETRIES),
        "resources": resources,
    })
}

fn template(scope: &Scope<'_>, component: &str, container: &Value) -> Result<Value, Refused> {
    let resources = &scope.request.resources;
    Ok(json!({
        "metadata": {
            "labels": metadata::labels(scope, component)?,
            "annotations": metadata::annotations(scope, [])?,
        },
        "spec": {
            "automountServiceAccountToken": false,
            "imagePullSecrets": resources.image_pull_secrets,
            "containers": [container],
        },
    }))
}
