//! `[lldp]` and `[fabric]`.

use super::Field;
use crate::fields::Duration;
use serde::Deserialize;

/// `[lldp]`: IEEE 802.1AB on every port.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct LldpTable {
    /// Default true: the table is there.
    #[serde(default = "yes")]
    pub(in crate::switch) enable: bool,
    /// Time between two frames while nothing happens, `"1s"` to `"3600s"`. Default `"30s"`.
    pub(in crate::switch) interval: Field<Duration>,
    /// Intervals that what is said holds, 2 to 10. Default 4.
    pub(in crate::switch) hold: Field<u64>,
    /// How levels are said. Either form is understood.
    #[serde(default)]
    pub(in crate::switch) profile: ProfileField,
}

const fn yes() -> bool {
    true
}

/// How levels are said.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(in crate::switch) enum ProfileField {
    /// The Topology Recognition TLV of IEEE 802.1Qcz-2023.
    #[default]
    Standard,
    /// As in the slides of 2019 that it came from, under an OUI of its own.
    Slides,
}

/// `[fabric]`: a Clos network that configures itself. The switch learns by LLDP how far it is from
/// the hosts and which ports lead up; a frame that came down and would go up moves to the next tag.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct FabricTable {
    /// 1 for switches with hosts, 2 for those above them, and so on. Default: learned.
    pub(in crate::switch) level: Field<u64>,
    /// How often a frame may turn up again and stay lossless. Default 1: tags 1 and 2, in the
    /// priorities 1 and 2 if no `[[tag]]` says otherwise.
    pub(in crate::switch) bounces: Field<u64>,
}
