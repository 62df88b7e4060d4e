//! The API of an agent server.

use std::cell::OnceCell;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::Error;
use super::event::Event;
use super::front::{Front, Page};
use super::sse::{MAX_EVENT, Parser, TooLarge};
use crate::api::Account;
use crate::api::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use crate::api::http::{self, Client, Method, Response, Url, body_up_to, redirect};

/// Timeout to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// Longest time in which a server sends nothing; servers send heartbeats while a graph runs.
const SILENCE: Duration = Duration::from_secs(300);

/// Maximum size of a response that is not a stream, in bytes.
const MAX_RESPONSE: usize = 32 << 20;

/// Maximum length of the detail of an error, in characters.
const MAX_DETAIL: usize = 1000;

/// Most assistants that a server is asked for.
const ASSISTANTS: u32 = 1000;

/// A header of every request. There is no `Debug`: the value may be secret.
#[derive(Clone)]
pub struct Header {
    name: HeaderName,
    value: HeaderValue,
}

impl Header {
    /// The header `name` with this value. The error is a fragment without the value.
    pub fn new(name: &str, value: &str) -> Result<Self, String> {
        let invalid = |what: &str| format!("the {what} of the header is not valid in HTTP");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid("value"))?;
        value.set_sensitive(true);
        Ok(Self { name, value })
    }
}

/// An assistant: a graph with a configuration. Each graph of a server has one of its own.
#[derive(Clone, Debug, Deserialize)]
pub struct Assistant {
    /// Its ID.
    #[serde(rename = "assistant_id")]
    pub id: String,
    /// Its graph.
    #[serde(rename = "graph_id")]
    pub graph: String,
}

/// A run to start.
pub struct Run {
    /// The graph, or the ID of an assistant.
    pub graph: String,
    /// ID of the thread; without it, no state is kept.
    pub thread: Option<String>,
    /// The input, or the answer to an interrupt.
    pub start: Start,
}

/// How a run starts.
pub enum Start {
    /// With this input.
    Input(Value),
    /// With this answer to the interrupt of the thread's last run.
    Resume(Value),
}

impl Run {
    /// The body of the request.
    fn body(&self) -> Value {
        let mut body = json!({
            "assistant_id": self.graph,
            "stream_mode": ["values", "updates", "messages-tuple"],
            "on_disconnect": "cancel",
        });
        match &self.start {
            Start::Input(input) => body["input"] = input.clone(),
            Start::Resume(answer) => body["command"] = json!({ "resume": answer }),
        }
        body
    }
}

/// A server, and the headers that it gets.
pub struct Server {
    http: Client,
    base: Url,
    headers: HeaderMap,
    graphs: OnceCell<Vec<Assistant>>,
}

