//! A rank of a collective at its host: what it has received, and what it may send now.

use super::collective::Program;
use crate::event::Picoseconds;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Rank {
    program: Program,
    /// The collective that it is of.
    pub(crate) collective: usize,
    /// By slot: the queue pair.
    pub(crate) queue_pairs: Vec<Option<u32>>,
    received: Vec<u64>,
    sent: u64,
    /// By stream: the next step.
    next: [u64; 2],
    left: u64,
    /// What each message takes to be computed, one after the other.
    compute_ps: Picoseconds,
    free_ps: Picoseconds,
    has_started: bool,
    /// When it had received all.
    pub(crate) finished_ps: Option<Picoseconds>,
}

/// A message that is to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) at_ps: Picoseconds,
    pub(crate) queue_pair: u32,
    pub(crate) bytes: u64,
}

impl Rank {
    pub(crate) fn new(program: Program, collective: usize, compute_ps: Picoseconds) -> Self {
        let slots = program.slots() as usize;
        Self {
            left: program.receives(),
            program,
            collective,
            queue_pairs: vec![None; slots],
            received: vec![0; slots],
            sent: 0,
            next: [0; 2],
            compute_ps,
            free_ps: 0,
            has_started: false,
            finished_ps: None,
        }
    }

    /// It begins; adds what it sends to `out`.
    pub(crate) fn start(&mut self, now_ps: Picoseconds, out: &mut Vec<Message>) {
        self.has_started = true;
        self.advance(now_ps, out);
    }

    /// A message has come by `slot`.
    pub(crate) fn receive(&mut self, slot: u32, now_ps: Picoseconds, out: &mut Vec<Message>) {
        self.received[slot as usize] += 1;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && self.finished_ps.is_none() {
            self.finished_ps = Some(now_ps);
        }
        self.advance(now_ps, out);
    }

    /// A message of its own has arrived.
    pub(crate) fn complete(&mut self, now_ps: Picoseconds, out: &mut Vec<Message>) {
        self.sent += 1;
        self.advance(now_ps, out);
    }

    /// Whether it receives nothing at all.
    pub(crate) fn only_sends(&self) -> bool {
        self.program.receives() == 0
    }

    fn advance(&mut self, now_ps: Picoseconds, out: &mut Vec<Message>) {
        if !self.has_started {
            return;
        }
        for stream in 0..2 {
            while self.next[stream] < self.program.steps(stream) {
                let step = self.program.step(stream, self.next[stream]);
                let has = |&(slot, count): &(u32, u64)| self.received[slot as usize] >= count;
                if self.sent < step.needs_sent || !step.needs.iter().all(has) {
                    break;
                }
                self.next[stream] += 1;
                self.free_ps = self.free_ps.max(now_ps).saturating_add(self.compute_ps);
                let (at_ps, bytes) = (self.free_ps, step.bytes);
                let queue_pairs =
                    step.to.iter().filter_map(|&slot| self.queue_pairs[slot as usize]);
                out.extend(queue_pairs.map(|queue_pair| Message { at_ps, queue_pair, bytes }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::scenario::CollectiveKind;

    #[test]
    fn a_stage_of_a_pipeline_computes_one_chunk_after_the_other() {
        let program = Program {
            kind: CollectiveKind::Pipeline,
            rank: 1,
            ranks: 3,
            bytes: 300,
            chunks: 3,
            rounds: 1,
        };
        let mut rank = Rank::new(program, 0, 10);
        rank.queue_pairs = vec![Some(7), Some(8)];
        let mut out = Vec::new();
        rank.receive(1, 100, &mut out);
        assert_eq!(out, [], "it has not begun");
        rank.start(105, &mut out);
        [106, 200].into_iter().for_each(|now_ps| rank.receive(1, now_ps, &mut out));
        let times: Vec<_> = out.iter().map(|it| (it.at_ps, it.queue_pair, it.bytes)).collect();
        assert_eq!(times, [(115, 7, 100), (125, 7, 100), (210, 7, 100)]);
        assert_eq!((rank.finished_ps, rank.only_sends()), (Some(200), false));
    }
}
