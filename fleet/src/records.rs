//! What is in the store, one JSON object a key.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `want/SWITCH`: the rules that a switch is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// The revision that they lead to.
    pub revision: u64,
    /// Their hash.
    pub hash: String,
}

/// `ack/SWITCH`: what a switch has. It is there as long as the switch says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ack {
    /// Hash of the rules in its data path; none without rules.
    pub hash: Option<String>,
    /// The revision that they were wanted by; none if they came another way.
    pub revision: Option<u64>,
    /// Why it does not have what is wanted.
    pub error: Option<String>,
    /// The program's version.
    pub version: String,
    /// How often it has lost the store since it started.
    pub losses: u64,
}

/// `seen/SWITCH`: what a switch sees around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// Its level, if it learns one.
    pub level: Option<u8>,
    /// By port number: its own ports' names, as neighbors see them.
    pub ports: BTreeMap<usize, String>,
    /// By port number: who is there.
    pub neighbors: BTreeMap<usize, Neighbor>,
    /// Queues that hold frames which the peer has paused: port number and priority of the queue,
    /// and of the buffers whose frames are in it.
    pub waits: Vec<Wait>,
    /// What an operator should know, in one line each.
    pub alarms: Vec<String>,
    /// Lossless frames that were dropped since it started.
    pub lossless_drops: u64,
}

/// The other end of a link, by LLDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbor {
    /// Its name, or its chassis id.
    pub name: String,
    /// Its port id, as it says it.
    pub port: String,
}

/// A queue that waits, and what waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The out port's number.
    pub port: usize,
    /// The egress priority.
    pub priority: usize,
    /// For how long, in milliseconds.
    pub ms: u64,
    /// In ports and ingress priorities of its frames that have paused their peers.
    pub origins: Vec<(usize, usize)>,
}

/// `network`: NETWORK.toml, and the path file that it names as `paths.txt`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkFiles {
    /// The text of NETWORK.toml.
    pub network: String,
    /// The text of the path file.
    pub paths: Option<String>,
}
