//! The routes that each path needs, and the control socket of each switch.
//!
//! A path is a route to its last host's network in every switch but the last, which is connected to
//! that network. A switch forwards by destination: two paths with one prefix and different egress
//! ports in a switch cannot be in force together. Either one is removed before the other is added,
//! or each has its own prefix.

use config::{ConfigError, SwitchConfig};
use fabric::Network;
use fabric::plan::{Change, Kind, NamedPath, Order};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// An error before anything is changed: the whole message.
#[derive(Debug, thiserror::Error)]
pub(super) enum PathRoutesError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Impossible(String),
}

/// A route that a path needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RouteEntry {
    /// The switch, by its number in the network.
    pub(super) switch: u32,
    /// Where to.
    pub(super) prefix: String,
    /// The next switch's address.
    pub(super) gateway: String,
}

/// A port by which a path leaves a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exit {
    /// The switch, by its number in the network.
    pub(super) switch: u32,
    /// The port's number, from 1.
    pub(super) port: usize,
    /// Whether it serves ingress ports in turn.
    pub(super) in_turn: bool,
}

/// The running switches.
pub(super) struct PathRoutes {
    /// By switch: its control socket.
    pub(super) sockets: BTreeMap<u32, PathBuf>,
    /// By operation: the routes of its path, from the first switch on.
    pub(super) routes: Vec<Vec<RouteEntry>>,
    /// By operation: the ports by which its path leaves its switches, in the order of `routes`, and
    /// the one to its last host.
    pub(super) exits: Vec<Vec<Exit>>,
    /// The routes of paths that do not change.
    pub(super) kept: Vec<RouteEntry>,
}

/// By switch and prefix: the operations whose paths have a route there, and its gateway. What has
/// no operation is a path that is kept.
type Users<'a> = HashMap<(u32, &'a str), Vec<(Option<u32>, &'a str)>>;

/// The switches of a directory that are on paths of a change.
struct Switches<'a> {
    network: &'a Network,
    directory: &'a Path,
    /// Prefixes of paths that have one of their own.
    prefixes: &'a HashMap<String, String>,
    configs: BTreeMap<u32, SwitchConfig>,
}

impl PathRoutes {
    /// Reads DIR/SWITCH.toml of every switch on a path.
    pub(super) fn load(
        network: &Network,
        change: &Change,
        directory: &Path,
        prefixes: &HashMap<String, String>,
    ) -> Result<Self, PathRoutesError> {
        let mut switches = Switches { network, directory, prefixes, configs: BTreeMap::new() };
        let routes = change.operations.iter().map(|operation| switches.routes(&operation.path));
        let routes = routes.collect::<Result<Vec<_>, _>>()?;
        let kept = change.kept.iter().map(|path| switches.routes(path));
        let kept = kept.collect::<Result<Vec<_>, _>>()?.concat();
        let exits = change.operations.iter().map(|operation| switches.exits(&operation.path));
        let exits = exits.collect();
        let sockets = switches.configs.iter().map(|(&switch, config)| {
            let socket = switches.file(switch).parent().map(|place| place.join(&config.socket));
            (switch, socket.unwrap_or_else(|| config.socket.clone()))
        });
        Ok(Self { sockets: sockets.collect(), routes, exits, kept })
    }

