//! The side that asks: connected queue pairs, and work that is kept in flight on them.

use super::RoceError;
use super::args::LinkArgs;
use super::driver::{Driver, packet_mtu};
use super::exchange::{Client, Pair};
use crate::stop_flag::StopFlag;
use crate::traffic::interface::Interface;
use dataplane::time::Instant;
use hdrhistogram::Histogram;
use roce::memory::Region;
use roce::work::{Completion, Operation, Place, QueuePairId, Remote, Status, WorkRequest};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// The address under which its memory is offered. No operation of the other side uses it.
const ADDRESS: u64 = 0x1000_0000;

/// One queue pair, its peer's, and when what is in flight was posted.
struct Connected {
    queue_pair: QueuePairId,
    theirs: Pair,
    posted: VecDeque<Instant>,
    bytes: u64,
}

/// Queue pairs that are connected to one peer.
pub(super) struct Requester {
    pub(super) driver: Driver,
    pub(super) mtu: u32,
    client: Client,
    own: Vec<Pair>,
    pairs: Vec<Connected>,
    local: Place,
    /// Operations completed since the last [`Self::measure`], and how long each took.
    pub(super) latencies: Histogram<u64>,
    pub(super) ops: u64,
}

impl Requester {
    /// Connects to `peer`, with `memory` to send from and read into.
    ///
    /// # Errors
    /// Nobody listens there, it cannot be reached, or the system refuses a raw socket.
    pub(super) fn connect(
        link: &LinkArgs,
        peer: IpAddr,
        memory: Vec<u8>,
        sends: bool,
    ) -> Result<Self, RoceError> {
        let interface = Interface::find(&link.dev)?;
        let own_mtu = link.mtu.map_or_else(|| interface.mtu().map(packet_mtu), Ok)?;
        let (mut client, mtu) = Client::connect(SocketAddr::new(peer, link.port), own_mtu, sends)?;
        let ip = client.own_ip()?;
        let mut driver = Driver::open(interface, ip, link)?;
        let bytes = u64::try_from(memory.len()).unwrap_or(u64::MAX);
        let (region, key) =
            driver.endpoint.register(Region { address: ADDRESS, bytes, is_remote: true });
        driver.memory.regions.push(memory);
        let mut own = Vec::new();
        let mut created = Vec::new();
        for _ in 0..link.qps {
            let (id, queue_pair, psn) = driver.create_queue_pair(mtu);
            own.push(Pair { queue_pair, psn, key, address: ADDRESS, reads: 16, ip });
            created.push(id);
        }
        let told = client.pairs(&own)?;
        let mut pairs = Vec::new();
        for (queue_pair, theirs) in created.into_iter().zip(told) {
            driver.connect(queue_pair, &theirs)?;
            pairs.push(Connected { queue_pair, theirs, posted: VecDeque::new(), bytes: 0 });
        }
        client.ready(&own)?;
        let latencies = Histogram::new(3)
            .map_err(|error| RoceError::Arguments(format!("a histogram of latencies: {error}")))?;
        let local = Place { region, offset: 0 };
        Ok(Self { driver, mtu, client, own, pairs, local, latencies, ops: 0 })
    }

    /// Keeps `depth` operations in flight on each queue pair, until `next` gives none, `until` has
    /// come, or `stop` is asked; then waits for those in flight if `drain`. `next` makes an
    /// operation: what it does at that memory of the peer's, from which byte of ours, how long.
    ///
    /// # Errors
    /// An operation fails, or the interface goes down.
    pub(super) fn run(
        &mut self,
        depth: usize,
        until: Instant,
        stop: &StopFlag,
        drain: bool,
        mut next: impl FnMut(Remote) -> Option<(Operation, u64, u32)>,
    ) -> Result<(), RoceError> {
        let mut has_more = true;
        loop {
            let now = self.driver.now();
            has_more &= now < until && !stop.asked();
            if has_more {
                has_more = self.fill(depth, now, &mut next)?;
            }
            let in_flight: usize = self.pairs.iter().map(|pair| pair.posted.len()).sum();
            if !has_more && (in_flight == 0 || !drain) {
                return Ok(());
            }
            let is_busy = self.driver.turn()?;
            while let Some(completion) = self.driver.endpoint.poll_completion() {
                self.complete(&completion)?;
            }
            if !is_busy {
                self.driver.sleep(if has_more { until } else { Instant::NEVER })?;
            }
        }
    }

    /// Posts what there is room for; whether there is more to post.
    fn fill(
        &mut self,
        depth: usize,
        now: Instant,
        next: &mut impl FnMut(Remote) -> Option<(Operation, u64, u32)>,
    ) -> Result<bool, RoceError> {
        let now_ps = self.driver.now_ps();
        for pair in &mut self.pairs {
            while pair.posted.len() < depth {
                let remote = Remote { address: pair.theirs.address, key: pair.theirs.key };
                let Some((operation, offset, bytes)) = next(remote) else { return Ok(false) };
                let local = Place { offset, ..self.local };
                let work = WorkRequest { id: 0, operation, local, bytes };
                self.driver.endpoint.post(now_ps, pair.queue_pair, work)?;
                pair.posted.push_back(now);
            }
        }
        Ok(true)
    }

    fn complete(&mut self, completion: &Completion) -> Result<(), RoceError> {
        if completion.status != Status::Success {
            return Err(RoceError::Operation(completion.status));
        }
        let now = self.driver.now();
        let at = usize::try_from(completion.queue_pair.0).unwrap_or(usize::MAX);
        let Some(pair) = self.pairs.get_mut(at) else { return Ok(()) };
        if let Some(posted) = pair.posted.pop_front() {
            // It grows with its values, so each fits.
            let _fits = self.latencies.record(now.ns_since(posted));
        }
        pair.bytes += u64::from(completion.bytes);
        self.ops += 1;
        Ok(())
    }

    /// Forgets what was measured.
    pub(super) fn measure(&mut self) {
        self.latencies.reset();
        self.ops = 0;
        for pair in &mut self.pairs {
            pair.bytes = 0;
        }
    }

    /// Bytes of the completed operations, by queue pair.
    pub(super) fn bytes(&self) -> Vec<u64> {
        self.pairs.iter().map(|pair| pair.bytes).collect()
    }

    /// Tells the peer that all is done.
    ///
    /// # Errors
    /// It has ended before.
    pub(super) fn end(&mut self) -> Result<(), RoceError> {
        self.client.end(&self.own)
    }
}
