//! What a host has to send: acknowledgments first, then its flows in turn.

use crate::event::{NEVER, Picoseconds};
use crate::flow::FlowId;
use crate::frame::{Pool, SimFrame};
use crate::source::Source;
use dataplane::ids::Priority;
use std::collections::VecDeque;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct TxQueue {
    /// Flows that have not begun, the next one to begin last.
    waiting: Vec<Source>,
    /// Flows that have begun and have not ended.
    active: Vec<Source>,
    /// Index of the flow that sends next.
    next_source: usize,
    acks: VecDeque<(SimFrame, Priority)>,
}

impl TxQueue {
    pub(crate) fn new(mut sources: Vec<Source>) -> Self {
        sources.sort_by_key(|source| std::cmp::Reverse((source.start_ps, source.flow)));
        Self { waiting: sources, active: Vec::new(), next_source: 0, acks: VecDeque::new() }
    }

    /// Removes all flows. Queued acknowledgments are still sent.
    pub(crate) fn stop(&mut self) {
        self.waiting.clear();
        self.active.clear();
    }

    /// Queues an acknowledgment.
    pub(crate) fn ack(&mut self, frame: SimFrame, priority: Priority) {
        self.acks.push_back((frame, priority));
    }

    /// The receiver of `flow` has all frames below `number`; with `is_gap`, it misses frame
    /// `number`.
    pub(crate) fn acknowledge(
        &mut self,
        flow: u32,
        number: u64,
        is_gap: bool,
        now_ps: Picoseconds,
    ) {
        let at = self.active.iter().position(|source| source.flow.0 == flow as usize);
        let Some(at) = at else { return };
        self.active[at].acknowledge(number, is_gap, now_ps);
        if self.active[at].is_over(now_ps) {
            self.remove(at);
        }
    }

    fn remove(&mut self, at: usize) {
        self.active.remove(at);
        if self.next_source > at {
            self.next_source -= 1;
        }
    }

    /// The next frame that is due and not of a priority in `paused`, with its flow, if it belongs
    /// to one, and its priority.
    pub(crate) fn next(
        &mut self,
        paused: u8,
        pool: &Pool,
        now_ps: Picoseconds,
    ) -> Option<(SimFrame, Option<FlowId>, Priority)> {
        let may_go = |priority: Priority| priority.bit() & paused == 0;
        if let Some(at) = self.acks.iter().position(|&(_, priority)| may_go(priority)) {
            return self.acks.remove(at).map(|(frame, priority)| (frame, None, priority));
        }
        while let Some(source) = self.waiting.pop_if(|source| source.start_ps <= now_ps) {
            self.active.push(source);
        }
        while let Some(at) = self.active.iter().position(|source| source.has_stopped(now_ps)) {
            self.remove(at);
        }
        self.active.iter_mut().for_each(|source| source.resend(now_ps));
        let count = self.active.len();
        let may = |source: &Source| source.due_ps(now_ps) <= now_ps && may_go(source.priority);
        let mut order = (self.next_source..count).chain(0..self.next_source.min(count));
        let chosen = order.find(|&at| may(&self.active[at]))?;
        self.next_source = chosen + 1;
        let source = &mut self.active[chosen];
        let (flow, priority) = (source.flow, source.priority);
        let frame = source.next(pool, now_ps);
        if source.is_over(now_ps) {
            self.remove(chosen);
        }
        Some((frame, Some(flow), priority))
    }

    /// The time at which something is due on a wire that is free at `free_at_ps`, and whether a
    /// pause holds something back.
    pub(crate) fn wants_turn_at_ps(
        &self,
        paused: u8,
        free_at_ps: Picoseconds,
    ) -> (Picoseconds, bool) {
        let start_ps = self.waiting.last().map_or(NEVER, |next| next.start_ps.max(free_at_ps));
        let (mut wanted_ps, mut is_held_back) = (start_ps, false);
        let mut add = |due_ps: Picoseconds, priority: Priority| {
            if priority.bit() & paused == 0 {
                wanted_ps = wanted_ps.min(due_ps.max(free_at_ps));
            } else {
                is_held_back = true;
            }
        };
        self.acks.iter().for_each(|&(_, priority)| add(0, priority));
        for source in &self.active {
            add(source.due_ps(free_at_ps).min(source.resend_at_ps()), source.priority);
        }
        (wanted_ps, is_held_back)
    }
}