    /// The order with what destination-based routes need in addition: more constraints are never
    /// less safe. Returns how many were added.
    pub(super) fn add_route_constraints(
        &self,
        network: &Network,
        change: &Change,
        order: &Order,
    ) -> Result<(Order, usize), PathRoutesError> {
        let mut users = Users::new();
        let kept = self.kept.iter().map(|route| (None, route));
        let changed = (0..).zip(&self.routes);
        let changed =
            changed.flat_map(|(at, routes)| routes.iter().map(move |route| (Some(at), route)));
        for (operation, route) in kept.chain(changed) {
            let key = (route.switch, route.prefix.as_str());
            users.entry(key).or_default().push((operation, &route.gateway));
        }
        let mut pairs = order.pairs().to_vec();
        let before = pairs.len();
        for ((switch, prefix), users) in users {
            for (at, &(one, gateway)) in users.iter().enumerate() {
                for &(other, _) in users[at + 1..].iter().filter(|user| user.1 != gateway) {
                    let pair = exclusion(change, one, other).ok_or_else(|| {
                        let name = |of: Option<u32>| {
                            of.map_or("a path that is kept", |of| {
                                change.operations[of as usize].path.name.as_str()
                            })
                        };
                        PathRoutesError::Impossible(format!(
                            "`{}` and `{}` both lead to {prefix} and leave `{}` by different ports; \
                             give one its own prefix with --prefix NAME=PREFIX",
                            name(one),
                            name(other),
                            network.switch_name(switch)
                        ))
                    })?;
                    pairs.push(pair);
                }
            }
        }
        let strong = Order::with_barriers(order.operations(), order.barriers(), pairs);
        strong.sorted().map_err(|_| {
            PathRoutesError::Impossible(
                "the plan adds new paths before old ones to the same prefix are gone; give them \
                 prefixes of their own with --prefix NAME=PREFIX"
                    .to_owned(),
            )
        })?;
        let more = strong.pairs().len() - before;
        Ok((strong, more))
    }
}

/// The constraint that keeps two operations' paths from being in force together, if one can.
fn exclusion(change: &Change, one: Option<u32>, other: Option<u32>) -> Option<(u32, u32)> {
    let (one, other) = (one?, other?);
    let kind = |of: u32| change.operations[of as usize].kind;
    match (kind(one), kind(other)) {
        (Kind::Remove, Kind::Add) => Some((one, other)),
        (Kind::Add, Kind::Remove) => Some((other, one)),
        _ => None,
    }
}

impl Switches<'_> {
    fn file(&self, switch: u32) -> PathBuf {
        self.directory.join(format!("{}.toml", self.network.switch_name(switch)))
    }

    /// The network at a port of a switch, with the switch's address in it.
    fn network_at(&mut self, slot: u32) -> Result<ipnet::IpNet, PathRoutesError> {
        let switch = self.network.owner(slot);
        if !self.configs.contains_key(&switch) {
            let config = SwitchConfig::load(&self.file(switch))?;
            self.configs.insert(switch, config);
        }
        let port = &self.configs[&switch].ports.get(self.network.port(slot).index());
        let address = port.and_then(|port| port.addresses.first().copied());
        address.ok_or_else(|| {
            PathRoutesError::Impossible(format!(
                "{}:1:1: port {} has no address; `{}` is on a path",
                self.file(switch).display(),
                self.network.port(slot),
                self.network.show(slot)
            ))
        })
    }

    /// The ports by which a path leaves its switches, of those whose configuration is known.
    fn exits(&self, path: &NamedPath) -> Vec<Exit> {
        let network = self.network;
        let inputs = path.route.inputs.iter();
        let outputs = inputs.filter_map(|&input| network.far_slot(input));
        let exit = |slot: u32| {
            let switch = network.owner(slot);
            let in_turn = self.configs.get(&switch)?.settings.scheduler.fair;
            Some(Exit { switch, port: network.port(slot).number(), in_turn })
        };
        outputs.chain(path.route.target).filter_map(exit).collect()
    }

    /// The routes of a path, from its first switch on.
    fn routes(&mut self, path: &NamedPath) -> Result<Vec<RouteEntry>, PathRoutesError> {
        let network = self.network;
        let route = &path.route;
        let switches: Vec<u32> = route.switches(network).collect();
        let prefix = match (self.prefixes.get(&path.name), route.target) {
            (Some(prefix), _) => prefix.clone(),
            (None, Some(slot)) => self.network_at(slot)?.trunc().to_string(),
            (None, None) => {
                let name = &path.name;
                return Err(PathRoutesError::Impossible(format!(
                    "`{name}` ends at no host; give it a prefix with --prefix {name}=PREFIX"
                )));
            }
        };
        let mut routes = Vec::new();
        for (&switch, &input) in switches.iter().zip(&route.inputs) {
            // The switch's own configuration is needed, as well as the next switch's.
            if let Some(output) = network.far_slot(input) {
                self.network_at(output)?;
            }
            let gateway = self.network_at(input)?.addr().to_string();
            routes.push(RouteEntry { switch, prefix: prefix.clone(), gateway });
        }
        Ok(routes)
    }
}
