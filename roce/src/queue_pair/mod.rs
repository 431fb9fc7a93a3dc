//! One queue pair of the reliable connection.

mod answers;
mod bitmap;
mod reorder;
mod repair;
mod requester;
mod responder;

use crate::congestion::Congestion;
use crate::counters::Counters;
use crate::memory::{Memory, Regions};
use crate::pacer::Pacer;
use crate::psn::Psn;
use crate::settings::{Peer, QueuePairSettings};
use crate::time::Picoseconds;
use crate::wire::{Encapsulation, Kind, Opcode, Position, Syndrome, TransportHeaders};
use crate::work::{Completion, Place, PostError, QueuePairId, ReceiveRequest, Status, WorkRequest};
use dataplane::wire::telemetry::Stack;
use requester::Requester;
use responder::Responder;
use std::collections::VecDeque;

/// What an event at a queue pair may use and change.
pub(crate) struct Context<'a> {
    pub(crate) now_ps: Picoseconds,
    pub(crate) queue_pair: QueuePairId,
    pub(crate) settings: &'a QueuePairSettings,
    pub(crate) congestion: &'a mut Congestion,
    pub(crate) counters: &'a mut Counters,
    pub(crate) completions: &'a mut VecDeque<Completion>,
    pub(crate) regions: &'a Regions,
    /// What switches wrote into the packet that is acknowledged.
    pub(crate) telemetry: Option<&'a Stack>,
}

/// What an event at a queue pair may use of its endpoint.
pub(crate) struct Shared<'a> {
    pub(crate) now_ps: Picoseconds,
    pub(crate) counters: &'a mut Counters,
    pub(crate) completions: &'a mut VecDeque<Completion>,
    pub(crate) regions: &'a Regions,
}

/// A packet that has arrived.
#[derive(Clone, Copy)]
pub(crate) struct Arrived<'a> {
    pub(crate) headers: &'a TransportHeaders,
    pub(crate) payload_bytes: u32,
    pub(crate) payload: Option<&'a [u8]>,
    pub(crate) telemetry: Option<&'a Stack>,
}

/// A packet to send.
pub(crate) struct Built {
    pub(crate) headers: TransportHeaders,
    /// Its payload: where it stands, and how long it is.
    pub(crate) payload: Option<(Place, u32)>,
    pub(crate) is_repetition: bool,
    /// What an acknowledgment says of the packet that it acknowledges.
    pub(crate) telemetry: Option<Stack>,
}

/// The connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) encapsulation: Encapsulation,
}

/// A queue pair.
#[derive(Clone, Debug)]
pub(crate) struct QueuePair {
    pub(crate) id: QueuePairId,
    pub(crate) settings: QueuePairSettings,
    pub(crate) connection: Option<Connection>,
    pub(crate) congestion: Congestion,
    pub(crate) pacer: Pacer,
    requester: Requester,
    responder: Responder,
    /// When the next congestion notification packet may be sent, and whether one is to be.
    cnp_from_ps: Picoseconds,
    is_cnp_due: bool,
    /// What switches wrote into the last request, for the next acknowledgment.
    reflected: Option<Stack>,
}

impl QueuePair {
    pub(crate) fn new(
        id: QueuePairId,
        settings: QueuePairSettings,
        congestion: Congestion,
    ) -> Self {
        Self {
            id,
            connection: None,
            congestion,
            pacer: Pacer::default(),
            requester: Requester::new(&settings),
            responder: Responder::new(&settings),
            settings,
            cnp_from_ps: 0,
            is_cnp_due: false,
            reflected: None,
        }
    }

    pub(crate) fn connect(&mut self, peer: Peer, encapsulation: Encapsulation) {
        self.responder.connect(peer.psn);
        self.connection = Some(Connection { peer, encapsulation });
    }

    /// Ends the connection: what is posted is flushed, and what arrives is for nobody.
    pub(crate) fn close(&mut self, shared: Shared<'_>) {
        let (requester, responder, mut context) = self.parts(shared, None);
        if !requester.has_failed() {
            requester.fail(Status::Flushed, &mut context);
        }
        if !responder.has_failed() {
            responder.fail(&mut context);
        }
        self.connection = None;
    }

    pub(crate) fn post(&mut self, work: WorkRequest) -> Result<(), PostError> {
        if self.connection.is_none() {
            return Err(PostError::NotConnected);
        }
        if self.responder.has_failed() {
            return Err(PostError::Failed);
        }
        self.requester.post(work, &self.settings)
    }

    pub(crate) fn post_receive(&mut self, buffer: ReceiveRequest) -> Result<(), PostError> {
        if self.responder.has_failed() {
            return Err(PostError::Failed);
        }
        self.responder.post(buffer);
        Ok(())
    }

