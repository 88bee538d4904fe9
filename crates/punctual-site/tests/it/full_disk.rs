//! R15 on a disk that is full: callers get an error, nothing answered is lost, and the buffer empties itself.
//!
//! It needs a file system of a few megabytes, which root can mount; where that is not possible the test says so and
//! proves nothing.

use std::{path::Path, process::Command};

use punctual_model::Clock;
use punctual_site::{NotifyError, SiteConfig};
use punctual_testkit::{TestBed, Way, on_both, scale};

use crate::rig::{Rig, message, tick};

on_both! {
    r15_a_full_disk_is_an_error_to_the_caller_and_loses_nothing;
}

/// A small file system, gone with the test.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        mounted.is_ok_and(|done| done.status.success()).then_some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

async fn r15_a_full_disk_is_an_error_to_the_caller_and_loses_nothing(bed: TestBed) {
    let Some(disk) = SmallDisk::mount(6) else {
        eprintln!("no small file system can be mounted here: nothing is proved");
        return;
    };
    let rig = Rig::new(&bed).await;
    let config = SiteConfig { reserve_bytes: 1 << 20, batch: 50, ..rig.config_in(disk.path()) };
    let agent = rig.agent_with(config).await;
    let (mut answered, mut refused) = (Vec::new(), 0);
    for cycle in 0..scale(3, 200) {
        rig.proxy.set(Way::Cut);
        // Until the disk is full, and some more.
        let mut full = 0;
        while full < 5 {
            let number = answered.len() + refused;
            match agent.notify(message("ops", format!("{number}:{}", "x".repeat(20_000)))).await {
                Ok(id) => answered.push(id),
                Err(NotifyError::Store(_) | NotifyError::Full(_)) => {
                    full += 1;
                    refused += 1;
                }
                Err(other) => panic!("{other}"),
            }
            if number.is_multiple_of(20) {
                // As the loop would: on a full disk it may fail, and nothing depends on it.
                let _ = agent.store.checkpoint().await;
            }
        }
        assert!(answered.len() > 20, "the disk was full at once");
        tick(&agent).await;
        rig.proxy.set(Way::Pass);
        for _ in 0..1_000 {
            bed.wait(10);
            tick(&agent).await;
            let _ = agent.store.checkpoint().await;
            let _ = agent.watch_tick(bed.clock.now()).await;
            if agent.health().await.unwrap().backlog == 0 {
                break;
            }
        }
        let health = agent.health().await.unwrap();
        assert_eq!(health.backlog, 0, "cycle {cycle}: {health:?}");
        assert!(health.accepting, "cycle {cycle}: {health:?}");
        assert_eq!(rig.stored().await.len(), answered.len(), "cycle {cycle}");
    }
    let stored: std::collections::HashSet<String> =
        rig.stored().await.into_iter().map(|row| row.id.to_string()).collect();
    assert!(answered.iter().all(|id| stored.contains(id)), "answered and lost");
    assert!(refused >= 15, "the disk was never full");
    bed.leaves_open("nothing ticks central");
}
