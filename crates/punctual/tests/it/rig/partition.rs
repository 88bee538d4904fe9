//! Links cut under load: between a node and its database, a node and its provider, a site and central; both ways, one
//! way, and for connections that are open alone.

use std::time::Duration;

use punctual_testkit::{
    Proxy,
    history::stored::Stored,
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::Cluster,
    load::Load,
    needs_root,
    network::{Link, Network},
    scene::{Scene, configure, now, pause},
};
use crate::{
    receiver::Receiver,
    server::{Place, Server},
    site::{Agent, make_site},
};

const KINDS: [&str; 5] = [
    "database cut off",
    "database one way",
    "database silent on open connections",
    "provider cut off",
    "replies of the provider lost",
];
const AT_SITES: [&str; 3] = ["central cut off from a site", "replies to a site lost", "provider cut off"];

/// One node in the namespace and one beside the database, which takes over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_partition_r09_r11_a_node_that_is_cut_off_loses_nothing() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("partition", "postgres", KINDS.len(), 500);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &of_a_node(round).await);
    }
}

async fn of_a_node(round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let network = Network::start();
    let cluster = Cluster::start("").await;
    let proxy =
        Proxy::start_at(&network.outside(Link::Database), format!("127.0.0.1:{}", cluster.port)).await;
    let receiver = Receiver::at(&network.outside(Link::Provider), Duration::from_millis(50)).await;
    let place = inside(&network);
    let through = cluster.url().replacen(
        &format!("127.0.0.1:{}", cluster.port),
        proxy.url.strip_prefix("http://").unwrap(),
        1,
    );
    let cut_off = place.try_start_on(&through, &["--node", "cut-off"]).unwrap();
    configure(&cut_off, &receiver.url).await;
    let beside = Place::sqlite();
    // The same key, so that both can read what the first one sealed.
    std::fs::copy(place.folder().join("master.key"), beside.folder().join("master.key")).unwrap();
    let beside = beside.try_start_on(&cluster.url(), &["--node", "beside"]).unwrap();
    let load = Load::start(vec![cut_off.address.clone(), beside.address.clone()], 4);
    let mut scene = Scene::under(load, receiver, Stored::at(cluster.url()));
    let first = usize::try_from(random.below(KINDS.len() as u64)).unwrap();
    for kind in KINDS.iter().cycle().skip(first).take(KINDS.len()) {
        if scene.faults() >= round.left {
            break;
        }
        pause(300 + random.below(400)).await;
        let time = 500 + random.below(4_500);
        if *kind == KINDS[2] {
            proxy.silence_established();
        } else {
            disturb(&network, kind, time).await;
        }
        scene.injected(kind);
        let ended = now();
        is_ready(&cut_off).await;
        scene.recovered(ended).await;
    }
    scene.judge().await
}

/// A place whose servers run in the namespace.
fn inside(network: &Network) -> Place {
    let mut place = Place::sqlite();
    place.wrapper = network.wrapper();
    place.listen = format!("{}:0", network.inside(Link::Clients));
    place
}

async fn is_ready(server: &Server) {
    server
        .until("the node to be ready again", async |server| {
            let asked =
                server.client.get(format!("{}/readyz", server.address)).timeout(Duration::from_secs(2));
            asked.send().await.ok().filter(|answer| answer.status().is_success())
        })
        .await;
}

async fn disturb(network: &Network, kind: &str, millis: u64) {
    let link = match kind {
        "provider cut off" | "replies of the provider lost" => Link::Provider,
        "central cut off from a site" | "replies to a site lost" => Link::Clients,
        _ => Link::Database,
    };
    let is_one_way = kind.contains("one way") || kind.contains("lost");
    for is_on in [true, false] {
        if is_one_way {
            network.swallow_replies(link, is_on);
        } else {
            network.cut(link, is_on);
        }
        pause(if is_on { millis } else { 0 }).await;
    }
}

/// Central in the namespace, the agent outside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_partition_r14_r15_a_site_that_is_cut_off_loses_nothing() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("partition", "site", AT_SITES.len(), 500);
    while let Some(round) = rig.next_round() {
        let mut random = Random::new(round.seed);
        let network = Network::start();
        let receiver = Receiver::at(&network.outside(Link::Provider), Duration::from_millis(20)).await;
        let place = inside(&network);
        let server = place.start(&[]);
        configure(&server, &receiver.url).await;
        let token = make_site(&server, "plant-7").await;
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent::start(folder.path(), &server.address, &token, &["--batch", "100"]);
        let load = Load::at_site(agent.address.clone());
        let mut scene = Scene::under(load, receiver, Stored::at(place.database_url()));
        for kind in AT_SITES {
            if scene.faults() >= round.left {
                break;
            }
            pause(200 + random.below(300)).await;
            disturb(&network, kind, 500 + random.below(3_000)).await;
            scene.injected(kind);
            scene.recovered(now()).await;
        }
        scene.backlog_is_empty(&agent.address).await;
        rig.judged(round, &scene.judge().await);
    }
}

/// The guard is the mark of a call whose answer was lost. Without it the repeat must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_partition_control_repeats_without_a_mark_are_found() {
    if needs_root() {
        return;
    }
    let network = Network::start();
    let receiver = Receiver::at(&network.outside(Link::Provider), Duration::from_millis(50)).await;
    let place = inside(&network);
    let server = place.start(&[]);
    configure(&server, &receiver.url).await;
    let load = Load::start(vec![server.address.clone()], 4);
    let mut scene = Scene::under(load, receiver, Stored::at(place.database_url()));
    scene.recovered(now()).await;
    // Longer than a call may take: replies that are only late are read in the end.
    disturb(&network, "replies of the provider lost", 4_000).await;
    scene.recovered(now()).await;
    let unmarked = scene.judge_with(|history| history.stored.iter_mut().for_each(|one| one.uncertain = 0));
    let verdict = unmarked.await.judgement;
    assert!(!verdict.unmarked.is_empty(), "replies were lost and nothing was repeated: {verdict:?}");
}
