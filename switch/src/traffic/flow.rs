//! The specification of a flow on the command line: `--flow name=f1,dst-ip=10.0.0.2,rate=200M`.

use super::payload::{HEADER_BYTES, NAME_BYTES_MAX, SEQUENCES};
use config::units::{parse_count, parse_duration_ns, parse_rate_bps};
use dataplane::ids::Priority;
use dataplane::limits::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use dataplane::wire::MacAddress;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// The UDP port of RoCEv2.
pub(super) const ROCE_PORT: u16 = 4791;
/// ECT(0): ECN-capable, as RoCE senders are.
const ECT0: u8 = 2;

/// The specification of a flow. MAC and source address may be left to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlowSpec {
    /// Its name in reports; `None` is numbered.
    pub name: Option<String>,
    /// Destination address.
    pub destination: IpAddr,
    /// Destination MAC; `None` is resolved by the kernel.
    pub destination_mac: Option<MacAddress>,
    /// Source address; `None` is chosen by the kernel.
    pub source: Option<IpAddr>,
    /// Source MAC; `None` is the interface's.
    pub source_mac: Option<MacAddress>,
    /// DSCP, 0 to 63.
    pub dscp: u8,
    /// ECN field, 0 to 3.
    pub ecn: u8,
    /// The priority whose pauses stop it.
    pub priority: Priority,
    /// TTL or hop limit.
    pub ttl: u8,
    /// VLAN id and PCP, if it is tagged.
    pub vlan: Option<(u16, u8)>,
    /// UDP destination port.
    pub port: u16,
    /// UDP source port; `None` differs from flow to flow.
    pub source_port: Option<u16>,
    /// Length of its frames, headers and VLAN tag included, FCS not.
    pub size_bytes: usize,
    /// How fast.
    pub rate: Rate,
    /// How many frames; `None` until the end.
    pub count: Option<u64>,
    /// When it starts, after the sender.
    pub start_ns: u64,
}

/// How fast a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// As fast as the link.
    Max,
    /// Bits per second, counted over whole frames without their FCS.
    BitsPerSecond(u64),
    /// Frames per second.
    FramesPerSecond(u64),
}

impl Rate {
    /// Time from one frame of `size_bytes` to the next; 0 for as fast as the link.
    pub(super) fn interval_ps(self, size_bytes: usize) -> u64 {
        const PS: u128 = 1_000_000_000_000;
        let ps = match self {
            Self::Max => 0,
            Self::BitsPerSecond(bps) => size_bytes as u128 * 8 * PS / u128::from(bps.max(1)),
            Self::FramesPerSecond(fps) => PS / u128::from(fps.max(1)),
        };
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

/// Why a specification is wrong: which key, and what to write.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{key}: {what}")]
pub(super) struct FlowError {
    key: String,
    what: String,
}

fn error(key: &str, what: impl ToString) -> FlowError {
    FlowError { key: key.to_owned(), what: what.to_string() }
}

const KEYS: &str = "name, dst-ip, dst-mac, src-ip, src-mac, dscp, ecn, priority, ttl, vlan, pcp, \
                    port, src-port, size, rate, fps, count, start";

/// The keys as given, before defaults.
#[derive(Debug, Default)]
struct Keys {
    name: Option<String>,
    destination: Option<IpAddr>,
    destination_mac: Option<MacAddress>,
    source: Option<IpAddr>,
    source_mac: Option<MacAddress>,
    dscp: Option<u8>,
    ecn: Option<u8>,
    priority: Option<u8>,
    ttl: Option<u8>,
    vlan: Option<u16>,
    pcp: Option<u8>,
    port: Option<u16>,
    source_port: Option<u16>,
    size: Option<u64>,
    rate: Option<Rate>,
    count: Option<u64>,
    start_ns: Option<u64>,
}

impl Keys {
    fn set(&mut self, key: &str, value: &str) -> Result<(), FlowError> {
        match key {
            "name" => once(key, &mut self.name, name(value)?),
            "dst-ip" => once(key, &mut self.destination, parsed(key, value)?),
            "dst-mac" if value == "auto" => Ok(()),
            "dst-mac" => once(key, &mut self.destination_mac, parsed(key, value)?),
            "src-ip" => once(key, &mut self.source, parsed(key, value)?),
            "src-mac" => once(key, &mut self.source_mac, parsed(key, value)?),
            "dscp" => once(key, &mut self.dscp, small(key, value, 0, 63)?),
            "ecn" => once(key, &mut self.ecn, small(key, value, 0, 3)?),
            "priority" => once(key, &mut self.priority, small(key, value, 0, 7)?),
            "ttl" => once(key, &mut self.ttl, small(key, value, 1, 255)?),
            "vlan" => once(key, &mut self.vlan, small(key, value, 0, 4_094)?),
            "pcp" => once(key, &mut self.pcp, small(key, value, 0, 7)?),
            "port" => once(key, &mut self.port, small(key, value, 1, u16::MAX)?),
            "src-port" => once(key, &mut self.source_port, small(key, value, 1, u16::MAX)?),
            "size" => once(key, &mut self.size, parse_count(value).map_err(|e| error(key, e))?),
            "rate" | "fps" => once(key, &mut self.rate, rate(key, value)?),
            "count" => once(key, &mut self.count, frames(value)?),
            "start" => {
                let start_ns = parse_duration_ns(value).map_err(|e| error(key, e))?;
                once(key, &mut self.start_ns, start_ns)
            }
            _ => Err(error(key, format!("no such key; the keys are {KEYS}"))),
        }
    }
}

fn once<T>(key: &str, slot: &mut Option<T>, value: T) -> Result<(), FlowError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(error(key, "given twice (rate and fps are one)")),
    }
}

