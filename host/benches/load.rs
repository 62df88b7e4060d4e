//! Sends requests at a constant rate and prints how long they took, counted from the moment each was due, so that a server
//! that falls behind cannot hide it.
//!
//! Usage: load RATE SECONDS CONNECTIONS URL [NAME:VALUE…]      `{page}` in the URL becomes 0, 20, 40, … 9980
//!
//! Prints one line of JSON: `sent`, `failed` (no answer, or a status other than 200), `p50`, `p95`, `p99` and `max` in
//! milliseconds. The rate is requests per second.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

type Failure = Box<dyn Error + Send + Sync>;

/// The URL and the headers of all requests.
struct Target {
    url: String,
    headers: Vec<(String, String)>,
}

impl Target {
    fn uri(&self, number: u64) -> Result<Uri, Failure> {
        Ok(self.url.replace("{page}", &(number * 20 % 10_000).to_string()).parse()?)
    }

    /// The whole answer to one request.
    async fn answer(
        &self,
        connection: &mut SendRequest<Empty<Bytes>>,
        number: u64,
    ) -> Result<StatusCode, Failure> {
        let uri = self.uri(number)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::get(path);
        // A given Host header replaces that of the URL, since the proxy routes by it.
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("host", uri.authority().map_or("", |authority| authority.as_str()));
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        connection.ready().await?;
        let answer = connection.send_request(request.body(Empty::new())?).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }

    async fn connect(&self) -> Result<SendRequest<Empty<Bytes>>, Failure> {
        let uri = self.uri(0)?;
        let stream =
            TcpStream::connect((uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80))).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// Takes requests as they become due; the times that they took, and how many failed.
    async fn work(&self, queue: &Mutex<UnboundedReceiver<(u64, Instant)>>) -> (Vec<Duration>, usize) {
        let (mut times, mut failed, mut connection) = (Vec::new(), 0, None);
        loop {
            let Some((number, due)) = queue.lock().await.recv().await else { return (times, failed) };
            let is_answered = match self.request(&mut connection, number).await {
                Ok(status) => status == StatusCode::OK,
                Err(_) => {
                    connection = None;
                    false
                }
            };
            failed += usize::from(!is_answered);
            times.push(due.elapsed());
        }
    }

    async fn request(
        &self,
        connection: &mut Option<SendRequest<Empty<Bytes>>>,
        number: u64,
    ) -> Result<StatusCode, Failure> {
        // A server may close a connection that is idle; that is no failed request.
        if connection.as_ref().is_none_or(SendRequest::is_closed) {
            *connection = Some(self.connect().await?);
        }
        let Some(connection) = connection else { return Err("not connected".into()) };
        self.answer(connection, number).await
    }
}

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).map_or(0.0, |time| (time.as_secs_f64() * 1e5).round() / 100.0)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    // Cargo adds --bench.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut word = || words.next().ok_or("usage: load RATE SECONDS CONNECTIONS URL [NAME:VALUE...]");
    let (rate, seconds, connections): (u64, u64, usize) =
        (word()?.parse()?, word()?.parse()?, word()?.parse()?);
    let url = word()?;
    let header =
        |word: String| word.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    let headers = words.map(header).collect::<Option<_>>().ok_or("a header is NAME:VALUE")?;
    let target = Arc::new(Target { url, headers });

    let (due, queue) = unbounded_channel();
    let queue = Arc::new(Mutex::new(queue));
    let work = |_| {
        let (target, queue) = (target.clone(), queue.clone());
        tokio::spawn(async move { target.work(&queue).await })
    };
    let workers: Vec<_> = (0..connections).map(work).collect();

    let start = Instant::now() + Duration::from_millis(10);
    sleep_until(start).await;
    let mut ticks = interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut number, count) = (0, rate * seconds);
    while number < count {
        ticks.tick().await;
        while number < count && start + Duration::from_micros(number * 1_000_000 / rate) <= Instant::now() {
            due.send((number, start + Duration::from_micros(number * 1_000_000 / rate)))?;
            number += 1;
        }
    }
    drop(due);

    let (mut times, mut failed) = (Vec::new(), 0);
    for worker in workers {
        let (its_times, its_failed) = worker.await?;
        times.extend(its_times);
        failed += its_failed;
    }
    times.sort_unstable();
    let [p50, p95, p99, max] = [50, 95, 99, 100].map(|percent| percentile(&times, percent));
    let result =
        json!({ "sent": times.len(), "failed": failed, "p50": p50, "p95": p95, "p99": p99, "max": max });
    Ok(writeln!(std::io::stdout(), "{result}")?)
}
