//! Which tables of the database are read, which have nothing to do with a switch's data path, and
//! which would change it and have no counterpart.

/// What becomes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Its entries are read.
    Read,
    /// It says nothing about the data path, or nothing that is not said elsewhere.
    Skip,
    /// It would change forwarding, and no entry of it can be kept.
    Refuse(&'static str),
    /// It can be left out under `--approximate`; why, and what the switch then does.
    LeaveOut(&'static str, &'static str),
}

use Treatment::{LeaveOut, Read, Refuse, Skip};

const NO_VRF: &str = "there is one table of routes";
const NO_TUNNEL: &str = "a tunnel is IP in IP here";
const NOT_SENT: &str = "it is left out";

/// What becomes of the table `name`; `None` if it is not known.
pub(super) fn treatment(name: &str) -> Option<Treatment> {
    if let Ok(at) = TABLES.binary_search_by(|(known, _)| (*known).cmp(name)) {
        return Some(TABLES[at].1);
    }
    PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|&(_, treatment)| treatment)
}

/// In the order of their names.
const TABLES: &[(&str, Treatment)] = &[
    ("AAA", Skip),
    // Without rules a table of ACLs forwards everything.
    ("ACL_RULE", Read),
    ("ACL_TABLE", Read),
    ("ACL_TABLE_TYPE", Skip),
    ("AUTO_TECHSUPPORT", Skip),
    ("AUTO_TECHSUPPORT_FEATURE", Skip),
    ("BANNER_MESSAGE", Skip),
    ("BUFFER_PG", Read),
    ("BUFFER_POOL", Read),
    (
        "BUFFER_PORT_EGRESS_PROFILE_LIST",
        LeaveOut("a port as a whole has no limit of its own", "only queues are limited"),
    ),
    (
        "BUFFER_PORT_INGRESS_PROFILE_LIST",
        LeaveOut("a port as a whole has no limit of its own", "only priority groups are limited"),
    ),
    ("BUFFER_PROFILE", Read),
    ("BUFFER_QUEUE", Read),
    ("CABLE_LENGTH", Read),
    ("CHASSIS_MODULE", Skip),
    ("CONSOLE_PORT", Skip),
    ("CONSOLE_SWITCH", Skip),
    ("COPP_GROUP", Skip),
    ("COPP_TRAP", Skip),
    ("CRM", Skip),
    ("DEFAULT_LOSSLESS_BUFFER_PARAMETER", Read),
    ("DEVICE_METADATA", Read),
    ("DEVICE_NEIGHBOR", Skip),
    ("DEVICE_NEIGHBOR_METADATA", Skip),
    ("DHCP_RELAY", Skip),
    ("DHCP_SERVER", Skip),
    ("DNS_NAMESERVER", Skip),
    ("DOT1P_TO_TC_MAP", Read),
    ("DPU", Skip),
    ("DPUS", Skip),
    ("DSCP_TO_FC_MAP", LeaveOut("there are no forwarding classes", NOT_SENT)),
    ("DSCP_TO_TC_MAP", Read),
    // Its frames are MPLS, which is bridged only.
    ("EXP_TO_FC_MAP", Skip),
    ("FEATURE", Skip),
    ("FG_NHG", LeaveOut("flows are spread by one hash", NOT_SENT)),
    ("FG_NHG_MEMBER", Skip),
    ("FG_NHG_PREFIX", Skip),
    ("FIPS", Skip),
    ("FLEX_COUNTER_TABLE", Skip),
    ("GNMI", Skip),
    ("GNMI_CLIENT_CERT", Skip),
    ("HEARTBEAT", Skip),
    ("INTERFACE", Read),
    ("KDUMP", Skip),
    ("KUBERNETES_MASTER", Skip),
    ("LOGGER", Skip),
    ("LOOPBACK_INTERFACE", Read),
    ("LOSSLESS_TRAFFIC_PATTERN", Skip),
    ("MACSEC_PROFILE", LeaveOut("frames are not encrypted", NOT_SENT)),
    ("MAP_PFC_PRIORITY_TO_QUEUE", Read),
    ("MCLAG_DOMAIN", Refuse("a link aggregation over two switches has no counterpart; remove it")),
    ("MGMT_INTERFACE", Skip),
    ("MGMT_PORT", Skip),
    ("MGMT_VRF_CONFIG", Skip),
    ("MID_PLANE_BRIDGE", Skip),
    (
        "MIRROR_SESSION",
        LeaveOut("frames are not mirrored; `knotless capture` takes them", NOT_SENT),
    ),
    ("MUX_CABLE", Read),
    ("MUX_LINKMGR", Skip),
    ("NEIGH", Read),
    ("NTP", Skip),
    ("NTP_KEY", Skip),
    ("NTP_SERVER", Skip),
    ("NVGRE_TUNNEL", LeaveOut(NO_TUNNEL, NOT_SENT)),
    ("NVGRE_TUNNEL_MAP", LeaveOut(NO_TUNNEL, NOT_SENT)),
    ("PASSW_HARDENING", Skip),
    ("PEER_SWITCH", Read),
    ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", Read),
    ("PFC_WD", Read),
    ("POLICER", LeaveOut("flows are not policed", NOT_SENT)),
    ("PORT", Read),
    ("PORTCHANNEL", Read),
    ("PORTCHANNEL_INTERFACE", Read),
    ("PORTCHANNEL_MEMBER", Read),
    ("PORT_QOS_MAP", Read),
    ("PORT_STORM_CONTROL", LeaveOut("floods are not policed", NOT_SENT)),
    ("PREFIX_LIST", Skip),
    ("QUEUE", Read),
    ("RADIUS", Skip),
    ("RADIUS_SERVER", Skip),
    ("RESTAPI", Skip),
    ("ROUTE_MAP", Skip),
    ("ROUTE_MAP_SET", Skip),
    ("ROUTE_REDISTRIBUTE", Skip),
    ("SCHEDULER", Read),
    ("SFLOW", Skip),
    ("SFLOW_COLLECTOR", Skip),
    ("SFLOW_SESSION", Skip),
    ("SNMP", Skip),
    ("SNMP_AGENT_ADDRESS_CONFIG", Skip),
    ("SNMP_COMMUNITY", Skip),
    ("SNMP_USER", Skip),
    ("SSH_SERVER", Skip),
    ("STATIC_ROUTE", Read),
    ("STP", LeaveOut("no spanning tree is spoken; bridged ports must be free of loops", NOT_SENT)),
    ("SUPPRESS_ASIC_SDK_HEALTH_EVENT", Skip),
    ("SWITCH_HASH", LeaveOut("flows are spread by one hash", NOT_SENT)),
    ("SYSLOG_CONFIG", Skip),
    ("SYSLOG_CONFIG_FEATURE", Skip),
    ("SYSLOG_SERVER", Skip),
    ("SYSTEM_DEFAULTS", Read),
    ("SYSTEM_PORT", Refuse("this is one card of a chassis, whose cards forward as one switch")),
    ("TACPLUS", Skip),
    ("TACPLUS_SERVER", Skip),
    ("TC_TO_DOT1P_MAP", Skip),
    ("TC_TO_DSCP_MAP", Read),
    ("TC_TO_PRIORITY_GROUP_MAP", Read),
    ("TC_TO_QUEUE_MAP", Read),
    ("TELEMETRY", Skip),
    ("TELEMETRY_CLIENT", Skip),
    ("TUNNEL", Read),
    ("VERSIONS", Skip),
    ("VLAN", Read),
    (
        "VLAN_INTERFACE",
        LeaveOut("a VLAN has no address here", "it is bridged, and not routed to others"),
    ),
    ("VLAN_MEMBER", Read),
    ("VLAN_SUB_INTERFACE", LeaveOut("a port has one VLAN with addresses", NOT_SENT)),
    ("VNET", LeaveOut(NO_VRF, NOT_SENT)),
    ("VNET_ROUTE", LeaveOut(NO_VRF, NOT_SENT)),
    ("VNET_ROUTE_TUNNEL", LeaveOut(NO_TUNNEL, NOT_SENT)),
    ("VOQ_INBAND_INTERFACE", Refuse("this is one card of a chassis; give a switch of its own")),
    // What is in a VRF says so where it is.
    ("VRF", Skip),
    ("VRRP", LeaveOut("a VRRP address belongs to no port", NOT_SENT)),
    ("VXLAN_EVPN_NVO", LeaveOut(NO_TUNNEL, NOT_SENT)),
    ("VXLAN_TUNNEL", LeaveOut(NO_TUNNEL, NOT_SENT)),
    ("VXLAN_TUNNEL_MAP", LeaveOut(NO_TUNNEL, NOT_SENT)),
    ("WARM_RESTART", Skip),
    ("WRED_PROFILE", Read),
    ("XCVRD_LOG", Skip),
    ("ZTP", Skip),
];

