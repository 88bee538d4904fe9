//! A network of a trial's own: a namespace with one link for each neighbour, which can be cut.

use std::process::Command;

use super::cluster::succeed;

/// A neighbour of what runs in the namespace.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    Clients,
    Database,
    Provider,
}

const LINKS: [Link; 3] = [Link::Clients, Link::Database, Link::Provider];

/// A namespace. It is gone with this value.
pub struct Network {
    name: String,
    /// The first three numbers of its addresses.
    prefix: String,
}

impl Network {
    pub fn start() -> Self {
        // Each test is a process of its own.
        let own = std::process::id();
        let network = Self {
            name: format!("punctual-{own}"),
            prefix: format!("10.{}.{}", 128 + own / 256 % 100, own % 256),
        };
        network.run(&["netns", "add", &network.name]);
        network.run(&["-n", &network.name, "link", "set", "lo", "up"]);
        for link in LINKS {
            let (outer, inner) = (network.outer(link), format!("in{}", link as u8));
            network.run(&[
                "link",
                "add",
                &outer,
                "type",
                "veth",
                "peer",
                "name",
                &inner,
                "netns",
                &network.name,
            ]);
            network.run(&["addr", "add", &format!("{}/30", network.outside(link)), "dev", &outer]);
            network.run(&["link", "set", &outer, "up"]);
            let own = format!("{}/30", network.inside(link));
            network.run(&["-n", &network.name, "addr", "add", &own, "dev", &inner]);
            network.run(&["-n", &network.name, "link", "set", &inner, "up"]);
        }
        network
    }

    /// The command that runs another one in it.
    pub fn wrapper(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(str::to_owned).into()
    }

    /// The address of the neighbour.
    pub fn outside(&self, link: Link) -> String {
        format!("{}.{}", self.prefix, 4 * link as u8 + 1)
    }

    /// The address of what runs in the namespace, as this neighbour sees it.
    pub fn inside(&self, link: Link) -> String {
        format!("{}.{}", self.prefix, 4 * link as u8 + 2)
    }

    /// Cuts a link, or mends it: nothing arrives, and nobody is notified.
    pub fn cut(&self, link: Link, is_cut: bool) {
        self.run(&["link", "set", &self.outer(link), if is_cut { "down" } else { "up" }]);
    }

    /// Drops what the neighbour sends, or no longer: what is sent to it arrives.
    pub fn swallow_replies(&self, link: Link, is_so: bool) {
        let route = format!("{}/32", self.inside(link));
        self.run(&["route", if is_so { "add" } else { "del" }, "blackhole", &route]);
    }

    fn outer(&self, link: Link) -> String {
        // Names of interfaces have at most 15 characters.
        format!("pu{}-{}", std::process::id() % 10_000_000, link as u8)
    }

    fn run(&self, args: &[&str]) {
        succeed(Command::new("ip").args(args));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
        for link in LINKS {
            // It goes with the namespace, which goes with its last process.
            let gone = Command::new("ip").args(["link", "del", &self.outer(link)]).output();
            drop(gone);
        }
    }
}
