//! Whether a scheme can hold on a scenario's network, before anything is built.

use super::{FRAME_BYTES_MOST, FaultKind, Route, RouteKind, ScenarioConfig, SchemeKind};
use crate::headroom::{Link, Software, needed_bytes};
use dataplane::gfc::IS_BUILT;
use dataplane::limits::PRIORITIES;
use dataplane::settings::Threshold;
use dataplane::ttl_class::Parity;
use fabric::feasibility::LiveLinks;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Whether `kind` can hold on the network of `config`; `Err` is the whole message.
///
/// # Errors
/// It cannot, and what would do.
pub fn check(config: &ScenarioConfig, kind: SchemeKind) -> Result<(), String> {
    if config.paths.classes > 1 && matches!(kind, SchemeKind::Ttl | SchemeKind::UpDown) {
        return Err(format!(
            "`{}` knows one application class, and [paths] has {}; use `tagger`",
            kind.name(),
            config.paths.classes
        ));
    }
    if config.files.is_some() {
        return of_files(config, kind);
    }
    match kind {
        SchemeKind::Ttl => {
            classes(config)?;
            parities(config).map(drop)
        }
        SchemeKind::Gfc => gfc(config),
        SchemeKind::Pfc
        | SchemeKind::Watchdog
        | SchemeKind::Tagger
        | SchemeKind::UpDown
        | SchemeKind::Lossy => Ok(()),
    }
}

/// Whether `kind` is what switches with files do.
fn of_files(config: &ScenarioConfig, kind: SchemeKind) -> Result<(), String> {
    if kind != SchemeKind::Pfc {
        let kind = kind.name();
        return Err(format!("the files of the switches say what they do, not `{kind}`; use `pfc`"));
    }
    let is_routed = config.routing.kind == RouteKind::Shortest
        && config.routing.reroute_ns.is_none()
        && config.flows.iter().all(|flow| flow.route == Route::Routed)
        && !config.faults.iter().any(|fault| matches!(fault.kind, FaultKind::Route { .. }));
    if !is_routed {
        return Err(
            "the routes are those of the switches' files; remove `path` of flows, `kind` and \
                    `reroute` of [routing], and faults of kind `route`"
                .to_owned(),
        );
    }
    let files = config.files.iter().flat_map(|files| &files.hosts).zip(0..);
    for (host, number) in files {
        if !host.addresses.iter().any(IpAddr::is_ipv4) {
            let name = config.network.host_name(number);
            return Err(format!("host `{name}` has no IPv4 address, which frames here need"));
        }
    }
    Ok(())
}

/// How many classes `ttl` has: one for each link of the longest path, or as many as the scenario
/// says.
///
/// # Errors
/// There are fewer than that.
pub fn classes(config: &ScenarioConfig) -> Result<usize, String> {
    let links = longest_path_links(config);
    let classes = config.scheme.classes.map_or_else(|| links.clamp(2, PRIORITIES), usize::from);
    if links <= classes {
        return Ok(classes);
    }
    Err(if links > PRIORITIES {
        format!(
            "`ttl` needs a class for each of the {links} links of the longest path, and PFC has \
             {PRIORITIES}; use shorter paths or `tagger`"
        )
    } else {
        format!("the longest path has {links} links, so `ttl` needs `classes = {links}`")
    })
}

/// Links of the longest path that a flow takes, hosts' own included.
fn longest_path_links(config: &ScenarioConfig) -> usize {
    let up = live_links(config);
    let listed = config.flows.iter().filter_map(|flow| match &flow.route {
        Route::Path(turns) => Some(turns.len() + 1),
        Route::Routed => None,
    });
    let routed = if config.traffic.is_empty() {
        let ways = flows_by_switch(config);
        ways.iter().filter_map(|(&from, to)| up.farthest(from, to)).max()
    } else {
        // Traffic at random may take any pair, those of flows too.
        let switches = (0..).take(config.network.switches());
        let has_hosts = |&at: &u32| config.network.host_slots_of(at).next().is_some();
        let with_hosts: BTreeSet<u32> = switches.filter(has_hosts).collect();
        with_hosts.iter().filter_map(|&from| up.farthest(from, &with_hosts)).max()
    };
    listed.chain(routed.map(|between| between + 2)).max().unwrap_or(2)
}

/// By switch: the switches that its hosts send to on no listed path.
fn flows_by_switch(config: &ScenarioConfig) -> BTreeMap<u32, BTreeSet<u32>> {
    let network = &config.network;
    let access = |host| network.host_slot(host).map(|slot| network.owner(slot));
    let mut ways: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for flow in config.flows.iter().filter(|flow| flow.route == Route::Routed) {
        if let (Some(from), Some(to)) = (access(flow.from), access(flow.to)) {
            ways.entry(from).or_default().insert(to);
        }
    }
    ways
}

/// By switch: which classes come there ([`LiveLinks::parities`]).
///
/// # Errors
/// The scenario says it is a tree, and two switches with hosts are an odd number of links apart.
pub fn parities(config: &ScenarioConfig) -> Result<Vec<Parity>, String> {
    let network = &config.network;
    if !config.scheme.tree {
        return Ok(vec![Parity::All; network.switches()]);
    }
    live_links(config).parities().map_err(|switches| {
        let [one, two] = switches.map(|switch| network.switch_name(switch));
        format!(
            "classes of both parities meet in {one} and {two}, which are linked: this is no \
             tree; remove `tree`"
        )
    })
}

/// The links that are not down from the start.
fn live_links(config: &ScenarioConfig) -> LiveLinks<'_> {
    LiveLinks::new(&config.network, &config.routing.failed)
}

/// Whether every link's queue keeps the bound of `gfc`.
///
/// # Errors
/// One does not, has none to keep, or this build has no gentle flow control.
pub fn gfc(config: &ScenarioConfig) -> Result<(), String> {
    if !IS_BUILT {
        return Err(
            "this build has no gentle flow control; build with the feature `gfc`".to_owned()
        );
    }
    let Threshold::Static { xoff_bytes } = config.buffers.threshold else {
        return Err("`gfc` goes by how full a queue is; give [switches] a `static_th`".to_owned());
    };
    for link in config.network.links() {
        let speed = link.speed.unwrap_or(config.links.speed);
        let length = link.length.unwrap_or(config.links.length);
        let on_wire = Link::new(speed, length, FRAME_BYTES_MOST.into());
        let cell_bytes = config.buffers.cell_bytes;
        let delay_bytes = needed_bytes(&on_wire, &Software::default(), cell_bytes);
        let frame_bytes = u32::from(FRAME_BYTES_MOST.max(cell_bytes));
        config.scheme.gfc.queue(&on_wire, xoff_bytes, frame_bytes, delay_bytes)?;
    }
    Ok(())
}
