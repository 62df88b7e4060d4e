//! Logs of builds and servers.

use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde_json::json;

use agentcli::api::wire::{Cursor, LogEntry, LogLevel, LogOrder, LogPage, LogRequest, Object};

use super::answer::{Detail, Refusal, json_response};
use super::call::Call;
use super::query::Query;
use super::{body, deployments, revisions};
use crate::store::{Line, LogKind, Order};
use agentcli::api::time;

/// Maximum and default number of entries per page.
const MOST: u32 = 1000;
const USUAL: u32 = 50;

/// `GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs`
pub(super) async fn get(call: Call, uri: Uri) -> Result<Response, Refusal> {
    let mut query = Query::parse(&uri);
    let kind = query.word("type", &["deploy", "build"]);
    let limit = query.integer("limit", 1..=i64::from(MOST), USUAL as usize);
    let asked = LogRequest {
        limit: u32::try_from(limit).ok(),
        order: query.text("order").map(LogOrder::from),
        level: query.text("level").map(LogLevel::from),
        query: query.text("query"),
        start_time: query.text("start_time"),
        end_time: query.text("end_time"),
        offset: query.text("offset").map(Cursor::Text),
        other: Object::new(),
    };
    let filter = EntryFilter::new("query", &asked);
    query.done()?;
    let filter = filter?;
    let kind = if kind.as_deref() == Some("build") { LogKind::Build } else { LogKind::Deploy };
    filter.answer(&call, call.ids.get("deployment_id"), Some(call.ids.get("revision_id")), kind)
}

/// `POST /v1/projects/{project_id}/deploy_logs`; a project is a deployment.
pub(super) async fn server_log(call: Call, request: Request) -> Result<Response, Refusal> {
    EntryFilter::read(&call, request).await?.answer(&call, call.ids.get("project_id"), None, LogKind::Deploy)
}

/// `POST /v1/projects/{project_id}/revisions/{revision_id}/deploy_logs`
pub(super) async fn revision_log(call: Call, request: Request) -> Result<Response, Refusal> {
    one(&call, request, LogKind::Deploy).await
}

/// `POST /v1/projects/{project_id}/revisions/{revision_id}/build_logs`
pub(super) async fn build_log(call: Call, request: Request) -> Result<Response, Refusal> {
    one(&call, request, LogKind::Build).await
}

async fn one(call: &Call, request: Request, kind: LogKind) -> Result<Response, Refusal> {
    let filter = EntryFilter::read(call, request).await?;
    filter.answer(call, call.ids.get("project_id"), Some(call.ids.get("revision_id")), kind)
}

/// A filter of entries.
struct EntryFilter {
    limit: usize,
    order: LogOrder,
    level: Option<LogLevel>,
    /// In lower case.
    text: Option<String>,
    /// Milliseconds since 1970, both inclusive.
    start: Option<i64>,
    end: Option<i64>,
    /// Number of the last entry of the previous page.
    after: Option<u64>,
}

impl EntryFilter {
    async fn read(call: &Call, request: Request) -> Result<Self, Refusal> {
        let asked = body::read::<LogRequest>(&call.shared, request).await?;
        Self::new("body", &asked.record)
    }

    /// Reads the filter from this `part` of the request.
    fn new(part: &str, asked: &LogRequest) -> Result<Self, Refusal> {
        let mut details = Vec::new();
        let mut refuse =
            |field: &str, msg: String, kind| details.push(Detail::new(&[part, field], msg, kind));
        let limit = asked.limit.unwrap_or(USUAL);
        if !(1..=MOST).contains(&limit) {
            let kind = if limit == 0 { "greater_than_equal" } else { "less_than_equal" };
            refuse("limit", format!("Must be from 1 to {MOST}."), kind);
        }
        if let Some(LogOrder::Other(_)) = asked.order {
            refuse("order", format!("Must be one of {}.", LogOrder::WORDS.join(", ")), "literal_error");
        }
        if let Some(LogLevel::Other(_)) = asked.level {
            refuse("level", format!("Must be one of {}.", LogLevel::WORDS.join(", ")), "literal_error");
        }
        let mut parse = |field: &str, text: &Option<String>| {
            // A `+` in a query that was not encoded has become a space.
            let parsed = time::parse(&text.as_ref()?.trim().replace(' ', "+"));
            if parsed.is_none() {
                let msg = "Must be an ISO 8601 time, such as 2026-03-08T12:00:00Z.".to_owned();
                refuse(field, msg, "datetime_parsing");
            }
            parsed
        };
        let (start, end) = (parse("start_time", &asked.start_time), parse("end_time", &asked.end_time));
        let after = asked.offset.as_ref().and_then(|offset| match offset {
            Cursor::Number(number) => Some(*number),
            Cursor::Text(text) => text.parse().ok(),
        });
        if asked.offset.is_some() && after.is_none() {
            refuse("offset", "Must be the next_offset of an answer.".to_owned(), "value_error");
        }
        if !details.is_empty() {
            return Err(Refusal::Invalid(details));
        }
        Ok(Self {
            limit: limit as usize,
            order: asked.order.clone().unwrap_or(LogOrder::Ascending),
            level: asked.level.clone(),
            text: asked.query.as_ref().map(|text| text.to_lowercase()),
            start,
            end,
            after,
        })
    }

    fn takes(&self, line: &Line) -> bool {
        self.level.as_ref().is_none_or(|level| line.level == *level)
            && self.text.as_ref().is_none_or(|text| line.message.to_lowercase().contains(text))
            && self.start.is_none_or(|start| line.milliseconds >= start)
            && self.end.is_none_or(|end| line.milliseconds <= end)
    }

    /// A page of the log of a revision, or of all revisions of a deployment. More entries may follow, now or later, so only
    /// an empty page is the last.
    fn answer(
        &self,
        call: &Call,
        deployment: &str,
        revision: Option<&str>,
        kind: LogKind,
    ) -> Result<Response, Refusal> {
        let order = match self.order {
            LogOrder::Descending => Order::NewestBefore(self.after.unwrap_or(u64::MAX)),
            _ => Order::OldestAfter(self.after.unwrap_or(0)),
        };
        let lines = call.shared.store.read(|tx| {
            match revision {
                None => drop(deployments::find(tx, &call.tenant, deployment)?),
                Some(id) => drop(revisions::find(tx, &call.tenant, deployment, id)?),
            }
            let takes = |line: &Line| self.takes(line);
            Ok::<_, Refusal>(tx.read_log(deployment, revision, kind, order, self.limit, takes)?)
        })?;
        let next_offset = lines.last().map(|line| Cursor::Text(line.number.to_string()));
        let logs: Vec<LogEntry> = lines.into_iter().map(Line::entry).collect();
        Ok(json_response(StatusCode::OK, &json!(LogPage { logs, next_offset, other: Object::new() })))
    }
}
