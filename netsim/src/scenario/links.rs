//! The links of a scenario, as the emulator knows them.

use crate::link::LinkSpec;
use config::scenario::ScenarioConfig;
use fabric::network::{End, Link};

/// The number of the link at this end. Every end has one.
pub(super) fn link_of(config: &ScenarioConfig, end: End) -> usize {
    config.network.link_with(end).unwrap_or_default()
}

/// Speed and length of the link of a host.
pub(super) fn host_link(config: &ScenarioConfig, host: u32) -> LinkSpec {
    spec(&config.network.links()[link_of(config, End::Host(host))], defaults(config))
}

/// Speed and length of links that name none.
pub(super) fn defaults(config: &ScenarioConfig) -> LinkSpec {
    LinkSpec { speed: config.links.speed, length: config.links.length }
}

/// Speed and length of `link`; `default` where it names none.
pub(super) fn spec(link: &Link, default: LinkSpec) -> LinkSpec {
    LinkSpec {
        speed: link.speed.unwrap_or(default.speed),
        length: link.length.unwrap_or(default.length),
    }
}
