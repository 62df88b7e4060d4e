//! The API: its routes, their handlers, and the rules for what clients send.

pub(crate) mod answer;
mod body;
mod codehost;
mod deployments;
mod listener;
mod logs;
mod manifests;
mod merge;
mod name;
pub(crate) mod openapi;
mod page;
pub(crate) mod query;
pub(crate) mod receiving;
pub(crate) mod repositories;
mod revisions;
pub(crate) mod routes;
mod rules;
pub(crate) mod templates;
mod transfer;
pub(crate) mod uploads;
pub(crate) mod webhook;
