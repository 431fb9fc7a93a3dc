//! `[lldp]` and `[fabric]`.

use super::Field;
use crate::fields::Duration;
use agents::lldp::Profile;
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
    pub(in crate::switch) profile: Profile,
}

const fn yes() -> bool {
    true
}

/// `[fabric]`: a Clos network that configures itself. The switch learns by LLDP how far it is from
/// the hosts and which ports lead up; a frame that came down and would go up moves to the next tag.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct FabricTable {
    /// 1 for switches with hosts, 2 for those above them, and so on. Default: learned.
    pub(in crate::switch) level: Field<u64>,
    /// Levels that the fabric can have, 2 to 254. Default 8. Switches take longer to forget their
    /// level when the last host is gone: 1 s for each level above the fabric's own.
    pub(in crate::switch) levels: Field<u64>,
    /// How often a frame may turn up again and stay lossless. Default 1: tags 1 and 2, in the
    /// priorities 1 and 2 if no `[[tag]]` says otherwise.
    pub(in crate::switch) bounces: Field<u64>,
}
