//! The frame in hand: one that a capture or the sampling follows, on its way through the stages.

use super::record::{Ending, Record};
use crate::ids::{PortId, Priority, Tag};

/// Who follows a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Followers {
    /// The capture: the frame matched.
    pub(crate) capture: bool,
    /// The sampling: it was the frame's turn.
    pub(crate) sampling: bool,
}

impl Followers {
    /// Whether there are any.
    pub(crate) const fn any(self) -> bool {
        self.capture || self.sampling
    }
}

/// The frame in hand, and what is known of it so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InHand {
    pub(crate) followers: Followers,
    pub(crate) ending: Ending,
    pub(crate) cause: Option<u8>,
    pub(crate) out: Option<(PortId, Priority)>,
    pub(crate) tags: Option<(Tag, Tag)>,
    /// Where the frame that is dropped next was to go.
    bound: Option<(PortId, Priority)>,
}

impl InHand {
    /// A frame that a stage takes up.
    pub(crate) fn new(followers: Followers) -> Self {
        Self { followers, ..Self::default() }
    }

    /// The frame ends so, or goes on so. What is copied stays flooded, whatever becomes of the
    /// copies.
    pub(crate) fn goes_on(&mut self, ending: Ending, cause: Option<u8>) {
        if self.ending != Ending::Flooded {
            self.ending = ending;
            self.cause = cause;
        }
    }

    /// The frame is to leave by this port in this priority, and its tag changes so.
    pub(crate) fn is_bound_for(&mut self, out: (PortId, Priority), tags: Option<(Tag, Tag)>) {
        if self.ending != Ending::Flooded {
            self.out = Some(out);
            self.tags = tags.or(self.tags);
        }
    }

    /// Completes the record of the frame's arrival.
    pub(super) fn complete(&self, record: &mut Record) {
        record.ending = self.ending;
        record.cause = self.cause;
        record.out_port = self.out.map(|out| out.0);
        record.out_class = self.out.map(|out| out.1);
        if self.ending == Ending::Forwarded {
            record.out_tag = self.tags.map_or(record.in_tag, |tags| Some(tags.1));
        }
    }

    /// The frame that is dropped next was to leave by this port in this priority.
    pub(crate) const fn set_bound(&mut self, out: (PortId, Priority)) {
        self.bound = Some(out);
    }

    /// Where the frame that is being dropped was to go.
    pub(crate) const fn take_bound(&mut self) -> Option<(PortId, Priority)> {
        self.bound.take()
    }
}
