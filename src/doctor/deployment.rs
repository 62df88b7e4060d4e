//! The deployment service, and whether it accepts the key.

use super::check::{Check, Group, Subject, Task};
use super::local::TIMEOUT;
use super::{Problem, Request, Service, clock};
use crate::api::wire::Redacted;
use crate::api::{self, Account, Client, DeploymentFilter, RetryPolicy, Vocabulary};

static SERVICE: Subject =
    Subject { id: "service", name: "Service", group: Group::Deployment, needed_by: &[Task::Deploy] };
static KEY: Subject =
    Subject { id: "key", name: "API key", group: Group::Deployment, needed_by: &[Task::Deploy] };

/// A key that the service accepts.
struct Key<'a> {
    origin: &'a str,
    is_unencrypted: bool,
}

pub(super) async fn checks(request: &Request) -> Vec<Check> {
    let service = match &request.service {
        Ok(service) => service,
        Err(Problem { reason, help }) => return vec![SERVICE.missing(reason, help)],
    };
    let (reached, accepted) = tokio::join!(reach(service), accept(service));
    let is_reached = reached.is_ok();
    let mut checks = match reached {
        Ok(time) => {
            let found = format!("{}, {}", Account::without_secrets(&service.host), service.origin);
            [SERVICE.fine(found)]
                .into_iter()
                .chain(time.map(|time| clock::check("the deployment service", time)))
                .collect()
        }
        Err(error) => vec![SERVICE.missing(error.to_string(), error.hint().unwrap_or_default())],
    };
    checks.push(match accepted {
        Err(Problem { reason, help }) => KEY.missing(reason, help),
        Ok(Ok(Key { origin, is_unencrypted: false })) => KEY.fine(format!("accepted, {origin}")),
        Ok(Ok(Key { origin, is_unencrypted: true })) => KEY.degraded(
            format!("accepted, {origin}; it is sent unencrypted"),
            "use an https:// address (--host-url or AGENT_HOST_URL)",
        ),
        Ok(Err(_)) if !is_reached => {
            KEY.degraded("not checked: the service does not answer", "make the service reachable first")
        }
        Ok(Err(error)) => KEY.missing(error.to_string(), error.hint().unwrap_or_default()),
    });
    checks
}

/// Contacts the service without the key; returns its time.
async fn reach(service: &Service) -> Result<Option<i64>, api::Error> {
    let anonymous = Account {
        host: service.host.clone(),
        key: Redacted::default(),
        tenant: None,
        vocabulary: Vocabulary::for_address(&service.host),
    };
    client(anonymous)?.time().await
}

/// Lists one deployment, which the service allows to every valid key.
async fn accept(service: &Service) -> Result<Result<Key<'_>, api::Error>, &Problem> {
    let (account, origin) = service.account.as_ref()?;
    let list = async { client(account.clone())?.list_deployments(&DeploymentFilter::default(), 1, 0).await };
    Ok(list.await.map(|_| Key { origin, is_unencrypted: account.is_unencrypted() }))
}

fn client(account: Account) -> Result<Client, api::Error> {
    let policy = RetryPolicy { attempt: TIMEOUT, total: TIMEOUT, attempts: 1, ..RetryPolicy::default() };
    Ok(Client::new(account)?.with_retry_policy(policy))
}
