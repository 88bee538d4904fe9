//! `punctual site`, `notify`, `status` and `site log` as a shell script uses them, with a real server behind.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Place, Server, binary};

/// A running agent.
pub struct Agent {
    pub child: Child,
    pub address: String,
}

impl Agent {
    /// Starts an agent on this folder and waits until it listens.
    pub fn start(folder: &Path, central: &str, token: &str, more: &[&str]) -> Self {
        Self::start_with(&[], folder, central, token, more)
    }

    /// The same with more variables in its environment.
    pub fn start_with(
        environment: &[(String, String)],
        folder: &Path,
        central: &str,
        token: &str,
        more: &[&str],
    ) -> Self {
        let mut command = Command::new(binary());
        command.args(["site", "--listen", "127.0.0.1:0", "--central", central]);
        command.args(["--retry-every", "1s", "--request-time", "5s", "--reserve-bytes", "65536"]);
        command.arg("--data-dir").arg(folder).args(more).current_dir(folder);
        command.env("PUNCTUAL_SITE_TOKEN", token).env("PUNCTUAL_LOG", "error");
        command.envs(environment.iter().cloned());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("the agent ended before it listened").unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let address = first.strip_prefix("Site agent listens on ").expect("the first line names the address");
        Self { child, address: address.to_owned() }
    }

    /// SIGKILL: no destructor, no last words.
    pub fn kill(mut self) {
        self.kill_now();
    }

