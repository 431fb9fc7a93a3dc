//! `[sflow]`, and `sample_rate` of a port: what is sampled, and who gets it.

use super::PortConfig;
use super::schema::{AdminState, SflowTable, SwitchFile};
use crate::did_you_mean;
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::sampling::HEADER_BYTES_MAX;
use dataplane::turns::RATE_MAX;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use toml::Spanned;

/// The port of collectors, by IANA.
const PORT: u16 = 6343;
/// Collectors, at most.
const COLLECTORS_MAX: usize = 8;
const SECOND: u64 = 1_000_000_000;
/// SONiC's.
const POLLING_NS_DEFAULT: u64 = 20 * SECOND;
const SAMPLE_RATE_DEFAULT: u32 = 1_000;
const DROPS_DEFAULT: u32 = 500;
const DROPS_MAX: u32 = 10_000;
/// That of most agents.
const HEADER_BYTES_DEFAULT: u16 = 128;
/// Enough for Ethernet, VLAN, IPv6 and ports.
const HEADER_BYTES_MIN: u16 = 64;

/// What is sampled, and who gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sflow {
    /// Where samples are sent: at least one.
    pub collectors: Vec<SocketAddr>,
    /// What collectors know the switch by.
    pub agent: IpAddr,
    /// The address that the datagrams come from, if it is given.
    pub source: Option<IpAddr>,
    /// By port index: one of so many received frames is sampled; 0 is none.
    pub sample_rates: Vec<u32>,
    /// How often the counters are sent; `None` is never.
    pub polling_ns: Option<u64>,
    /// Dropped frames that are reported in a second, at most.
    pub drops_per_second: u32,
    /// Bytes of a frame in its sample.
    pub header_bytes: u16,
}

/// What the file says; `None` if nothing is sampled.
///
/// # Errors
/// A value out of range, a place that is none, or no address to be known by.
pub(super) fn build(
    source: &Source,
    file: &SwitchFile,
    ports: &[PortConfig],
) -> Result<Option<Sflow>, ConfigError> {
    let Some(field) = &file.sflow else {
        let rates = file.port.iter().filter_map(|port| port.get_ref().sample_rate.as_ref());
        return match rates.into_iter().next() {
            None => Ok(None),
            Some(rate) => {
                let message = "nothing is sampled without a table [sflow]; add that, or remove \
                               this";
                Err(source.at(rate.span(), message))
            }
        };
    };
    let table = field.get_ref();
    let interval = table.polling_interval.as_ref();
    let polling_ns = interval.map_or(POLLING_NS_DEFAULT, |field| field.get_ref().0);
    if let Some(field) = interval
        && polling_ns != 0
        && !(SECOND..=3_600 * SECOND).contains(&polling_ns)
    {
        let message = "`polling_interval` is 1 s to 1 h, or 0: never";
        return Err(source.at(field.span(), message));
    }
    let rate = number(source, table.sample_rate.as_ref(), SAMPLE_RATE_DEFAULT, 0..=RATE_MAX)?;
    let rates = file
        .port
        .iter()
        .map(|port| number(source, port.get_ref().sample_rate.as_ref(), rate, 0..=RATE_MAX));
    let sflow = Sflow {
        collectors: collectors(source, table)?,
        agent: agent(source, field, ports)?,
        source: address(source, table.source.as_ref())?,
        sample_rates: rates.collect::<Result<_, _>>()?,
        polling_ns: (polling_ns > 0).then_some(polling_ns),
        drops_per_second: number(
            source,
            table.drop_monitor_limit.as_ref(),
            DROPS_DEFAULT,
            0..=DROPS_MAX,
        )?,
        header_bytes: number(
            source,
            table.header_bytes.as_ref(),
            HEADER_BYTES_DEFAULT,
            HEADER_BYTES_MIN..=u16::try_from(HEADER_BYTES_MAX).unwrap_or(u16::MAX),
        )?,
    };
    Ok((table.admin_state == AdminState::Up).then_some(sflow))
}

