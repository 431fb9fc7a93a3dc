//! What the commands have in common on the command line.

use super::RoceError;
use super::exchange::PORT;
use crate::traffic::{priority, speed};
use clap::Args;
use config::units::{parse_duration_ns, parse_rate_bps};
use dataplane::ids::Priority;
use dataplane::time::Speed;
use dataplane::wire::MacAddress;
use roce::Recovery;
use roce::congestion::{Algorithm, DcqcnParameters};
use roce::time::PS_PER_US;
use std::str::FromStr;

/// The link, and how queue pairs use it.
#[derive(Clone, Debug, Args)]
pub(super) struct LinkArgs {
    /// Interface of the endpoint
    #[arg(long)]
    pub dev: String,
    /// Link speed: packets depart no faster; a PFC quantum is 512 bit times at this speed
    #[arg(long, default_value = "1G", value_parser = speed, value_name = "RATE")]
    pub speed: Speed,
    /// The rate at which a queue pair begins, and which it never exceeds [default: --speed]
    #[arg(long = "rate", value_parser = parse_rate_bps, value_name = "RATE")]
    pub rate_bps: Option<u64>,
    /// TCP port on which both sides tell each other their queue pairs, as perftest does
    #[arg(long, default_value_t = PORT)]
    pub port: u16,
    /// Queue pairs
    #[arg(long, default_value_t = 1, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub qps: u32,
    /// Payload bytes of a packet: 256, 512, 1024, 2048 or 4096 [default: what the interface takes]
    #[arg(long, value_parser = packet_bytes, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// DSCP of packets and acknowledgments
    #[arg(long, default_value_t = 26, value_parser = clap::value_parser!(u8).range(0..64))]
    pub dscp: u8,
    /// PFC priority whose pauses stop them
    #[arg(long, default_value = "3", value_parser = priority)]
    pub priority: Priority,
    /// Send packets that switches may not mark (Not-ECT)
    #[arg(long)]
    pub no_ecn: bool,
    /// Ignore received PFC (it is still counted)
    #[arg(long)]
    pub ignore_pfc: bool,
    /// Congestion control: none, dcqcn, timely or swift
    #[arg(long, default_value = "none", value_parser = algorithm, value_name = "NAME")]
    pub congestion: Algorithm,
    /// Parameters of DCQCN, as KEY=VALUE,...: ai, hai and min (rates), timer and alpha-timer
    /// (times), bytes, g (0 to 1)
    #[arg(long, value_name = "KEYS")]
    pub dcqcn: Option<DcqcnKeys>,
    /// RTT of the empty path, from which windows are computed
    #[arg(long = "base-rtt", default_value = "100us", value_parser = parse_duration_ns,
          value_name = "TIME")]
    pub base_rtt_ns: u64,
    /// Least time between two congestion notification packets of a queue pair
    #[arg(long = "cnp-interval", default_value = "50us", value_parser = parse_duration_ns,
          value_name = "TIME")]
    pub cnp_interval_ns: u64,
    /// DSCP of congestion notification packets
    #[arg(long, default_value_t = 48, value_parser = clap::value_parser!(u8).range(0..64))]
    pub cnp_dscp: u8,
    /// PFC priority of congestion notification packets
    #[arg(long, default_value = "6", value_parser = priority, value_name = "PRIORITY")]
    pub cnp_priority: Priority,
    /// Repair losses by selective repeat with this many packets in flight (both sides must)
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub selective: Option<u32>,
    /// Ask for an acknowledgment at least each so many packets
    #[arg(long, default_value_t = 16, value_name = "PACKETS",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub acknowledge_every: u32,
    /// Send again what is not acknowledged for this long
    #[arg(long = "timeout", default_value = "500ms", value_parser = parse_duration_ns,
          value_name = "TIME")]
    pub timeout_ns: u64,
    /// How late packets may depart and still catch up
    #[arg(long = "burst-time", default_value = "1ms", value_parser = parse_duration_ns,
          value_name = "TIME")]
    pub slack_ns: u64,
    /// MAC address of the peer, or of the router to it [default: what the kernel resolves]
    #[arg(long, value_name = "MAC")]
    pub peer_mac: Option<MacAddress>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl LinkArgs {
    pub(super) const fn recovery(&self) -> Recovery {
        match self.selective {
            None => Recovery::GoBackN,
            Some(window_packets) => Recovery::SelectiveRepeat { window_packets },
        }
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        match (self.congestion, self.dcqcn) {
            (Algorithm::Dcqcn(_), Some(DcqcnKeys(parameters))) => Algorithm::Dcqcn(parameters),
            (algorithm, _) => algorithm,
        }
    }

    /// Options that do not fit together.
    ///
    /// # Errors
    /// Which.
    pub(super) fn check(&self) -> Result<(), RoceError> {
        if self.dcqcn.is_some() && !matches!(self.congestion, Algorithm::Dcqcn(_)) {
            return Err(RoceError::Arguments("--dcqcn: needs --congestion dcqcn".to_owned()));
        }
        Ok(())
    }
}

