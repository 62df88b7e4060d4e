//! The API: its routes, their handlers, and the rules for what clients send.

mod answer;
mod body;
mod call;
mod deployments;
mod health;
mod listener;
mod logs;
mod manifests;
mod merge;
mod name;
pub(crate) mod openapi;
mod page;
mod query;
mod receiving;
mod repositories;
mod revisions;
pub(crate) mod routes;
mod rules;
pub(crate) mod shared;
mod transfer;
pub(crate) mod uploads;
mod webhook;
