//! What RoCE flows and collectives came to, from the counters of the network.

use crate::event::Picoseconds;
use crate::network::Network;
use crate::outcome::{CollectiveOutcome, FlowOutcome, MessagesOutcome, Outcome, RoceOutcome};
use config::scenario::{Collective, CollectiveKind};
use hdrhistogram::Histogram;

const PS_PER_SECOND: u128 = 1_000_000_000_000;
const MILLION: u128 = 1_000_000;

/// Adds to `outcome` what the endpoints of the network have to say.
pub(super) fn observe(outcome: &mut Outcome, network: &Network, collectives: &[Collective]) {
    let hosts = || network.hosts().filter_map(|host| host.rdma.as_deref());
    if hosts().next().is_none() {
        return;
    }
    outcome.roce = Some(summary(outcome, network));
    let collective = |(number, it)| collective_outcome(number, it, network);
    outcome.collectives = collectives.iter().enumerate().map(collective).collect();
    outcome.messages = messages(hosts().map(|host| host.slowdowns.clone()));
}

fn summary(outcome: &Outcome, network: &Network) -> RoceOutcome {
    let mut sum = RoceOutcome::default();
    let mut is_rdma = Vec::new();
    for host in network.hosts() {
        is_rdma.push(host.rdma.is_some());
        let Some(rdma) = host.rdma.as_deref() else { continue };
        let counters = rdma.counters();
        sum.sent_packets += counters.sent_packets;
        sum.retransmitted_packets += counters.retransmitted;
        sum.naks += counters.nak_sequence_sent;
        sum.timeouts += counters.timeouts;
        sum.failures += rdma.failures;
        sum.ecn_marked_packets += counters.ecn_marked;
        sum.cnps_sent += counters.cnps_sent;
        sum.cnps_received += counters.cnps_received;
    }
    let switches = network.switches().len();
    let of_rdma = |wire: u32| {
        let from = network.ends[wire as usize].from.node();
        from.checked_sub(switches).is_some_and(|host| is_rdma[host])
    };
    let spans = network.pauses().filter(|span| of_rdma(span.wire));
    let paused_ps: u128 = spans.map(|span| u128::from(span.to_ps - span.from_ps)).sum();
    let hosts = is_rdma.iter().filter(|&&it| it).count() as u128;
    let all_ps = (u128::from(network.now_ps()) * hosts).max(1);
    sum.paused_millionths = narrow(paused_ps * MILLION / all_ps);
    let flows = || outcome.flows.iter().filter(|flow| flow.ideal_ps.is_some());
    sum.fairness_permille = fairness(flows().map(|flow| goodput_bps(flow, network.now_ps())));
    let mut slowdowns: Vec<u64> = flows().filter_map(slowdown_permille).collect();
    slowdowns.sort_unstable();
    sum.slowdown_p50_permille = percentile(&slowdowns, 50);
    sum.slowdown_p99_permille = percentile(&slowdowns, 99);
    sum
}

/// How much longer a flow that has ended took than on an idle network, in thousandths.
fn slowdown_permille(flow: &FlowOutcome) -> Option<u64> {
    let taken_ps = flow.finished_ps?.checked_sub(flow.start_ps)?;
    Some(narrow(u128::from(taken_ps) * 1_000 / u128::from(flow.ideal_ps?.max(1))))
}

fn goodput_bps(flow: &FlowOutcome, now_ps: Picoseconds) -> u64 {
    let end_ps = flow.finished_ps.unwrap_or(now_ps);
    bits_per_second(flow.received_bytes.into(), end_ps.saturating_sub(flow.start_ps))
}

fn bits_per_second(bytes: u128, in_ps: Picoseconds) -> u64 {
    narrow(bytes * 8 * PS_PER_SECOND / u128::from(in_ps.max(1)))
}

/// Jain's index, in thousandths: the square of the sum over the sum of squares.
fn fairness(rates: impl Iterator<Item = u64>) -> Option<u64> {
    // In kilobits a second, squares of sums of a million of them fit.
    let rates: Vec<u128> = rates.map(|rate| u128::from(rate / 1_000)).collect();
    let (sum, squares) =
        rates.iter().fold((0, 0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    (squares > 0).then(|| narrow(sum * sum * 1_000 / (squares * rates.len() as u128)))
}

/// Of values in order, the one that this many percent are not above.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

fn collective_outcome(number: usize, it: &Collective, network: &Network) -> CollectiveOutcome {
    let rdma = network.hosts().filter_map(|host| host.rdma.as_deref());
    let ranks = rdma.flat_map(|rdma| &rdma.ranks).filter(|rank| rank.collective == number);
    // A rank that only sends has nothing to wait for.
    let ends: Vec<Option<Picoseconds>> =
        ranks.filter(|rank| !rank.only_sends()).map(|rank| rank.finished_ps).collect();
    let all: Option<Vec<Picoseconds>> = ends.iter().copied().collect();
    let finished_ps = all.and_then(|all| all.into_iter().max());
    let start_ps = it.start_ns.saturating_mul(1_000);
    let round = |bytes: u128| {
        let taken_ps = finished_ps?.saturating_sub(start_ps);
        Some(bits_per_second(bytes * u128::from(it.rounds), taken_ps))
    };
    let (bytes, ranks) = (u128::from(it.bytes), it.ranks.len() as u128);
    let carried = match it.kind {
        CollectiveKind::AllReduceRing
        | CollectiveKind::AllReduceTree
        | CollectiveKind::AllReduceHalvingDoubling => 2 * bytes * (ranks - 1) / ranks,
        CollectiveKind::AllToAll => bytes * (ranks - 1) / ranks,
        CollectiveKind::Pipeline => bytes,
    };
    CollectiveOutcome {
        name: it.name.clone(),
        kind: it.kind.name().to_owned(),
        ranks: it.ranks.len(),
        bytes: it.bytes,
        rounds: it.rounds,
        start_ps,
        first_finished_ps: ends.iter().flatten().min().copied(),
        finished_ps,
        finished_ranks: it.ranks.len() - ends.iter().filter(|end| end.is_none()).count(),
        algorithm_bps: round(bytes),
        bus_bps: round(carried),
    }
}

fn messages(slowdowns: impl Iterator<Item = Histogram<u32>>) -> Option<MessagesOutcome> {
    let all = slowdowns.reduce(|mut sum, more| {
        // The bounds are the same, so nothing is refused.
        let _ = sum.add(&more);
        sum
    })?;
    (!all.is_empty()).then(|| MessagesOutcome {
        count: all.len(),
        slowdown_p50_permille: all.value_at_quantile(0.5),
        slowdown_p99_permille: all.value_at_quantile(0.99),
        slowdown_max_permille: all.max(),
    })
}

fn narrow(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rates_are_fair_and_one_of_four_is_a_quarter() {
        assert_eq!(fairness([5_000_000; 4].into_iter()), Some(1_000));
        assert_eq!(fairness([8_000_000, 0, 0, 0].into_iter()), Some(250));
        assert_eq!(fairness([0, 0].into_iter()), None);
        // (1 + 3)^2 / (2 (1 + 9)).
        assert_eq!(fairness([1_000_000, 3_000_000].into_iter()), Some(800));
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<u64> = (1..=100).collect();
        assert_eq!([50, 99, 100].map(|p| percentile(&values, p)), [Some(50), Some(99), Some(100)]);
        assert_eq!((percentile(&[7], 50), percentile(&[], 50)), (Some(7), None));
    }
}
