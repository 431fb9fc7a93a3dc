//! Frames sent = frames received + every named end + frames queued, to the frame: across the
//! network and in each switch, for data and PFC separately.

use super::violation::Violation;
use crate::link::Wire;
use crate::network::Network;

/// Where the frames of one kind are.
#[derive(Default)]
struct Balance {
    sent: u64,
    accounted: u64,
}

impl Balance {
    fn check(&self, kind: &'static str) -> Result<(), Violation> {
        let Self { sent, accounted } = *self;
        if sent == accounted { Ok(()) } else { Err(Violation::Imbalance { kind, sent, accounted }) }
    }
}

/// The first balance that is not even.
pub(crate) fn check(network: &Network) -> Result<(), Violation> {
    let (mut data, mut pfc) = (Balance::default(), Balance::default());
    for (switch, report) in network.switch_reports() {
        let totals = &report.totals;
        let books = |what, expected, found| {
            let switch = switch.name.clone();
            Err(Violation::Miscount { switch, what, expected, found })
        };
        if totals.imbalance() != 0 {
            let imbalance = totals.imbalance().unsigned_abs();
            return books("frames that came and frames that ended, less the other,", 0, imbalance);
        }
        if totals.received != switch.delivered_frames {
            return books(
                "frames delivered and received",
                switch.delivered_frames,
                totals.received,
            );
        }
        let past = &switch.past;
        data.sent += totals.copied + totals.injected + past.data_copied;
        data.accounted += totals.dropped + totals.punted + totals.held + past.data_ended;
        pfc.sent += past.pfc_sent;
        pfc.accounted += switch.worker.device().ahead_frames() as u64 + past.pfc_ended;
        for port in &report.ports {
            pfc.sent += port.counters.pfc.tx_frames;
            pfc.accounted += port.counters.pfc.rx_consumed();
        }
    }
    for host in network.hosts() {
        let counters = host.counters();
        data.sent += counters.sent_frames + counters.lldp_sent_frames;
        data.accounted += counters.received_frames + counters.stray_frames;
        data.accounted += counters.lldp_received_frames;
        data.accounted += counters.overrun_frames.iter().sum::<u64>();
        pfc.sent += counters.pfc.tx_frames;
        pfc.accounted += counters.pfc.rx_consumed();
    }
    for wire in network.wires() {
        data.accounted += wire.lost[0];
        pfc.accounted += wire.lost[1];
    }
    for frame in network.wires().flat_map(Wire::in_flight) {
        let balance = if frame.is_control() { &mut pfc } else { &mut data };
        balance.accounted += 1;
    }
    data.check("data")?;
    pfc.check("PFC")
}
