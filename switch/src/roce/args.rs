//! What the commands have in common on the command line.

use super::RoceError;
use super::congestion_args::{DcqcnKeys, HpccKeys, algorithm};
use super::exchange::PORT;
use crate::traffic::{priority, speed};
use clap::Args;
use config::units::{parse_duration_ns, parse_rate_bps};
use dataplane::ids::Priority;
use dataplane::time::Speed;
use dataplane::wire::MacAddress;
use roce::Recovery;
use roce::congestion::Algorithm;

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
    /// Congestion control: none, dcqcn, timely, hpcc or swift
    #[arg(long, default_value = "none", value_parser = algorithm, value_name = "NAME")]
    pub congestion: Algorithm,
    /// Parameters of DCQCN, as KEY=VALUE,...: ai, hai and min (rates), timer and alpha-timer
    /// (times), bytes, g (0 to 1)
    #[arg(long, value_name = "KEYS")]
    pub dcqcn: Option<DcqcnKeys>,
    /// Parameters of HPCC, as KEY=VALUE,...: eta (0 to 1), stages, ai (bytes)
    #[arg(long, value_name = "KEYS")]
    pub hpcc: Option<HpccKeys>,
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
        match (self.congestion, self.dcqcn, self.hpcc) {
            (Algorithm::Dcqcn(_), Some(DcqcnKeys(keys)), _) => Algorithm::Dcqcn(keys),
            (Algorithm::Hpcc(_), _, Some(HpccKeys(keys))) => Algorithm::Hpcc(keys),
            (algorithm, ..) => algorithm,
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
        if self.hpcc.is_some() && !matches!(self.congestion, Algorithm::Hpcc(_)) {
            return Err(RoceError::Arguments("--hpcc: needs --congestion hpcc".to_owned()));
        }
        Ok(())
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
    fn what_no_wire_can_do_is_refused() {
        assert!(packet_bytes("1024").is_ok() && packet_bytes("1000").is_err());
    }
}