    pub fn kill_now(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub async fn make_site(server: &Server, id: &str) -> String {
    let (status, made) = server.post("/api/v1/sites", &json!({ "id": id })).await.unwrap();
    assert_eq!(status, 201, "{made}");
    made["token"].as_str().unwrap().to_owned()
}

fn run(site: &str, args: &[&str], stdin: Option<&str>) -> Output {
    let mut command = Command::new(binary());
    command.args(args).env("PUNCTUAL_SITE_URL", site).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Closed when dropped, so that a command which reads it comes to an end.
    let mut input = child.stdin.take().unwrap();
    if let Some(text) = stdin {
        input.write_all(text.as_bytes()).unwrap();
    }
    drop(input);
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_script_notifies_waits_and_asks() {
    for place in [Place::sqlite(), Place::postgres().await] {
        let server = place.start(&[]);
        let list = json!({ "type": "memory", "targets": ["someone"] });
        server.put("/api/v1/lists/ops", &list).await;
        let token = make_site(&server, "plant-7").await;
        let folder = TempDir::new().unwrap();
        let addresses = folder.path().join("where");
        let agent = Agent::start(
            folder.path(),
            &server.address,
            &token,
            &["--address-file", addresses.to_str().unwrap()],
        );
        assert_eq!(format!("http://{}", std::fs::read_to_string(&addresses).unwrap().trim()), agent.address);

        let taken = run(&agent.address, &["notify", "--to", "ops", "--subject", "S"], Some("1.8 bar\n"));
        assert_eq!(taken.status.code(), Some(0), "{taken:?}");
        let id = out(&taken);
        let waited = ["notify", "--to", "ops", "--subject", "S", "--body", "B", "--wait", "--json"];
        let waited = run(&agent.address, &waited, None);
        assert_eq!(waited.status.code(), Some(0), "{waited:?}");
        let status: Value = serde_json::from_str(&out(&waited)).unwrap();
        assert_eq!((&status["status"], &status["retryCount"]), (&"delivered".into(), &1.into()), "{status}");
        let row = server.get(&format!("/api/v1/notifications/{id}")).await.1;
        assert_eq!((&row["body"], &row["source"]["site"]), (&"1.8 bar".into(), &"plant-7".into()), "{row}");
        let asked = run(&agent.address, &["status", &id], None);
        assert!(asked.status.success() && out(&asked).contains("delivered"), "{asked:?}");

        // What will not arrive, what is not known and what is wrong have codes of their own.
        let nobody = ["notify", "--to", "nobody", "--subject", "S", "--body", "B", "--wait"];
        let parked = run(&agent.address, &nobody, None);
        assert_eq!(parked.status.code(), Some(3), "{parked:?}");
        assert!(out(&parked).contains("parked"), "{parked:?}");
        let unknown = run(&agent.address, &["status", "00000000-0000-4000-8000-000000000000"], None);
        assert_eq!(
            (unknown.status.code(), out(&unknown).contains("unknown")),
            (Some(1), true),
            "{unknown:?}"
        );
        let wrong = run(&agent.address, &["notify", "--to", "ops", "--subject", "a\nb", "--body", "B"], None);
        assert_eq!(wrong.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&wrong.stderr).contains("subject_invalid"), "{wrong:?}");
        assert_eq!(run(&agent.address, &["notify", "--to", "ops"], None).status.code(), Some(2));
        server.kill();

        // Without central: taken in, forwarding, and in the log.
        let waited = [&nobody[..], &["--timeout", "2s"]].concat();
        assert_eq!(run(&agent.address, &waited, None).status.code(), Some(4));
        let folder_flag = folder.path().to_str().unwrap().to_owned();
        let log = run("", &["site", "log", "--data-dir", &folder_flag, "--json"], None);
        let entry: Value = serde_json::from_str(out(&log).lines().next().unwrap()).unwrap();
        assert_eq!(entry["kind"], "forward-failed", "{log:?}");
        agent.kill();
        let after = run("", &["site", "log", "--data-dir", &folder_flag], None);
        assert!(out(&after).contains("forward-failed"), "the log is read without an agent too: {after:?}");
        let gone = run("http://127.0.0.1:9", &["notify", "--to", "o", "--subject", "S", "--body", "B"], None);
        assert_eq!(gone.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&gone.stderr).contains("is `punctual site` running?"), "{gone:?}");
    }
}

#[test]
fn an_agent_that_cannot_be_right_does_not_start() {
    let folder = TempDir::new().unwrap();
    let start = |args: &[&str]| {
        let mut command = Command::new(binary());
        command.arg("site").args(args).current_dir(folder.path()).env_remove("PUNCTUAL_SITE_TOKEN");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(start(&[]).contains("--central"));
    assert!(start(&["--central", "http://127.0.0.1:9"]).contains("--token-file"));
    let elsewhere = start(&["--central", "http://127.0.0.1:9", "--token", "t", "--listen", "0.0.0.0:0"]);
    assert!(elsewhere.contains("reached from elsewhere"), "{elsewhere}");
    assert!(start(&["--central", "central.example", "--token", "t"]).contains("https://"));
}

/// The example in the handbook between these fences, with the agent's address put in.
fn example(language: &str, agent: &Agent) -> String {
    let handbook = include_str!("../../../../docs/sites.md");
    let code = handbook.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```").next());
    code.unwrap().replace("http://127.0.0.1:8081", &agent.address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_the_handbook_work() {
    let python = std::env::var("PUNCTUAL_TEST_PYTHON").expect("`cargo xtask test` sets PUNCTUAL_TEST_PYTHON");
    let folder = TempDir::new().unwrap();
    // Central is away, which scripts need not care about.
    let agent = Agent::start(folder.path(), "http://127.0.0.1:9", "punctual_site_none", &[]);
    let python = Command::new(python).args(["-c", &example("python", &agent)]).output().unwrap();
    assert!(python.status.success(), "{python:?}");
    assert_eq!(out(&python), "forwarding");
    let programs = binary().parent().unwrap().to_owned();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let shell = example("sh", &agent).replace("--timeout 2m", "--timeout 1s");
    let mut command = Command::new("sh");
    command.args(["-c", &shell]).env("PATH", path).env("PUNCTUAL_SITE_URL", &agent.address);
    let shell = command.output().unwrap();
    assert_eq!(shell.status.code(), Some(4), "the last one waits in vain: {shell:?}");
    assert_eq!(out(&shell).lines().filter(|line| line.contains("forwarding")).count(), 2, "{shell:?}");
}
