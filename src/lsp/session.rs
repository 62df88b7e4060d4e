//! One session: its life cycle, and the handler of each message.

use std::io;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::PublishDiagnosticsParams;
use lsp_types::notification::{self, Notification as _};
use lsp_types::request::{Initialize, RegisterCapability, Request as _, Shutdown};
use serde::Serialize;

use super::buffer::Buffer;
use super::client::{self, Client};
use super::frame::Malformed;
use super::request::Open;
use super::text::Text;
use super::{Error, finding, request};

/// The phase of a session's life cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before `initialize`.
    New,
    /// Between `initialize` and `shutdown`.
    Running,
    /// After `shutdown`.
    ShutDown,
}

/// The state of a session.
pub(super) struct Session<'a> {
    send: &'a mut dyn FnMut(&str) -> io::Result<()>,
    phase: Phase,
    client: Client,
    open: Open,
}

impl<'a> Session<'a> {
    pub(super) fn new(send: &'a mut dyn FnMut(&str) -> io::Result<()>) -> Self {
        Self { send, phase: Phase::New, client: Client::default(), open: Open::new() }
    }

    /// Handles one message.
    pub(super) fn handle(&mut self, message: Message) -> Result<(), Error> {
        match message {
            Message::Request(request) => {
                let response = self.answer(request);
                self.send(response)
            }
            Message::Notification(notification) if self.phase == Phase::Running => self.notice(notification),
            Message::Notification(_) | Message::Response(_) => Ok(()),
        }
    }

    /// Answers input that is no message. Before the first message, nothing speaks for an editor.
    pub(super) fn refuse(&mut self, malformed: &Malformed) -> Result<(), Error> {
        if self.phase == Phase::New {
            return Err(Error::Protocol { reason: malformed.reason.to_owned() });
        }
        (self.send)(&malformed.answer()).map_err(|source| Error::Output { source })
    }

    /// Publishes the findings of all buffers that have changed.
    pub(super) fn publish(&mut self) -> Result<(), Error> {
        let mut found = Vec::new();
        for buffer in self.open.values_mut().filter(|buffer| !buffer.is_published) {
            found.push(finding::publication(buffer, self.client.encoding));
            buffer.is_published = true;
        }
        found.into_iter().try_for_each(|params| self.notify::<notification::PublishDiagnostics>(params))
    }

    /// The result of a session that ends now.
    pub(super) fn end(&self) -> Result<(), Error> {
        if self.phase == Phase::ShutDown { Ok(()) } else { Err(Error::NoShutdown) }
    }

    fn answer(&mut self, request: Request) -> Response {
        let id = request.id;
        let method = request.method;
        let params = request.params;
        let refuse = |code: ErrorCode, why: &str| Response::new_err(id.clone(), code as i32, why.to_owned());
        match (self.phase, method.as_str()) {
            (Phase::New, Initialize::METHOD) => request::reply::<Initialize>(id, params, |params| {
                self.client = Client::new(&params);
                self.phase = Phase::Running;
                self.client.welcome()
            }),
            (Phase::New, _) => refuse(ErrorCode::ServerNotInitialized, "the session is not initialized"),
            (Phase::ShutDown, _) => refuse(ErrorCode::InvalidRequest, "the session is shut down"),
            (Phase::Running, Shutdown::METHOD) => {
                self.phase = Phase::ShutDown;
                Response::new_ok(id, ())
            }
            (Phase::Running, Initialize::METHOD) => {
                refuse(ErrorCode::InvalidRequest, "the session is initialized already")
            }
            (Phase::Running, method) => {
                let answered = request::answer(&self.open, &self.client, &id, method, params);
                answered.unwrap_or_else(|| {
                    refuse(ErrorCode::MethodNotFound, &format!("`{method}` is not supported"))
                })
            }
        }
    }

    fn notice(&mut self, notification: Notification) -> Result<(), Error> {
        let params = notification.params;
        match notification.method.as_str() {
            notification::Initialized::METHOD if self.client.watches => {
                let id = RequestId::from("watch".to_owned());
                let method = RegisterCapability::METHOD.to_owned();
                return self.send(Request::new(id, method, client::watch_request()));
            }
            notification::DidOpenTextDocument::METHOD => {
                read::<notification::DidOpenTextDocument, _>(params, |params| {
                    let opened = params.text_document;
                    let text = Text::new(opened.text, self.client.encoding);
                    let key = opened.uri.as_str().to_owned();
                    if let Some(buffer) = Buffer::new(opened.uri, opened.version, text) {
                        self.open.insert(key, buffer);
                    }
                });
            }
            notification::DidChangeTextDocument::METHOD => {
                read::<notification::DidChangeTextDocument, _>(params, |params| {
                    if let Some(buffer) = self.open.get_mut(params.text_document.uri.as_str()) {
                        buffer.change(params.text_document.version, &params.content_changes);
                    }
                });
            }
            notification::DidCloseTextDocument::METHOD => {
                let closed = read::<notification::DidCloseTextDocument, _>(params, |params| {
                    self.open.remove(params.text_document.uri.as_str())
                });
                if let Some(buffer) = closed.flatten() {
                    let cleared = PublishDiagnosticsParams::new(buffer.uri, Vec::new(), None);
                    return self.notify::<notification::PublishDiagnostics>(cleared);
                }
            }
            notification::DidSaveTextDocument::METHOD | notification::DidChangeWatchedFiles::METHOD => {
                self.open.values_mut().for_each(Buffer::invalidate);
            }
            _ => {}
        }
        Ok(())
    }

    fn notify<N: notification::Notification>(&mut self, params: N::Params) -> Result<(), Error>
    where
        N::Params: Serialize,
    {
        self.send(Notification::new(N::METHOD.to_owned(), params))
    }

    fn send(&mut self, message: impl Into<Message>) -> Result<(), Error> {
        let mut bytes = Vec::new();
        let written = message.into().write(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        written.and_then(|()| (self.send)(&text)).map_err(|source| Error::Output { source })
    }
}

/// Handles a notification; one with invalid parameters is ignored, since it cannot be answered.
fn read<N: notification::Notification, T>(
    params: serde_json::Value,
    handle: impl FnOnce(N::Params) -> T,
) -> Option<T> {
    serde_json::from_value(params).ok().map(handle)
}
