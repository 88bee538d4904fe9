//! What will not go on by itself is one line in the log, with ids in the documented fields.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use punctual_model::{Decision, ReasonCode, SendOutcome};
use punctual_testkit::{Scripted, TestBed, TestWorkflow, new_work, on_both};
use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

on_both! {
    every_hold_park_failure_and_uncertain_attempt_is_a_warning_with_its_id;
}

/// Keeps what is logged on this thread.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Kept {
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The one warning with this message about this id.
    fn warning(&self, message: &str, field: &str, id: &str) -> Value {
        let is_it = |line: &Value| line["fields"]["message"] == message && line["fields"][field] == id;
        let found: Vec<Value> = self.lines().into_iter().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{message} with {field} {id}: {:#?}", self.lines());
        assert_eq!(found[0]["level"], "WARN");
        found[0]["fields"].clone()
    }
}

async fn every_hold_park_failure_and_uncertain_attempt_is_a_warning_with_its_id(bed: TestBed) {
    let bed = bed.with(|bed| {
        bed.workflow(TestWorkflow::new("test", |row, _| match row.key.as_str() {
            "k:hold" => Decision::Hold(ReasonCode::MessageMissing),
            _ => Decision::Fail(ReasonCode::DefinitionInvalid),
        }))
        .adapter(Scripted::new("silent", |_| SendOutcome::Uncertain { error: "no answer".into() }))
    });
    bed.channel("sms:default", "silent").await;
    let logged = Kept::default();
    let subscriber = tracing_subscriber::fmt().json().with_max_level(tracing::Level::WARN);
    let guard = tracing::subscriber::set_default(subscriber.with_writer(logged.clone()).finish());
    let due = bed.now();
    bed.ensure(&[new_work("test", "k:hold", due), new_work("test", "k:fail", due)]).await;
    let parked = bed.accept_one(bed.message_over("teams:nowhere", &["x"])).await;
    let uncertain = bed.accept_one(bed.message_over("sms:default", &["x"])).await;
    bed.tick().await;
    drop(guard);
    let (held, failed) = (bed.work("k:hold").await, bed.work("k:fail").await);
    assert!(held.on_hold);
    let line = logged.warning("on hold", "work.id", &held.id.to_string());
    assert_eq!(line["reason"], ReasonCode::MessageMissing.as_str());
    let line = logged.warning("failed", "work.id", &failed.id.to_string());
    assert_eq!(line["reason"], ReasonCode::DefinitionInvalid.as_str());
    let line = logged.warning("parked", "notification.id", &parked);
    assert_eq!(line["reason"], "no-channel");
    let said = "an attempt may or may not have reached its target";
    let line = logged.warning(said, "notification.id", &uncertain);
    assert_eq!((&line["channel.key"], &line["attempt"]), (&"sms:default".into(), &1.into()));
    bed.leaves_open("an uncertain attempt is repeated later, and the row on hold waits for a person");
}