fn parsed<T: FromStr<Err: ToString>>(key: &str, value: &str) -> Result<T, FlowError> {
    value
        .parse()
        .map_err(|problem: T::Err| error(key, format!("`{value}`: {}", problem.to_string())))
}

fn small<T>(key: &str, value: &str, least: T, most: T) -> Result<T, FlowError>
where
    T: FromStr + PartialOrd + std::fmt::Display,
{
    match value.parse() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(error(key, format!("`{value}` is not a number from {least} to {most}"))),
    }
}

fn name(value: &str) -> Result<String, FlowError> {
    let fits = (1..=NAME_BYTES_MAX).contains(&value.len());
    if fits && value.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(value.to_owned())
    } else {
        Err(error("name", format!("`{value}` is not 1 to {NAME_BYTES_MAX} ASCII characters")))
    }
}

fn rate(key: &str, value: &str) -> Result<Rate, FlowError> {
    if value == "max" {
        return Ok(Rate::Max);
    }
    if key == "rate" {
        return parse_rate_bps(value)
            .map(Rate::BitsPerSecond)
            .map_err(|problem| error(key, format!("{problem}, or max")));
    }
    match parse_count(value) {
        Ok(fps) if fps > 0 => Ok(Rate::FramesPerSecond(fps)),
        _ => Err(error(key, format!("`{value}` is not frames per second, as in 10K, or max"))),
    }
}

fn frames(value: &str) -> Result<u64, FlowError> {
    match parse_count(value) {
        Ok(count) if (1..=SEQUENCES).contains(&count) => Ok(count),
        Ok(_) => Err(error("count", format!("`{value}` is not 1 to {SEQUENCES} frames"))),
        Err(problem) => Err(error("count", problem)),
    }
}

impl FromStr for FlowSpec {
    type Err = FlowError;

    fn from_str(text: &str) -> Result<Self, FlowError> {
        let mut keys = Keys::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| error(pair, "a key needs its value: KEY=VALUE"))?;
            keys.set(key.trim(), value.trim())?;
        }
        keys.try_into()
    }
}

impl TryFrom<Keys> for FlowSpec {
    type Error = FlowError;

    fn try_from(keys: Keys) -> Result<Self, FlowError> {
        let destination = keys.destination.ok_or_else(|| error("dst-ip", "must be given"))?;
        if keys.source.is_some_and(|source| source.is_ipv4() != destination.is_ipv4()) {
            return Err(error("src-ip", "is not of the same IP version as dst-ip"));
        }
        let dscp = keys.dscp.unwrap_or(0);
        // The class selector bits, as switches without a DSCP map do.
        let priority = Priority::from_low_bits(keys.priority.unwrap_or(dscp >> 3));
        let vlan = match (keys.vlan, keys.pcp) {
            (None, None) => None,
            (vlan, pcp) => Some((vlan.unwrap_or(0), pcp.unwrap_or_else(|| priority.value()))),
        };
        let size = keys.size.unwrap_or(1_000);
        let least = least_bytes(destination.is_ipv4(), vlan.is_some());
        let size_bytes = usize::try_from(size).unwrap_or(usize::MAX);
        if !(least..=FRAME_BYTES_MAX).contains(&size_bytes) {
            let what = format!("{size} is not {least} to {FRAME_BYTES_MAX} bytes (without FCS)");
            return Err(error("size", what));
        }
        Ok(Self {
            name: keys.name,
            destination,
            destination_mac: keys.destination_mac,
            source: keys.source,
            source_mac: keys.source_mac,
            dscp,
            ecn: keys.ecn.unwrap_or(ECT0),
            priority,
            ttl: keys.ttl.unwrap_or(64),
            vlan,
            port: keys.port.unwrap_or(ROCE_PORT),
            source_port: keys.source_port,
            size_bytes,
            rate: keys.rate.unwrap_or(Rate::Max),
            count: keys.count,
            start_ns: keys.start_ns.unwrap_or(0),
        })
    }
}

