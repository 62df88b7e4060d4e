//! A headless browser for one test: Debian's chromium, driven over WebDriver.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, lines};
use crate::host::service::send;

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1200,800",
];

/// Keys without a character, as WebDriver has them.
pub(crate) const TAB: &str = "\u{E004}";
pub(crate) const ENTER: &str = "\u{E007}";
pub(crate) const ESCAPE: &str = "\u{E00C}";
pub(crate) const DOWN: &str = "\u{E015}";

/// A browser with one tab. It ends with this value.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser is a child of the driver, and ends with its session.
        send("DELETE", &self.session, &[], None).ok();
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}

impl Browser {
    pub(crate) fn open(url: &str) -> Self {
        Self::open_with(url, &[])
    }

    /// The same, with further flags.
    pub(crate) fn open_with(url: &str, more: &[&str]) -> Self {
        let profile = TempDir::new().unwrap();
        let (driver, port) = start_driver();
        let sessions = format!("http://127.0.0.1:{port}/session");
        let mut browser = Self { driver, session: sessions.clone(), _profile: profile };
        let mut flags: Vec<String> = FLAGS.iter().chain(more).map(|flag| (*flag).to_owned()).collect();
        flags.push(format!("--user-data-dir={}", browser._profile.path().display()));
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = ask("POST", &sessions, &wanted);
        browser.session = format!("{sessions}/{}", session["sessionId"].as_str().unwrap());
        browser.go(url);
        browser
    }

    /// Opens another page.
    pub(crate) fn go(&self, url: &str) {
        self.ask("url", &json!({ "url": url }));
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        ask("POST", &format!("{}/{path}", self.session), body)
    }

    /// What the body of a function returns, or the promise that it returns resolves to.
    pub(crate) fn run(&self, body: &str) -> Value {
        self.ask("execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.run(&format!("return Boolean({expression})")) != true {
            if Instant::now() > deadline {
                panic!("it stays false: {expression}\n{}", self.run("return document.body.innerText"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys, one after the other.
    pub(crate) fn press(&self, keys: &str) {
        let events = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        });
        let source = json!({ "type": "key", "id": "keyboard", "actions": events.collect::<Vec<_>>() });
        self.ask("actions", &json!({ "actions": [source] }));
    }

    /// Presses Tab until the element of a selector has the focus.
    pub(crate) fn tab_to(&self, selector: &str) {
        for _ in 0..100 {
            if self.run(&format!("return document.activeElement.matches('{selector}')")) == true {
                return;
            }
            self.press(TAB);
        }
        panic!("Tab does not reach {selector}");
    }

    /// A command of the browser's own protocol.
    pub(crate) fn command(&self, name: &str, parameters: Value) {
        self.ask("goog/cdp/execute", &json!({ "cmd": name, "params": parameters }));
    }

    /// The messages of the console since the last call: errors of scripts, violations of the policy, failed requests.
    pub(crate) fn console(&self) -> Vec<String> {
        let log = self.ask("se/log", &json!({ "type": "browser" }));
        let messages = log.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap());
        // The browser ends all requests, also those on loopback, when tests beside this one make or remove a network.
        messages.filter(|it| !it.ends_with("net::ERR_NETWORK_CHANGED")).map(str::to_owned).collect()
    }
}

fn ask(method: &str, url: &str, body: &Value) -> Value {
    let body = ("application/json", body.to_string().into_bytes());
    let mut answer = send(method, url, &[], Some(body)).unwrap();
    assert_eq!(answer.status, 200, "{url}: {}", answer.text);
    answer.json["value"].take()
}

/// A driver and its port. It takes a free port of IPv6, and ends where something else has the same port of IPv4: the next
/// one takes another.
fn start_driver() -> (Child, u16) {
    (0..20).find_map(|_| try_driver()).expect("chromedriver finds no port that is free for IPv6 and IPv4")
}

/// Nothing if the driver ends because of its port.
fn try_driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = lines(driver.stdout.take().unwrap());
    let mut said = String::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => match port(&line) {
                Some(port) => return Some((driver, port)),
                None => said += &format!("{line}\n"),
            },
            Err(error) => {
                driver.kill().ok();
                driver.wait().unwrap();
                assert!(
                    said.contains("port not available"),
                    "chromedriver does not say its port: {error}\n{said}"
                );
                return None;
            }
        }
    }
}

/// The port in the line that says that the driver is ready.
fn port(line: &str) -> Option<u16> {
    line.split("successfully on port ").nth(1)?.trim_end_matches('.').parse().ok()
}
