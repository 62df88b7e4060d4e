//! The answers to requests about an open configuration.

use std::collections::BTreeMap;

use lsp_server::{ErrorCode, RequestId, Response};
use lsp_types::request::{self, Request};
use lsp_types::{DocumentSymbolResponse, Position, TextDocumentPositionParams, Uri};
use serde_json::Value;

use super::buffer::Buffer;
use super::client::Client;
use super::{action, completion, hover, outline, target};

/// The open configurations, by URI.
pub(super) type Open = BTreeMap<String, Buffer>;

/// The response to a request, if its method is known. About a document that is not open there is nothing to say.
pub(super) fn answer(
    open: &Open,
    client: &Client,
    id: &RequestId,
    method: &str,
    params: Value,
) -> Option<Response> {
    let id = id.clone();
    let find = |uri: &Uri| open.get(uri.as_str());
    let locate = |at: &TextDocumentPositionParams| offset(find(&at.text_document.uri)?, at.position);
    Some(match method {
        request::CodeActionRequest::METHOD => reply::<request::CodeActionRequest>(id, params, |params| {
            let buffer = find(&params.text_document.uri)?;
            let span = buffer.text.offset(params.range.start)..buffer.text.offset(params.range.end);
            Some(action::actions(buffer, &span, &params.context, client.encoding))
        }),
        request::HoverRequest::METHOD => reply::<request::HoverRequest>(id, params, |params| {
            let (buffer, offset) = locate(&params.text_document_position_params)?;
            hover::hover(buffer, offset)
        }),
        request::Completion::METHOD => reply::<request::Completion>(id, params, |params| {
            let (buffer, offset) = locate(&params.text_document_position)?;
            Some(completion::complete(buffer, offset).into())
        }),
        request::GotoDefinition::METHOD => reply::<request::GotoDefinition>(id, params, |params| {
            let (buffer, offset) = locate(&params.text_document_position_params)?;
            target::definition(buffer, offset, client.encoding)
        }),
        request::DocumentLinkRequest::METHOD => reply::<request::DocumentLinkRequest>(id, params, |params| {
            Some(target::links(find(&params.text_document.uri)?))
        }),
        request::DocumentSymbolRequest::METHOD => {
            reply::<request::DocumentSymbolRequest>(id, params, |params| {
                let symbols = outline::outline(find(&params.text_document.uri)?);
                client.shows_trees.then_some(DocumentSymbolResponse::Nested(symbols))
            })
        }
        _ => return None,
    })
}

fn offset(buffer: &Buffer, position: Position) -> Option<(&Buffer, usize)> {
    Some((buffer, buffer.text.offset(position)))
}

/// The response to a request with these parameters.
pub(super) fn reply<R: Request>(
    id: RequestId,
    params: Value,
    answer: impl FnOnce(R::Params) -> R::Result,
) -> Response {
    match serde_json::from_value(params) {
        Ok(params) => Response::new_ok(id, answer(params)),
        Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
    }
}