/// The value of `field`, which is in `range`.
fn number<T: Copy + PartialOrd + std::fmt::Display>(
    source: &Source,
    field: Option<&Spanned<T>>,
    default: T,
    range: RangeInclusive<T>,
) -> Result<T, ConfigError> {
    let Some(field) = field else { return Ok(default) };
    let value = *field.get_ref();
    if range.contains(&value) {
        return Ok(value);
    }
    let message = format!("{value} is out of range; it is {} to {}", range.start(), range.end());
    Err(source.at(field.span(), message))
}

fn collectors(source: &Source, table: &SflowTable) -> Result<Vec<SocketAddr>, ConfigError> {
    let list = table.collectors.get_ref();
    if !(1..=COLLECTORS_MAX).contains(&list.len()) {
        let message = format!(
            "{} collectors; name 1 to {COLLECTORS_MAX}, or set admin_state = \"down\"",
            list.len()
        );
        return Err(source.at(table.collectors.span(), message));
    }
    let collector = |field: &Spanned<String>| {
        let text = field.get_ref();
        let with_port = text.parse().ok();
        let alone = || text.parse().ok().map(|address: IpAddr| SocketAddr::new(address, PORT));
        with_port.or_else(alone).filter(|address: &SocketAddr| address.port() != 0).ok_or_else(
            || {
                let message = format!(
                    "`{text}` is no collector; write an IP address with or without a port, such as \
                     \"10.0.0.9\", \"10.0.0.9:6343\" or \"[2001:db8::9]:6343\""
                );
                source.at(field.span(), message)
            },
        )
    };
    list.iter().map(collector).collect()
}

fn address(
    source: &Source,
    field: Option<&Spanned<String>>,
) -> Result<Option<IpAddr>, ConfigError> {
    let Some(field) = field else { return Ok(None) };
    let text = field.get_ref();
    let no_address = |_| source.at(field.span(), format!("`{text}` is no IP address"));
    text.parse().map(Some).map_err(no_address)
}

