//! `loopback` and `[[tunnel]]`: addresses on no port, and the IP-in-IP tunnels that end there.

use super::schema::{SwitchFile, TunnelTable};
use super::{PortConfig, TunnelConfig, tag_map};
use crate::did_you_mean;
use crate::error::ConfigError;
use crate::fields::{Address, TagField};
use crate::names::is_name;
use crate::source::Source;
use dataplane::fib::Route;
use dataplane::ids::Tag;
use dataplane::limits::TAGS;
use dataplane::pipeline::classify::TagMap;
use dataplane::tunnel::{TUNNELS_MAX, Tunnel, TunnelId, TunnelMode};
use std::net::{IpAddr, Ipv4Addr};
use toml::Spanned;

/// The addresses of `loopback`.
///
/// # Errors
/// One is a network and not a host, cannot be a host's, or is there already.
pub(super) fn loopback(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
) -> Result<Vec<IpAddr>, ConfigError> {
    let mut addresses: Vec<IpAddr> = Vec::with_capacity(file.loopback.len());
    for field in &file.loopback {
        let net = field.get_ref().0;
        let wrong = |message: String| Err(source.at(field.span(), message));
        let address = net.addr();
        if net.prefix_len() != net.max_prefix_len() {
            let length = net.max_prefix_len();
            return wrong(format!(
                "{net} is on no port, so no network is there; write {address}/{length}"
            ));
        }
        if address.is_loopback() || address.is_multicast() || address.is_unspecified() {
            return wrong(format!("{address} cannot be an address of a switch; use another"));
        }
        let holder = ports.iter().find(|port| port.addresses.iter().any(|it| it.addr() == address));
        if let Some(port) = holder {
            return wrong(format!("port `{}` has {address} already; keep one", port.name));
        }
        if addresses.contains(&address) {
            return wrong(format!("{address} stands there twice; keep one"));
        }
        addresses.push(address);
    }
    Ok(addresses)
}

/// The tunnels.
///
/// # Errors
/// A tunnel has a name or an end that does not fit, or tags that do not.
pub(super) fn build(
    source: &Source,
    file: &SwitchFile,
    tags: &TagMap,
    loopback: &[IpAddr],
) -> Result<Vec<TunnelConfig>, ConfigError> {
    let Some(first) = file.tunnel.first() else { return Ok(Vec::new()) };
    if file.ttl.is_some() {
        let message =
            "lossless frames go by their hops ([ttl]), which a tunnel hides; remove [[tunnel]]";
        return Err(source.at(first.span(), message));
    }
    if let Some(beyond) = file.tunnel.get(TUNNELS_MAX) {
        let message = format!("this is tunnel {}; {TUNNELS_MAX} are the most", TUNNELS_MAX + 1);
        return Err(source.at(beyond.span(), message));
    }
    let has_rules = file.rules.is_some() || file.fabric.is_some();
    let reader = Reader { source, tags, loopback, has_rules };
    let mut tunnels: Vec<TunnelConfig> = Vec::with_capacity(file.tunnel.len());
    for table in &file.tunnel {
        let name = &table.get_ref().name;
        if tunnels.iter().any(|other| other.name == *name.get_ref()) {
            let message =
                format!("there is a tunnel `{}` already; use another name", name.get_ref());
            return Err(source.at(name.span(), message));
        }
        let tunnel = reader.read(table.get_ref())?;
        let alike = |other: &&TunnelConfig| {
            let other = &other.tunnel;
            other.local == tunnel.local && other.remote == tunnel.remote
        };
        if let Some(other) = tunnels.iter().find(alike) {
            let message = format!("tunnel `{}` has the same ends; keep one", other.name);
            return Err(source.at(table.span(), message));
        }
        tunnels.push(TunnelConfig { name: name.get_ref().clone(), tunnel });
    }
    Ok(tunnels)
}

