//! A real Chromium without a window, driven over its debugging pipe: no driver program and no port in between.

use std::{path::PathBuf, process::Stdio, time::Duration};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::Instant,
};

/// How long anything may take that a page does by itself; four browsers that start at once on a busy machine take long.
const PATIENCE: Duration = Duration::from_secs(90);

/// The browser with one page.
pub struct Chromium {
    _child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The page's session.
    page: Option<String>,
    sent: u64,
    /// What the page reported by itself since the last look: errors, requests, loads.
    pub events: Vec<Value>,
    _profile: TempDir,
}

/// Where the browser is: `PUNCTUAL_TEST_CHROMIUM`, or the usual names.
fn program() -> PathBuf {
    if let Some(chosen) = std::env::var_os("PUNCTUAL_TEST_CHROMIUM") {
        return chosen.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file());
    found.expect("this test wants a Chromium: apt-get install chromium, or set PUNCTUAL_TEST_CHROMIUM to one")
}

#[expect(clippy::disallowed_methods, reason = "a real browser on real time")]
fn end_of_patience() -> Instant {
    Instant::now() + PATIENCE
}

impl Chromium {
    pub async fn start() -> Self {
        // Which tests drive a browser is a filter of names in `.config/nextest.toml`; one that it misses would run beside others.
        if let Ok(group) = std::env::var("NEXTEST_TEST_GROUP") {
            assert_eq!(group, "browser", "name the test so that the group of browsers has it");
        }
        let profile = tempfile::tempdir().unwrap();
        // The pipe is at descriptors 3 and 4; a shell puts our ends there.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1"])
            .arg(program())
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
            ])
            .args(["--disable-extensions", "--disable-sync", "--no-proxy-server"])
            // Input counts from the first moment of a page, and a page that nobody looks at is not slowed down.
            .args([
                "--allow-pre-commit-input",
                "--disable-background-timer-throttling",
                "--disable-backgrounding-occluded-windows",
                "--disable-renderer-backgrounding",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser =
            Self { _child: child, to, from, page: None, sent: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" })).await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach).await;
        browser.page = session["sessionId"].as_str().map(str::to_owned);
        for part in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{part}.enable"), json!({})).await;
        }
        browser
    }

    /// The next message before this moment: a page that talks all the time must not keep a test waiting for what never comes.
    async fn message(&mut self, awaited: &str, end: Instant) -> Value {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout_at(end, self.from.read_until(0, &mut bytes)).await;
        let read = read.unwrap_or_else(|_| {
            panic!("no {awaited} within {PATIENCE:?}; last came {:?}", self.events.last())
        });
        assert!(read.unwrap() > 0, "Chromium ended");
        bytes.pop();
        serde_json::from_slice(&bytes).unwrap()
    }

    async fn try_call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(page) = &self.page {
            command["sessionId"] = json!(page);
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).await.unwrap();
        let end = end_of_patience();
        loop {
            let mut message = self.message(method, end).await;
            if message["id"] != self.sent {
                self.events.push(message);
                continue;
            }
            return match message["error"].take() {
                Value::Null => Ok(message["result"].take()),
                error => Err(error),
            };
        }
    }

    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The size of the window, and whether it is a phone's.
    pub async fn size(&mut self, width: u32, height: u32) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    pub async fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }, { "name": "prefers-reduced-motion", "value": "reduce" }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    pub async fn go(&mut self, address: &str) {
        self.forget_loads();
        self.call("Page.navigate", json!({ "url": address })).await;
        self.loaded().await;
    }

    fn forget_loads(&mut self) {
        self.events.retain(|message| message["method"] != "Page.loadEventFired");
    }

    async fn loaded(&mut self) {
        let end = end_of_patience();
        while !self.events.iter().any(|message| message["method"] == "Page.loadEventFired") {
            let message = self.message("load of a page", end).await;
            self.events.push(message);
        }
    }

    /// What an expression gives, once it is settled.
    pub async fn eval(&mut self, expression: &str) -> Value {
        self.try_eval(expression).await.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    async fn try_eval(&mut self, expression: &str) -> Result<Value, Value> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.try_call("Runtime.evaluate", params).await?;
        match answer["exceptionDetails"].take() {
            Value::Null => Ok(answer["result"]["value"].take()),
            fault => Err(fault),
        }
    }

    /// Waits until the field of this name has the focus: a page gives it in its first frame, which may come after its load.
    pub async fn is_in(&mut self, name: &str) {
        self.until(&format!("document.activeElement?.name === '{name}'")).await;
    }

    /// Waits until an expression is true, also over a change of pages.
    pub async fn until(&mut self, condition: &str) {
        let wait = format!(
            "new Promise((done) => {{ const end = Date.now() + 15000; const look = () => {{ if ({condition}) done(true); \
             else if (Date.now() > end) done(false); else setTimeout(look, 30); }}; look(); }})"
        );
        for _ in 0..20 {
            match self.try_eval(&wait).await {
                Ok(Value::Bool(true)) => return,
                Ok(_) => break,
                // The page went away under the question; the next one is asked again.
                Err(_) => {}
            }
        }
        let page = self.eval("document.body.innerText").await;
        panic!("in vain: {condition}\n{}", page.as_str().unwrap_or_default());
    }

    /// Clicks on the first element that matches.
    pub async fn click(&mut self, selector: &str) {
        self.click_on(&format!("document.querySelector({selector:?})")).await;
    }

    /// Clicks in the middle of the element that this expression finds, or of its first line, as a person would. What is live on a page may be
    /// replaced at any moment, so the element is looked for each time, and a click that did not meet it is made again.
    pub async fn click_on(&mut self, find: &str) {
        // A fault inside a frame's callback would leave the promise open for ever.
        let aim = format!(
            "new Promise((done) => {{ const end = Date.now() + 5000; const aim = () => {{ try {{ const e = {find}; \
             if (!e) return Date.now() < end ? setTimeout(aim, 30) : done(null); \
             e.scrollIntoView({{ block: 'center' }}); window.met = false; \
             addEventListener('click', (click) => {{ window.met = (e.closest('label') ?? e).contains(click.target); }}, {{ capture: true, once: true }}); \
             const r = e.getClientRects()[0] ?? e.getBoundingClientRect(); done([r.x + r.width / 2, r.y + r.height / 2]); \
             }} catch (fault) {{ done(String(fault)); }} }}; requestAnimationFrame(() => requestAnimationFrame(aim)); }})"
        );
        for _ in 0..20 {
            let place = self.eval(&aim).await;
            assert!(place.is_array(), "nothing to click on: {find}: {place}");
            for kind in ["mousePressed", "mouseReleased"] {
                let event =
                    json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
                self.call("Input.dispatchMouseEvent", event).await;
            }
            // Where the click led to another page, that page knows of none, or nobody is there to answer yet.
            match self.try_eval("window.met").await {
                Ok(Value::Bool(false)) => {}
                _ => return,
            }
        }
        panic!("no click meets {find}");
    }

    /// Clicks something that leads to another page.
    pub async fn follow(&mut self, selector: &str) {
        self.follow_on(&format!("document.querySelector({selector:?})")).await;
    }

    /// The same with what this expression finds.
    pub async fn follow_on(&mut self, find: &str) {
        self.forget_loads();
        self.click_on(find).await;
        self.loaded().await;
    }

    pub async fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text })).await;
    }

    /// Presses a key: a letter or sign, `Enter`, `Escape` or `Tab`.
    pub async fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            "Escape" | "Tab" | "ArrowDown" => "",
            letter => letter,
        };
        let down = json!({ "type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", down).await;
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up).await;
    }

    /// Presses a letter with Ctrl held.
    pub async fn press_with_control(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": format!("Key{}", key.to_uppercase()), "modifiers": 2 });
            self.call("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Presses Enter where it leads to another page.
    pub async fn enter(&mut self) {
        self.forget_loads();
        self.press("Enter").await;
        self.loaded().await;
    }

    /// Keeps a picture of the window under the build folder, and where `PUNCTUAL_TEST_PICTURES` says.
    pub async fn picture(&mut self, name: &str) {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" })).await;
        let bytes = base64::prelude::BASE64_STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        let folders = [Some(env!("CARGO_TARGET_TMPDIR").into()), std::env::var_os("PUNCTUAL_TEST_PICTURES")];
        for folder in folders.into_iter().flatten() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(PathBuf::from(folder).join(format!("{name}.png")), &bytes).unwrap();
        }
    }

    /// Everything that the page complained about, and every request to another host than this.
    pub fn complaints(&self, host: &str) -> Vec<&Value> {
        let is_bad = |message: &&Value| match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Log.entryAdded" => message["params"]["entry"]["level"] != "verbose",
            "Runtime.consoleAPICalled" => true,
            "Network.requestWillBeSent" => {
                let address = message["params"]["request"]["url"].as_str().unwrap_or_default();
                !address.starts_with(host) && !address.starts_with("data:") && !address.starts_with("about:")
            }
            _ => false,
        };
        self.events.iter().filter(is_bad).collect()
    }
}
