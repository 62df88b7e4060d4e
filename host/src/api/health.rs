//! Whether the service works, for monitors and load balancers. It says nothing about tenants.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::answer::{Refusal, json_response};
use super::shared::Shared;

/// `GET /healthz`: fails if the database cannot be read.
pub(super) async fn get(State(shared): State<Arc<Shared>>) -> Result<Response, Refusal> {
    shared.store.read(|tx| tx.any_deployment(""))?;
    Ok(json_response(StatusCode::OK, &json!({ "ok": true })))
}
