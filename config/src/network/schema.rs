//! NETWORK.toml, table by table, as it is written; the other files of this directory say what the
//! tables mean together. `config/examples/networks/` shows them in use.

use crate::fields::{Address, Cable, Dscp, Rate};
use fabric::network::generate::Kind;
use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;

/// An optional field that knows where it stands.
pub(crate) type Field<T> = Option<Spanned<T>>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkFile {
    /// The switches, in the order in which they are numbered.
    #[serde(default)]
    pub(crate) switch: Vec<Spanned<SwitchTable>>,
    /// The hosts.
    #[serde(default)]
    pub(crate) host: Vec<Spanned<HostTable>>,
    /// The links.
    #[serde(default)]
    pub(crate) link: Vec<Spanned<LinkTable>>,
    /// Instead of the three: a topology of a known kind.
    pub(crate) generate: Field<GenerateTable>,
    /// The expected lossless paths.
    pub(crate) paths: Field<PathsTable>,
}

/// `[[switch]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SwitchTable {
    /// Its name, which its rule file gets.
    pub(crate) name: Spanned<String>,
    /// Its ports are numbered 1 to this. Excludes `config`.
    pub(crate) ports: Field<i64>,
    /// Its SWITCH.toml, instead of `ports`: links name the file's ports, and `verify` and
    /// `simulate` go by what it says. All switches of a network have such a file, or none.
    pub(crate) config: Field<PathBuf>,
}

/// `[[host]]`: what has one port and forwards nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostTable {
    /// Its name.
    pub(crate) name: Spanned<String>,
    /// Its addresses. Required where switches have a `config`, and only there.
    #[serde(default)]
    pub(crate) addresses: Vec<Spanned<Address>>,
    /// Where switches have a `config`: the DSCPs with which it sends. Default: any.
    pub(crate) dscp: Field<Vec<Spanned<Dscp>>>,
}

/// `[[link]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// Two ends: `"A:3"` is port 3 of switch A, `"A:up1"` the port of that name of a switch with a
    /// `config`, `"D"` is host D.
    pub(crate) ends: Spanned<Vec<Spanned<String>>>,
    /// Its speed. Default with a `config`: that of its slower port.
    pub(crate) speed: Field<Rate>,
    /// The cable's length.
    pub(crate) length: Field<Cable>,
}

/// `[generate]`: each kind takes some of these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerateTable {
    /// Which topology.
    pub(crate) kind: Spanned<Kind>,
    /// Jellyfish: how many switches.
    pub(crate) switches: Field<i64>,
    /// Jellyfish: ports of a switch.
    pub(crate) ports: Field<i64>,
    /// Jellyfish: ports that lead to other switches; the others have hosts.
    pub(crate) network_ports: Field<i64>,
    /// Jellyfish: which of the random graphs. Default 1.
    pub(crate) seed: Field<i64>,
    /// Clos: leaves, in each pod if there are pods.
    pub(crate) leaves: Field<i64>,
    /// Clos: spines.
    pub(crate) spines: Field<i64>,
    /// Clos: pods, for three tiers. Fat-tree: how many of its `k` pods are there. Default `k`.
    pub(crate) pods: Field<i64>,
    /// Clos of three tiers: ToRs in each pod.
    pub(crate) tors: Field<i64>,
    /// Clos, HyperX, torus, mesh, Slim Fly: hosts of each switch that has hosts. Default 1.
    pub(crate) hosts: Field<i64>,
    /// Fat-tree, F10: ports of a switch. BCube: its levels, less one.
    pub(crate) k: Field<i64>,
    /// BCube: ports of a switch.
    pub(crate) n: Field<i64>,
    /// Slim Fly: a prime that is 1 modulo 4; there are 2 q q switches.
    pub(crate) q: Field<i64>,
    /// HyperX, torus, mesh: switches along each dimension.
    pub(crate) shape: Field<Vec<i64>>,
    /// The speed of every link.
    pub(crate) speed: Field<Rate>,
    /// The length of every link.
    pub(crate) length: Field<Cable>,
}

/// The kinds of path sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PathsKind {
    /// To each switch with hosts a tree of shortest paths.
    ShortestTrees,
    /// All shortest paths (ECMP).
    Shortest,
    /// Up, then down, with up to `bounces` times down and up again.
    UpDown,
    /// The `k` shortest loop-free paths of each pair.
    KShortest,
    /// All loop-free paths.
    AllSimple,
    /// One path a line.
    File,
}

/// `[paths]`: the expected lossless paths.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathsTable {
    /// Which paths.
    pub(crate) kind: Spanned<PathsKind>,
    /// `file`: where they are.
    pub(crate) file: Field<PathBuf>,
    /// `up-down`: how many bounces stay lossless. Default 0.
    pub(crate) bounces: Field<i64>,
    /// `k-shortest`: how many paths a pair.
    pub(crate) k: Field<i64>,
    /// So many random loop-free paths in addition.
    pub(crate) random: Field<i64>,
    /// Switches on a random path. Default: as many as on the longest of the other paths.
    pub(crate) random_switches: Field<i64>,
    /// Which random paths. Default 1.
    pub(crate) seed: Field<i64>,
    /// Application classes that share the tags: class i starts with tag i. Default 1.
    pub(crate) classes: Field<i64>,
    /// `up-down`, instead of `bounces`: how many bounces stay lossless, for each application class.
    /// The class with the most starts with tag 1, the next one with tag 2, and so on.
    pub(crate) class_bounces: Field<Vec<Spanned<i64>>>,
}
