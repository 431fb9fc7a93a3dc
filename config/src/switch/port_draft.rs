//! A port while its table is read: what `ports.rs`, `mode.rs` and `device.rs` work on.

use super::PortConfig;
use super::schema::PortTable;
use crate::did_you_mean::nearest;
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::ids::PortId;
use dataplane::settings::PortSettings;
use std::ops::Range;
use toml::Spanned;

/// Two VLAN tags.
pub(super) const VLAN_BYTES: u16 = 8;

/// A port that still lacks its lossless VIQs.
pub(super) struct PortDraft<'a> {
    pub(super) settings: PortSettings,
    pub(super) config: PortConfig,
    /// Whether lossless priorities are lossless here.
    pub(super) pfc: bool,
    pub(super) table: &'a Spanned<PortTable>,
}

impl PortDraft<'_> {
    /// The longest frame that can arrive, both VLAN tags included.
    pub(super) fn frame_bytes(&self) -> u64 {
        u64::from(self.settings.frame_bytes_max + VLAN_BYTES)
    }

    pub(super) fn name(&self) -> &str {
        &self.settings.name
    }
}

/// Reads one port's table.
pub(super) struct PortReader<'a> {
    pub(super) source: &'a Source,
    /// The switch's name.
    pub(super) switch: &'a str,
    pub(super) id: PortId,
    /// Where the table starts.
    pub(super) span: Range<usize>,
    /// How long a device may have to hold frames until it is polled.
    pub(super) rx_gap_ns: u64,
    /// Whether a port has a TAP if it does not say.
    pub(super) taps: bool,
}

impl PortReader<'_> {
    pub(super) fn wrong<T>(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Result<T, ConfigError> {
        Err(self.source.at(span, message))
    }
}

/// Where a field stands, if it is there.
pub(super) fn span<T>(field: &Option<Spanned<T>>) -> Option<Range<usize>> {
    field.as_ref().map(Spanned::span)
}

/// The index of the port with this name or number.
///
/// # Errors
/// There is none.
pub(super) fn named_port(
    source: &Source,
    name: &Spanned<String>,
    ports: &[PortDraft<'_>],
) -> Result<usize, ConfigError> {
    let names: Vec<&str> = ports.iter().map(PortDraft::name).collect();
    index_of(&names, name.get_ref()).map_err(|message| source.at(name.span(), message))
}

/// The place in `names`, which are those of all ports in order, of the port with the name or number
/// `wanted`; or why there is none.
pub(super) fn index_of(names: &[&str], wanted: &str) -> Result<usize, String> {
    let named = names.iter().position(|name| *name == wanted);
    let numbered = || (0..names.len()).find(|index| (index + 1).to_string() == wanted);
    named.or_else(numbered).ok_or_else(|| match nearest(wanted, names.iter().copied()) {
        Some(near) => format!("there is no port `{wanted}`; did you mean `{near}`?"),
        None => {
            format!("there is no port `{wanted}`; use a [[port]]'s name, or 1 to {}", names.len())
        }
    })
}
