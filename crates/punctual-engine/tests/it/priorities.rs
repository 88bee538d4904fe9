//! An alarm is not held back: not by a campaign on the same channel, not by hours, not by what somebody had today.

use punctual_model::Priority;
use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::arrivals::receiving;

on_both! {
    an_alarm_goes_before_a_hundred_thousand_rows_of_a_campaign;
}

async fn an_alarm_goes_before_a_hundred_thousand_rows_of_a_campaign(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "mail");
    bed.channel("mail:default", "mail").await;
    let with = |priority: Priority, address: String| {
        let mut new = bed.message_over("mail:default", &[&address]);
        new.priority = priority.number();
        new
    };
    for thousand in 0..100 {
        let rows = (0..1_000).map(|n| with(Priority::Campaign, format!("{thousand}-{n}@example.org")));
        bed.accept(rows.collect()).await;
    }
    bed.engine.delivery_tick(bed.now(), 16).await.unwrap();
    bed.accept_one(with(Priority::Normal, "normal@example.org".into())).await;
    bed.accept_one(with(Priority::High, "high@example.org".into())).await;
    bed.accept_one(with(Priority::Alarm, "alarm@example.org".into())).await;
    for expected in ["alarm@example.org", "high@example.org", "normal@example.org"] {
        let report = bed.engine.delivery_tick(bed.now(), 1).await.unwrap();
        assert_eq!(report.delivered, 1);
        assert_eq!(arrivals.addresses().last().unwrap(), expected);
    }
    // Where a limit is nearly used up by the campaign, the alarm finds a free slot.
    bed.channel_with_policy("mail:default", "mail", json!({ "rates": [{ "max": 50, "per": "1d" }] })).await;
    bed.tick().await;
    let before = arrivals.count();
    bed.accept_one(with(Priority::Alarm, "second@example.org".into())).await;
    bed.tick().await;
    assert_eq!(arrivals.count(), before + 1);
    assert_eq!(arrivals.addresses().last().unwrap(), "second@example.org");
    bed.leaves_open("the campaign goes on");
}