/// DCQCN's parameters on the command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct DcqcnKeys(DcqcnParameters);

impl FromStr for DcqcnKeys {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut keys = DcqcnParameters::default();
        for pair in text.split(',') {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("`{pair}` is not KEY=VALUE"))?;
            let rate = || parse_rate_bps(value).map_err(|error| format!("{key}: {error}"));
            let time = || parse_duration_ns(value).map_err(|error| format!("{key}: {error}"));
            match key {
                "ai" => keys.additive_bps = rate()?,
                "hai" => keys.hyper_bps = rate()?,
                "min" => keys.minimum_bps = rate()?,
                "timer" => keys.increase_interval_ps = time()?.max(1) * (PS_PER_US / 1_000),
                "alpha-timer" => keys.alpha_interval_ps = time()?.max(1) * (PS_PER_US / 1_000),
                "bytes" => {
                    keys.increase_bytes = config::units::parse_count(value)
                        .map_err(|error| format!("{key}: {error}"))?
                        .max(1);
                }
                "g" => keys.g_millionths = share(value)?,
                _ => {
                    let known = "ai, hai, min, timer, alpha-timer, bytes and g";
                    return Err(format!("no key `{key}`; there are {known}"));
                }
            }
        }
        Ok(Self(keys))
    }
}

/// A share in millionths.
fn share(text: &str) -> Result<u32, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    let millionths = share.ok_or_else(|| format!("g: `{text}` is not a number from 0 to 1"))? * 1e6;
    format!("{millionths:.0}").parse().map_err(|error| format!("g: {error}"))
}

fn algorithm(text: &str) -> Result<Algorithm, String> {
    match Algorithm::from_name(text) {
        // No switch on a wire writes what HPCC reads.
        Some(Algorithm::Hpcc(_)) => {
            Err("hpcc needs in-band telemetry, which the emulator has".into())
        }
        Some(algorithm) => Ok(algorithm),
        None => Err(format!("`{text}` is none of none, dcqcn, timely and swift")),
    }
}

fn packet_bytes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ (256 | 512 | 1_024 | 2_048 | 4_096)) => Ok(bytes),
        _ => Err(format!("`{text}` is none of 256, 512, 1024, 2048 and 4096")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_dcqcn_are_read_by_key() {
        let DcqcnKeys(keys) = "ai=5M,hai=50M,timer=300us,g=0.00390625,bytes=1M".parse().unwrap();
        assert_eq!((keys.additive_bps, keys.hyper_bps), (5_000_000, 50_000_000));
        assert_eq!(keys.increase_interval_ps, 300 * PS_PER_US);
        assert_eq!((keys.g_millionths, keys.increase_bytes), (3_906, 1_000_000));
        for wrong in ["", "ai", "ai=x", "bi=1M", "g=2", "timer=5"] {
            assert!(wrong.parse::<DcqcnKeys>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_no_wire_can_do_is_refused() {
        assert!(algorithm("dcqcn").is_ok() && algorithm("swift").is_ok());
        assert!(algorithm("hpcc").unwrap_err().contains("telemetry"));
        assert!(algorithm("reno").is_err() && packet_bytes("1000").is_err());
    }
}
