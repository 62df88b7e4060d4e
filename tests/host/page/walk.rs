//! Walks through the page in a browser, over a service in this process; `host::stand_in` says what its runner leaves out.

use std::time::Duration;

use serde_json::json;

use crate::harness::browser::{Browser, DOWN, ENTER, ESCAPE};
use crate::host::service::{Host, KEY};
use crate::host::stand_in::Fault;
use crate::host::{created, deployed, image};

/// What would be run if it were parsed as HTML.
const HOSTILE: &str = "</pre></li><img src=x onerror=\"window.ran=1\"><script>window.ran=1</script>";

/// The same as an address, in a link.
const ADDRESS: &str = "https://example.com/\"><script>window.ran=1</script>";

const LIST: &str = "!document.getElementById('list').hidden";
const DETAIL: &str = "!document.getElementById('detail').hidden";

fn signed_in(host: &Host) -> Browser {
    let browser = Browser::open(&host.url());
    browser.until("document.activeElement.id === 'key'");
    browser.press(&format!("{KEY}{ENTER}"));
    browser.until(LIST);
    browser
}

/// An expression: whether the text of an element is this.
fn reads(selector: &str, text: &str) -> String {
    format!("document.querySelector({selector:?})?.textContent === {text:?}")
}

/// Opens the only deployment with the keyboard.
fn open_first(browser: &Browser) {
    browser.until("document.querySelector('[data-row]')");
    browser.tab_to("[data-row]");
    browser.press(ENTER);
    browser.until(DETAIL);
}