/// The route into the tunnel with this name.
///
/// # Errors
/// There is none, or it has no other end.
pub(super) fn route(tunnels: &[TunnelConfig], name: &str) -> Result<Route, String> {
    let names = || tunnels.iter().map(|tunnel| tunnel.name.as_str());
    let Some(index) = names().position(|other| other == name) else {
        let hint = did_you_mean::nearest(name, names());
        let hint = hint.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(format!("no [[tunnel]] has the name `{name}`{hint}"));
    };
    let ends = TunnelId::from_index(index).zip(tunnels[index].tunnel.remote);
    let Some((id, remote)) = ends else {
        return Err(format!("tunnel `{name}` has no `remote`, so nothing can enter it; add one"));
    };
    Ok(Route::Tunnel { id, remote })
}

struct Reader<'a> {
    source: &'a Source,
    tags: &'a TagMap,
    loopback: &'a [IpAddr],
    has_rules: bool,
}

impl Reader<'_> {
    fn read(&self, table: &TunnelTable) -> Result<Tunnel, ConfigError> {
        let wrong = |span, message: String| Err(self.source.at(span, message));
        let name = &table.name;
        if !is_name(name.get_ref()) {
            let message = format!(
                "`{}` is no name for a tunnel; use letters, digits, `-`, `_` and `.`",
                name.get_ref()
            );
            return wrong(name.span(), message);
        }
        let local = self.v4(&table.local)?;
        if !self.loopback.contains(&IpAddr::V4(local)) {
            let message = format!("{local} is no address of `loopback`; add \"{local}/32\" there");
            return wrong(table.local.span(), message);
        }
        let remote = table.remote.as_ref().map(|field| self.v4(field)).transpose()?;
        if let Some(field) = table.remote.as_ref().filter(|_| remote == Some(local)) {
            return wrong(field.span(), format!("{local} is our own end; name the other one"));
        }
        let any_remote = table.any_remote.as_ref().map(Spanned::get_ref).copied();
        if let Some(field) = table.any_remote.as_ref().filter(|_| remote.is_none())
            && !field.get_ref()
        {
            let message = "nothing enters or leaves a tunnel without a `remote`; add it".to_owned();
            return wrong(field.span(), message);
        }
        let pipe = table.dscp.as_ref().filter(|field| *field.get_ref() == TunnelMode::Pipe);
        if let Some(field) = pipe.filter(|_| self.has_rules) {
            let message = "with `rules` or [fabric] the tag must come out of the tunnel as it was \
                           inside; use \"uniform\"";
            return wrong(field.span(), message.to_owned());
        }
        Ok(Tunnel {
            local,
            remote,
            any_remote: any_remote.unwrap_or_else(|| remote.is_none()),
            dscp: table.dscp.as_ref().map(Spanned::get_ref).copied().unwrap_or_default(),
            ttl: table.ttl,
            outer_tag: self.outer_tags(table)?,
            priority_group: table.priority_group,
        })
    }

    fn v4(&self, field: &Spanned<Address>) -> Result<Ipv4Addr, ConfigError> {
        match field.get_ref().0 {
            IpAddr::V4(address) if !address.is_multicast() && !address.is_unspecified() => {
                Ok(address)
            }
            other => {
                let message =
                    format!("{other} cannot be an end of a tunnel; use an IPv4 address of a host");
                Err(self.source.at(field.span(), message))
            }
        }
    }

    fn outer_tags(&self, table: &TunnelTable) -> Result<[Tag; TAGS], ConfigError> {
        let mut tags: [Tag; TAGS] = core::array::from_fn(own);
        tag_map::each(self.source, &table.outer_tag, "outer_tag", |tag, &TagField(outer)| {
            tags[tag.index()] = outer;
            if self.has_rules {
                let message =
                    "with `rules` or [fabric] the rules alone change tags; remove `outer_tag`";
                return Err(message.to_owned());
            }
            if self.tags.is_lossless(outer) && !self.tags.is_lossless(tag) {
                return Err(format!(
                    "tag {outer} is lossless and tag {tag} is lossy; give it a lossy outer tag"
                ));
            }
            Ok(())
        })?;
        Ok(tags)
    }
}

/// The outer tag of frames that no entry names.
fn own(tag: usize) -> Tag {
    Tag::from_low_bits(u8::try_from(tag).unwrap_or_default())
}