    fn parts<'a>(
        &'a mut self,
        shared: Shared<'a>,
        telemetry: Option<&'a Stack>,
    ) -> (&'a mut Requester, &'a mut Responder, Context<'a>) {
        let context = Context {
            now_ps: shared.now_ps,
            queue_pair: self.id,
            settings: &self.settings,
            congestion: &mut self.congestion,
            counters: shared.counters,
            completions: shared.completions,
            regions: shared.regions,
            telemetry,
        };
        (&mut self.requester, &mut self.responder, context)
    }

    /// A packet of the peer has arrived.
    pub(crate) fn receive<M: Memory>(
        &mut self,
        arrived: Arrived<'_>,
        shared: Shared<'_>,
        memory: &mut M,
    ) {
        let headers = arrived.headers;
        if let Kind::Send | Kind::Write = headers.opcode.kind {
            self.reflected = arrived.telemetry.copied();
        }
        let (requester, responder, mut context) = self.parts(shared, arrived.telemetry);
        let context = &mut context;
        match headers.opcode.kind {
            Kind::Send | Kind::Write | Kind::ReadRequest | Kind::Atomic => {
                responder.on_request(arrived, context, memory);
            }
            _ if requester.has_failed() => context.counters.stale_answers += 1,
            Kind::Acknowledge => requester.on_acknowledge(headers, context),
            Kind::ReadResponse => {
                let place = requester.on_read_response(headers, arrived.payload_bytes, context);
                if let Some(place) = place {
                    context.counters.received_bytes += u64::from(arrived.payload_bytes);
                    if let Some(payload) = arrived.payload.filter(|it| !it.is_empty()) {
                        memory.write(place, payload);
                    }
                }
            }
            Kind::AtomicAcknowledge => requester.on_atomic(headers, context),
            Kind::CongestionNotification => {
                context.counters.cnps_received += 1;
                context.congestion.on_cnp(context.now_ps);
            }
        }
        fail_both(requester, responder, context);
    }

    /// A switch has marked a data packet; whether a notification is to be sent.
    pub(crate) const fn on_marked(&mut self, now_ps: Picoseconds, interval_ps: Picoseconds) {
        if now_ps >= self.cnp_from_ps {
            self.is_cnp_due = true;
            self.cnp_from_ps = now_ps.saturating_add(interval_ps);
        }
    }

    pub(crate) const fn is_cnp_due(&self) -> bool {
        self.is_cnp_due
    }

    /// Whether an answer without payload is to be sent.
    pub(crate) fn is_answer_due(&self) -> bool {
        self.responder.is_control_due()
    }

    /// Whether a packet is to be sent that waits for its departure time.
    pub(crate) fn is_data_due(&self, now_ps: Picoseconds) -> bool {
        self.responder.is_data_due()
            || self.requester.has_data(now_ps, self.congestion.window_bytes(), &self.settings)
    }

    pub(crate) const fn timer_ps(&self) -> Picoseconds {
        self.requester.timer_ps()
    }

    pub(crate) fn on_timer(&mut self, shared: Shared<'_>) {
        let now_ps = shared.now_ps;
        let (requester, responder, mut context) = self.parts(shared, None);
        if requester.timer_ps() <= now_ps {
            requester.on_timer(&mut context);
            fail_both(requester, responder, &mut context);
        }
    }

    /// The congestion notification packet that is due.
    pub(crate) fn build_cnp(&mut self) -> Option<Built> {
        let peer = self.connection.as_ref()?.peer;
        std::mem::take(&mut self.is_cnp_due).then(|| {
            let opcode = Opcode::new(Kind::CongestionNotification, Position::Only);
            let headers = TransportHeaders::new(opcode, peer.queue_pair, Psn::default());
            Built { headers, payload: None, is_repetition: false, telemetry: None }
        })
    }

    /// The answer without payload that is due.
    pub(crate) fn build_answer(&mut self) -> Option<Built> {
        let peer = self.connection.as_ref()?.peer;
        if !self.responder.is_control_due() {
            return None;
        }
        let mut built = self.responder.build(peer.queue_pair, self.settings.mtu)?;
        let headers = &built.headers;
        if headers.opcode.kind == Kind::Acknowledge && headers.syndrome == Syndrome::Acknowledge {
            built.telemetry = self.reflected;
        }
        Some(built)
    }

    /// The next packet that waits for a departure time: answers to READs first, as acknowledgments
    /// wait behind them.
    pub(crate) fn build_data(&mut self, now_ps: Picoseconds) -> Option<Built> {
        let peer = self.connection.as_ref()?.peer;
        if self.responder.is_data_due() {
            return self.responder.build(peer.queue_pair, self.settings.mtu);
        }
        let window_bytes = self.congestion.window_bytes();
        self.requester.build(peer.queue_pair, now_ps, window_bytes, &self.settings)
    }
}

/// A connection fails on both sides at once.
fn fail_both(requester: &mut Requester, responder: &mut Responder, context: &mut Context<'_>) {
    match (requester.has_failed(), responder.has_failed()) {
        (true, false) => responder.fail(context),
        (false, true) => requester.fail(Status::Flushed, context),
        _ => {}
    }
}