fn narrow(browser: &Browser) {
    let screen = json!({ "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false });
    browser.command("Emulation.setDeviceMetricsOverride", screen);
}

/// Fails if the page scrolls sideways.
fn fits(browser: &Browser) {
    let beyond =
        browser.run("const page = document.documentElement; return page.scrollWidth - page.clientWidth");
    assert_eq!(beyond, 0, "{}", browser.run("return document.body.innerText"));
}

fn has_no_errors(browser: &Browser) {
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn only_a_valid_key_signs_in_and_it_is_nowhere_in_the_page() {
    let host = Host::start(|_| {});
    let browser = Browser::open(&host.url());
    browser.until("document.activeElement.id === 'key'");
    browser.press(&format!("wrong{ENTER}"));
    browser.until(&reads("#key-error", "The service does not accept this key."));
    let console = browser.console();
    // The browser reports the refused request by itself.
    assert!(console.len() == 1 && console[0].contains("401"), "{console:?}");
    browser.press(&format!("{KEY}{ENTER}"));
    browser.until(LIST);
    browser.until("document.getElementById('none').textContent.startsWith('There are no deployments')");
    let places = browser.run(
        "return [location.href, document.documentElement.outerHTML, document.cookie, JSON.stringify(localStorage),
             ...[...document.querySelectorAll('input')].map((input) => input.value),
             ...performance.getEntries().map((entry) => entry.name)].join()",
    );
    let places = places.as_str().unwrap();
    assert!(places.contains("/v2/deployments?limit=") && !places.contains(KEY), "{places}");

    browser.run("location.reload()");
    browser.until(LIST);
    browser.tab_to("#sign-out");
    browser.press(ENTER);
    browser.until("document.activeElement.id === 'key' && sessionStorage.length === 0");
    has_no_errors(&browser);
}

#[test]
fn rejected_key_and_lost_connection_are_told() {
    let host = Host::start(|_| {});
    created(&host, "app");
    let browser = signed_in(&host);
    browser.run("sessionStorage.setItem('agentcli-host-key', 'revoked')");
    browser.until(&reads("#key-error", "The service does not accept the key any more."));
    browser.press(&format!("{KEY}{ENTER}"));
    browser.until(LIST);
    drop(host);
    browser.until("/^Connection lost\\. Retrying in \\d+ s\\.$/.test(document.getElementById('connection').textContent)");
    // What was shown last stays.
    browser.until("document.getElementById('retry').offsetHeight > 0");
    browser.until(&reads("tbody [data-row]", "app"));
    narrow(&browser);
    fits(&browser);
}

#[test]
fn deployment_appears_changes_and_streams_its_log() {
    let host = Host::start(|knobs| {
        knobs.runner.heartbeat = Some(Duration::from_millis(30));
        knobs.runner.faults = vec![(2, Fault::Stall)];
    });
    let browser = signed_in(&host);
    browser.run("window.isSamePage = true");
    let id = created(&host, "app");
    browser.until(&reads("tbody .status", "No revision"));
    deployed(&host, &id, &image('1'));
    browser.until(&reads("tbody .status", "Deployed"));
    browser.until(&reads("tbody td:nth-child(3)", "#1"));
    open_first(&browser);
    let lines = "document.querySelectorAll('#log li').length";
    browser.until(&format!("{lines} > 3"));
    let count = browser.run(&format!("return {lines}"));
    browser.until(&format!("{lines} > {count} + 10"));

    browser.tab_to("#text");
    browser.press("heartbeat 1");
    let spans = "[...document.querySelectorAll('#log li span')]";
    browser.until(&format!(
        "{spans}.length > 1 && {spans}.every((span) => span.textContent.includes('heartbeat 1'))"
    ));
    browser.run("document.getElementById('level').focus()");
    browser.press("CRIT");
    browser.until(&reads("#silent", "No entries match."));

    let second = deployed(&host, &id, &image('2'));
    browser.until(&reads("#revision-title", "Revision #2"));
    browser.until(&reads("#facts div:nth-child(2) dd", "revision #1"));
    browser.tab_to("#interrupt");
    browser.press(ENTER);
    browser.until("document.activeElement.id === 'proceed'");
    browser.press(ESCAPE);
    browser.until("!document.getElementById('confirm').open && document.activeElement.id === 'interrupt'");
    browser.press(&format!("{ENTER}{ENTER}"));
    browser.until(&reads("#revision-state", "Interrupted"));
    browser.until(&reads("#announcer", "app: Interrupted"));
    assert_eq!(host.expect(200, "GET", &second, None)["status"], "INTERRUPTED");
    assert_eq!(browser.run("return window.isSamePage"), true);
    has_no_errors(&browser);
}

#[test]
fn keyboard_alone_rolls_back() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    for digit in ['1', '2'] {
        let revision = deployed(&host, &id, &image(digit));
        host.until(&revision, |it| it["status"] == "DEPLOYED");
    }
    let browser = signed_in(&host);
    open_first(&browser);
    browser.until(&reads("#revision-title", "Revision #2"));
    browser.tab_to("#revisions [data-row]");
    browser.press(&format!("{DOWN}{ENTER}"));
    browser.until(&reads("#revision-title", "Revision #1"));
    browser.tab_to("#redeploy");
    assert_eq!(browser.run("return document.activeElement.textContent"), "Roll back to this…");
    browser.press(ENTER);
    browser.until(&reads("#confirm-title", "Roll back app to revision #1?"));
    browser.press(ENTER);
    browser.until(&reads("#revision-title", "Revision #3"));
    browser.until(&reads("#revision-state", "Deployed"));
    browser.until(&reads("#revisions li:first-child .tag", "serves"));
    browser.until(&reads("#facts div:nth-child(2) dd", "revision #3"));
    let active = host.expect(200, "GET", &format!("/v2/deployments/{id}"), None);
    assert_eq!(active["source_revision_config"]["image_uri"], image('1'));
    assert_eq!(active["active_revision_id"], active["latest_revision_id"]);
    has_no_errors(&browser);
}

#[test]
fn reasons_logs_and_addresses_are_text() {
    let host = Host::start(|knobs| {
        knobs.is_self_hosted = true;
        knobs.runner.lines = &[HOSTILE, "\u{1b}[31mred\u{1b}[0m"];
        knobs.runner.faults = vec![(2, Fault::Deploy(HOSTILE))];
    });
    let creation = json!({
        "name": "app",
        "source": "external_container",
        "source_config": { "custom_url": ADDRESS },
        "source_revision_config": { "image_uri": image('1') },
        "secrets": [],
    });
    let id = host.expect(201, "POST", "/v2/deployments", Some(&creation))["id"].as_str().unwrap().to_owned();
    let browser = signed_in(&host);
    open_first(&browser);
    for line in [HOSTILE, "red"] {
        let is_shown = format!(
            "[...document.querySelectorAll('#log li span')].some((it) => it.textContent === {line:?})"
        );
        browser.until(&is_shown);
    }
    let shown = browser.run("return document.querySelector('#facts dd').textContent");
    assert_eq!(shown, ADDRESS.strip_prefix("https://").unwrap());
    deployed(&host, &id, &image('2'));
    browser.until("document.getElementById('reason').textContent");
    let reason = browser.run("return document.getElementById('reason').textContent");
    assert!(reason.as_str().unwrap().contains(HOSTILE), "{reason}");
    browser.until(&reads("#revision-state", "Deploy failed"));
    let parsed = "return document.querySelectorAll('main :is(img, script), [href^=javascript]').length";
    assert_eq!(browser.run(parsed), 0);
    assert_eq!(browser.run("return typeof window.ran"), "undefined");
    has_no_errors(&browser);
}

#[test]
fn deployment_is_deleted_only_by_its_name() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let browser = signed_in(&host);
    open_first(&browser);
    browser.tab_to("#delete");
    browser.press(&format!("{ENTER}another{ENTER}"));
    browser.until(&reads("#confirm-error", "This is not the name of the deployment."));
    host.expect(200, "GET", &format!("/v2/deployments/{id}"), None);
    browser.press(&format!("{ESCAPE}{ENTER}app{ENTER}"));
    browser.until(&format!("{LIST} && !document.querySelector('[data-row]')"));
    host.expect(404, "GET", &format!("/v2/deployments/{id}"), None);
    has_no_errors(&browser);
}

#[test]
fn narrow_screens_do_not_scroll_sideways() {
    let long = "long".repeat(200);
    let host = Host::start(|knobs| {
        let long: &'static str = long.clone().leak();
        knobs.runner.lines = vec![long].leak();
        knobs.runner.faults = vec![(2, Fault::Deploy(long))];
    });
    let id = created(&host, &"n".repeat(63));
    let revision = deployed(&host, &id, &image('1'));
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    let browser = Browser::open(&host.url());
    for scheme in ["light", "dark"] {
        narrow(&browser);
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        browser.command("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        browser.until("document.activeElement.id === 'key'");
        fits(&browser);
        browser.press(&format!("{KEY}{ENTER}"));
        browser.until("document.querySelector('[data-row]')");
        fits(&browser);
        open_first(&browser);
        browser.until("document.querySelector('#log li')");
        fits(&browser);
        let failed = deployed(&host, &id, &image('2'));
        host.until(&failed, |it| it["status"] == "DEPLOY_FAILED" || it["status"] == "DEPLOYED");
        browser.until("document.querySelectorAll('#revisions li').length > 1");
        fits(&browser);
        browser.run("document.getElementById('delete').click()");
        fits(&browser);
        browser.press(ESCAPE);
        browser.run("document.getElementById('sign-out').click()");
    }
    has_no_errors(&browser);
}