fn agent(
    source: &Source,
    table: &Spanned<SflowTable>,
    ports: &[PortConfig],
) -> Result<IpAddr, ConfigError> {
    let Some(field) = &table.get_ref().agent_id else {
        let first = ports.iter().find_map(|port| port.addresses.first());
        return first.map(|network| network.addr()).ok_or_else(|| {
            let message = "no port has an address that collectors could know the switch by; set \
                           agent_id to an IP address";
            source.at(table.span(), message)
        });
    };
    let text = field.get_ref();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let Some(port) = ports.iter().find(|port| port.name == *text) else {
        let names = ports.iter().map(|port| port.name.as_str());
        let right = did_you_mean::nearest(text, names)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let message = format!("`{text}` is neither an IP address nor a port{right}");
        return Err(source.at(field.span(), message));
    };
    port.addresses.first().map(|network| network.addr()).ok_or_else(|| {
        let message = format!("port {text} has no address; name another port, or an IP address");
        source.at(field.span(), message)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{SwitchConfig, changes_needing_restart};
    use super::*;
    use std::path::Path;

    fn config(table: &str, port: &str) -> Result<SwitchConfig, String> {
        let text = format!(
            "name = \"A\"\n{table}\n[[port]]\nname = \"p1\"\ndevice = \"net_null0\"\n\
             addresses = [\"10.0.0.1/24\"]\n{port}\n[[port]]\nname = \"p2\"\n\
             device = \"net_null1\"\nvlan = 7\n"
        );
        SwitchConfig::parse(Path::new("/x/A.toml"), &text).map_err(|error| error.to_string())
    }

    fn parse(table: &str, port: &str) -> Result<Option<Sflow>, String> {
        config(table, port).map(|config| config.sflow)
    }

    fn default() -> Sflow {
        Sflow {
            collectors: vec!["10.0.0.9:6343".parse().unwrap()],
            agent: "10.0.0.1".parse().unwrap(),
            source: None,
            sample_rates: vec![1_000, 1_000],
            polling_ns: Some(20 * SECOND),
            drops_per_second: 500,
            header_bytes: 128,
        }
    }

    const ONE: &str = "[sflow]\ncollectors = [\"10.0.0.9\"]\n";

    #[test]
    fn what_is_written_is_meant_and_the_rest_has_defaults() {
        assert_eq!(parse("", ""), Ok(None));
        assert_eq!(parse(ONE, ""), Ok(Some(default())));
        assert_eq!(parse(&format!("{ONE}admin_state = \"down\""), "sample_rate = 3"), Ok(None));
        let all = "[sflow]\nadmin_state = \"up\"\n\
                   collectors = [\"10.0.0.9:7000\", \"[2001:db8::9]:8000\", \"2001:db8::8\"]\n\
                   agent_id = \"2001:db8::1\"\nsource = \"10.0.0.2\"\nsample_rate = 256\n\
                   polling_interval = \"0s\"\ndrop_monitor_limit = 0\nheader_bytes = 256\n";
        let expected = Sflow {
            collectors: ["10.0.0.9:7000", "[2001:db8::9]:8000", "[2001:db8::8]:6343"]
                .map(|text| text.parse().unwrap())
                .to_vec(),
            agent: "2001:db8::1".parse().unwrap(),
            source: Some("10.0.0.2".parse().unwrap()),
            sample_rates: vec![0, 256],
            polling_ns: None,
            drops_per_second: 0,
            header_bytes: 256,
        };
        assert_eq!(parse(all, "sample_rate = 0"), Ok(Some(expected)));
        assert_eq!(parse(&format!("{ONE}agent_id = \"p1\""), ""), Ok(Some(default())));
    }

    #[test]
    fn what_cannot_be_is_refused_at_its_place() {
        for (table, port, expected) in [
            ("[sflow]\ncollectors = []", "", "0 collectors; name 1 to 8, or set admin_state"),
            ("[sflow]\ncollectors = [\"x:1\"]", "", "3:15: `x:1` is no collector; write an IP"),
            ("[sflow]\ncollectors = [\"10.0.0.9:0\"]", "", "`10.0.0.9:0` is no collector"),
            (&format!("{ONE}agent_id = \"p2\""), "", "port p2 has no address; name another port"),
            (&format!("{ONE}agent_id = \"q1\""), "", "nor a port; did you mean `p1`?"),
            (&format!("{ONE}source = \"p1\""), "", "4:10: `p1` is no IP address"),
            (&format!("{ONE}sample_rate = 16777217"), "", "it is 0 to 16777216"),
            (&format!("{ONE}drop_monitor_limit = 10001"), "", "it is 0 to 10000"),
            (&format!("{ONE}header_bytes = 32"), "", "32 is out of range; it is 64 to 256"),
            (&format!("{ONE}polling_interval = \"10ms\""), "", "is 1 s to 1 h, or 0: never"),
            (ONE, "sample_rate = 16777217", "it is 0 to 16777216"),
            ("", "sample_rate = 7", "nothing is sampled without a table [sflow]"),
        ] {
            let error = parse(table, port).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let text = "name = \"A\"\n[sflow]\ncollectors = [\"10.0.0.9\"]\n[[port]]\n\
                    device = \"net_null0\"\nvlan = 7\n";
        let error = SwitchConfig::parse(Path::new("A.toml"), text).unwrap_err();
        assert!(error.to_string().contains("set agent_id to an IP address"), "{error}");
    }

    #[test]
    fn a_running_switch_takes_it_over() {
        let [without, with] = ["", ONE].map(|table| config(table, "").unwrap());
        assert_eq!(changes_needing_restart(&without, &with), Vec::<String>::new());
    }
}