/// Families of tables.
const PREFIXES: &[(&str, Treatment)] = &[
    ("BFD_", Skip),
    ("BGP_", Skip),
    ("BMP", Skip),
    ("CHASSIS_", Skip),
    ("DASH_", LeaveOut("the pipeline of a DPU has no counterpart", NOT_SENT)),
    ("DEBUG_", Skip),
    ("DHCP", Skip),
    ("ISIS_", Skip),
    ("LDAP", Skip),
    ("LLDP", Skip),
    ("MCLAG_", Skip),
    ("NAT_", LeaveOut("addresses are not translated", NOT_SENT)),
    ("OSPFV2_", Skip),
    ("PBH_", LeaveOut("flows are spread by one hash", NOT_SENT)),
    ("PIM_", LeaveOut("multicast is not routed", NOT_SENT)),
    ("SERIAL_CONSOLE", Skip),
    ("SRV6_", LeaveOut("segment routing has no counterpart", NOT_SENT)),
    ("STP_", LeaveOut("no spanning tree is spoken", NOT_SENT)),
    ("STATIC_NAT", LeaveOut("addresses are not translated", NOT_SENT)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order_and_found() {
        assert!(TABLES.is_sorted_by(|one, other| one.0 < other.0));
        assert_eq!(treatment("PORT"), Some(Read));
        assert_eq!(treatment("NTP"), Some(Skip));
        assert_eq!(treatment("BGP_NEIGHBOR"), Some(Skip));
        assert!(matches!(treatment("NAT_POOL"), Some(LeaveOut(..))));
        assert_eq!(treatment("NO_SUCH_TABLE"), None);
    }
}