impl Server {
    /// The server whose API is at `url`. Nothing is sent yet. With `trusts_any_certificate`, its certificate may be any:
    /// for the user's own server on this machine.
    pub fn new(url: &str, headers: &[Header], trusts_any_certificate: bool) -> Result<Self, Error> {
        let base = address(url)?;
        let builder = http::builder_for(&base)
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .tls_danger_accept_invalid_certs(trusts_any_certificate);
        let http = http::build(builder).map_err(|reason| Error::Setup { reason })?;
        let headers = headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
        Ok(Self { http, base, headers, graphs: OnceCell::new() })
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// What serves `page` for it on this machine.
    pub fn front(&self, page: Page) -> Result<Front, Error> {
        Front::new(self.http.clone(), self.base.clone(), self.headers.clone(), page)
    }

    /// The first assistant of each graph; the server is asked once.
    ///
    /// # Errors
    ///
    /// The server is unreachable or refuses; this applies to all functions below.
    pub async fn graphs(&self) -> Result<&[Assistant], Error> {
        if let Some(known) = self.graphs.get() {
            return Ok(known);
        }
        let found = self.read_graphs().await?;
        Ok(self.graphs.get_or_init(|| found))
    }

    async fn read_graphs(&self) -> Result<Vec<Assistant>, Error> {
        let query = json!({ "limit": ASSISTANTS, "sort_by": "created_at", "sort_order": "asc" });
        let all: Vec<Assistant> = self.call(Method::POST, &["assistants", "search"], Some(&query)).await?;
        let mut graphs: Vec<Assistant> = Vec::new();
        for assistant in all {
            if graphs.iter().all(|known| known.graph != assistant.graph) {
                graphs.push(assistant);
            }
        }
        Ok(graphs)
    }

    /// Whether the input of an assistant may have `messages`, as far as the server tells.
    pub async fn takes_messages(&self, assistant_id: &str) -> Result<bool, Error> {
        let schemas: Value = self.call(Method::GET, &["assistants", assistant_id, "schemas"], None).await?;
        // A server that cannot tell the input's schema may still tell the state's.
        let properties =
            ["input_schema", "state_schema"].iter().find_map(|it| schemas[it]["properties"].as_object());
        Ok(properties.is_none_or(|properties| properties.contains_key("messages")))
    }

    /// The nodes and edges of an assistant's graph, as the server draws it.
    pub async fn drawing(&self, assistant_id: &str) -> Result<Value, Error> {
        self.call(Method::GET, &["assistants", assistant_id, "graph"], None).await
    }

    /// Creates a thread, and returns its ID.
    pub async fn create_thread(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Thread {
            thread_id: String,
        }
        let thread: Thread = self.call(Method::POST, &["threads"], Some(&json!({}))).await?;
        Ok(thread.thread_id)
    }

    /// Starts a run.
    pub async fn stream(&self, run: &Run) -> Result<Stream<'_>, Error> {
        let path = match &run.thread {
            Some(thread) => vec!["threads", thread, "runs", "stream"],
            None => vec!["runs", "stream"],
        };
        let (call, response) = self.send(Method::POST, &path, Some(&run.body()), "text/event-stream").await?;
        let kind = content_type(&response);
        if kind != "text/event-stream" {
            let reason = format!("its content type is `{kind}`, not text/event-stream");
            return Err(self.broken(&call, reason));
        }
        Ok(Stream { server: self, call, response, parser: Parser::default(), events: Vec::new().into_iter() })
    }