/// The shortest frame that holds the headers and the test payload.
fn least_bytes(ipv4: bool, tagged: bool) -> usize {
    let headers = 14 + if tagged { 4 } else { 0 } + if ipv4 { 20 } else { 40 } + 8;
    FRAME_BYTES_MIN.max(headers + HEADER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(text: &str) -> String {
        text.parse::<FlowSpec>().expect_err(text).to_string()
    }

    #[test]
    fn all_keys_are_read() {
        let text = "name=f1,dst-ip=10.0.0.2,dst-mac=02:00:00:00:00:02,src-ip=10.0.0.1,\
                    src-mac=02:00:00:00:00:01,dscp=26,ecn=1,priority=4,ttl=9,vlan=5,pcp=6,\
                    port=9,src-port=7,size=1500,rate=200M,count=10K,start=1ms";
        let wanted = FlowSpec {
            name: Some("f1".to_owned()),
            destination: IpAddr::from([10, 0, 0, 2]),
            destination_mac: Some(MacAddress([2, 0, 0, 0, 0, 2])),
            source: Some(IpAddr::from([10, 0, 0, 1])),
            source_mac: Some(MacAddress([2, 0, 0, 0, 0, 1])),
            dscp: 26,
            ecn: 1,
            priority: Priority::from_low_bits(4),
            ttl: 9,
            vlan: Some((5, 6)),
            port: 9,
            source_port: Some(7),
            size_bytes: 1_500,
            rate: Rate::BitsPerSecond(200_000_000),
            count: Some(10_000),
            start_ns: 1_000_000,
        };
        assert_eq!(text.parse(), Ok(wanted));
    }

    #[test]
    fn defaults_are_those_of_a_roce_sender() {
        let flow: FlowSpec = "dst-ip=fd00::2,dst-mac=auto,dscp=26,pcp=5".parse().expect("enough");
        assert_eq!((flow.priority.value(), flow.port, flow.ecn), (3, 4_791, 2));
        assert_eq!((flow.vlan, flow.size_bytes, flow.rate), (Some((0, 5)), 1_000, Rate::Max));
        assert_eq!((flow.destination_mac, flow.count, flow.source), (None, None, None));
    }

    #[test]
    fn the_shortest_frame_is_the_wires_shortest() {
        let flow: FlowSpec = "dst-ip=10.0.0.2,size=60".parse().expect("it all fits");
        assert_eq!(flow.size_bytes, FRAME_BYTES_MIN);
        assert_eq!(problem("dst-ip=::1,size=60"), "size: 60 is not 80 to 9728 bytes (without FCS)");
    }

    #[test]
    fn each_error_names_the_key_and_what_to_write() {
        assert_eq!(problem(""), "dst-ip: must be given");
        assert_eq!(problem("dst-ip"), "dst-ip: a key needs its value: KEY=VALUE");
        assert_eq!(problem("dst-ip=x"), "dst-ip: `x`: invalid IP address syntax");
        assert_eq!(problem("dscp=64"), "dscp: `64` is not a number from 0 to 63");
        assert_eq!(problem("count=0"), format!("count: `0` is not 1 to {SEQUENCES} frames"));
        assert!(problem("color=red").starts_with("color: no such key; the keys are name, "));
        assert_eq!(problem("rate=1M,fps=10"), "fps: given twice (rate and fps are one)");
        assert_eq!(problem("fps=0"), "fps: `0` is not frames per second, as in 10K, or max");
        assert_eq!(problem("name=abcdefghijklmnop").split(':').next(), Some("name"));
        let mixed = problem("dst-ip=10.0.0.2,src-ip=::1");
        assert_eq!(mixed, "src-ip: is not of the same IP version as dst-ip");
    }

    #[test]
    fn rates_become_intervals() {
        assert_eq!(Rate::Max.interval_ps(1_000), 0);
        assert_eq!(Rate::BitsPerSecond(1_000_000_000).interval_ps(1_000), 8_000_000);
        assert_eq!(Rate::FramesPerSecond(300_000).interval_ps(60), 3_333_333);
    }

    proptest! {
        #[test]
        fn any_text_is_answered_without_a_panic(text in "[a-z=,.:0-9-]{0,60}|dst-ip=::1,.{0,30}") {
            let _ = text.parse::<FlowSpec>();
        }
    }
}