    async fn call<T: for<'de> Deserialize<'de>>(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<T, Error> {
        let (call, response) = self.send(method, path, body, "application/json").await?;
        let body = body_up_to(MAX_RESPONSE, response).await;
        let body = body.map_err(|error| self.broken(&call, http::reason(&error)))?;
        let too_large = || self.broken(&call, format!("it is larger than {MAX_RESPONSE} bytes"));
        serde_json::from_slice(&body.ok_or_else(too_large)?)
            .map_err(|_| self.broken(&call, "it is not what an agent server answers".to_owned()))
    }

    /// Sends a request; the response has a status from 200 to 299.
    async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
        accept: &str,
    ) -> Result<(String, Response), Error> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let call = format!("{method} {}", url.path());
        let mut request = self.http.request(method, url).header(ACCEPT, accept);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let sent = request.headers(self.headers.clone()).send().await;
        let response = sent.map_err(|error| self.unanswered(&call, &error))?;
        if response.status().is_success() {
            Ok((call, response))
        } else {
            Err(self.refused(call, response).await)
        }
    }

    async fn refused(&self, call: String, response: Response) -> Error {
        let (url, status) = (self.url().to_owned(), response.status());
        if status.is_redirection() {
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let target = location.and_then(|location| Url::parse(location).ok()).filter(Url::has_host);
            let same = || "another path of the same host".to_owned();
            let target = target.map_or_else(same, |target| target.origin().ascii_serialization());
            return Error::Redirected { url, call, target };
        }
        let body = body_up_to(MAX_RESPONSE, response).await.ok().flatten().unwrap_or_default();
        let text = match serde_json::from_slice::<Value>(&body) {
            Ok(value) => match &value["detail"] {
                Value::String(detail) => detail.clone(),
                Value::Null => value.to_string(),
                detail => detail.to_string(),
            },
            Err(_) => String::from_utf8_lossy(&body).trim().to_owned(),
        };
        let reason = || status.canonical_reason().unwrap_or("no details").to_owned();
        let detail = if text.is_empty() { reason() } else { self.shortened(&text) };
        Error::Rejected { url, call, status: status.as_u16(), detail }
    }

    /// A text of the server without the values of our headers, which it may repeat.
    fn without_secrets(&self, text: &str) -> String {
        let values = self.headers.values().filter_map(|value| value.to_str().ok());
        // `Bearer KEY` may be repeated without its first word.
        let words = values.flat_map(|value| [value, value.rsplit(' ').next().unwrap_or_default()]);
        words.filter(|word| word.len() > 3).fold(text.to_owned(), |text, word| text.replace(word, "…"))
    }

    fn shortened(&self, text: &str) -> String {
        let text = self.without_secrets(text);
        match text.char_indices().nth(MAX_DETAIL) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// The error of a request without a response, or with a part of one.
    fn unanswered(&self, call: &str, error: &http::Error) -> Error {
        let reason = match error {
            error if error.is_connect() && error.is_timeout() => "connection timed out".to_owned(),
            error if error.is_timeout() => format!("the server sent nothing for {} s", SILENCE.as_secs()),
            error => http::reason(error),
        };
        if error.is_connect() {
            return Error::Unreachable { url: self.url().to_owned(), reason };
        }
        self.broken(call, reason)
    }

    fn broken(&self, call: &str, reason: String) -> Error {
        Error::Broken { url: self.url().to_owned(), call: call.to_owned(), reason }
    }
}

/// The events of a run that goes on. Dropping it cancels the run.
pub struct Stream<'a> {
    server: &'a Server,
    call: String,
    response: Response,
    parser: Parser,
    /// Those that were read and not returned.
    events: std::vec::IntoIter<Event>,
}

impl Stream<'_> {
    /// The next event; none when the run has ended.
    ///
    /// # Errors
    ///
    /// The connection breaks, or something else than events arrives.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.events.next() {
                return Ok(Some(event));
            }
            let piece = self.response.chunk().await;
            let piece = piece.map_err(|error| self.server.unanswered(&self.call, &error))?;
            let Some(piece) = piece else { return Ok(None) };
            let messages = self.parser.feed(&piece).map_err(|TooLarge| {
                self.server.broken(&self.call, format!("an event is larger than {MAX_EVENT} bytes"))
            })?;
            let events: Result<Vec<Event>, String> = messages.into_iter().map(Event::read).collect();
            self.events = events.map_err(|reason| self.server.broken(&self.call, reason))?.into_iter();
        }
    }

    /// The error that `event` reports, if it reports one.
    pub fn failure(&self, event: &Event) -> Option<Error> {
        let text = |value: &Value| match value {
            Value::String(text) => self.server.without_secrets(text),
            value => self.server.without_secrets(&value.to_string()),
        };
        (event.name == "error").then(|| Error::Graph {
            node: event.data["node"].as_str().map(str::to_owned),
            place: event.data["place"].as_str().map(str::to_owned),
            kind: event.data["error"].as_str().map_or_else(|| "error".to_owned(), str::to_owned),
            message: text(event.data.get("message").unwrap_or(&event.data)),
        })
    }

    /// The error of a run that ended without a state.
    pub fn without_state(&self) -> Error {
        self.server.broken(&self.call, "it ended without a state of the graph".to_owned())
    }
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The URL of a server; an error if it has a user, a password, a query or a fragment.
fn address(text: &str) -> Result<Url, Error> {
    let refused =
        |reason: &str| Error::Address { url: Account::without_secrets(text), reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("it does not start with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("it contains a user or a password; pass them with --header-env"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refused("it contains a query or a fragment"));
    }
    Ok(url)
}
