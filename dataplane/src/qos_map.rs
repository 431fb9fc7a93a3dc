//! QoS maps of ports (SONiC: PORT_QOS_MAP): a tag may have one priority where it is received and
//! another where it is sent.
//!
//! Without them a tag has one priority, that of its VIQ and of its VEQ, on every port. A map
//! changes no marking and no tag. So it moves frames between queues of this switch only, and the
//! next switch sees what it would see without.

use crate::ids::{PortId, Priority, Tag};
use crate::limits::TAGS;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The priorities of each tag on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QosMap {
    /// The priority of the VIQ of received frames, by tag (SONiC: TC_TO_PRIORITY_GROUP_MAP).
    pub priority_group: [Priority; TAGS],
    /// The priority of the VEQ of frames to be sent, by tag (SONiC: TC_TO_QUEUE_MAP).
    pub queue: [Priority; TAGS],
}

impl QosMap {
    /// The map of a port without one: each tag has its `priority` on both sides.
    pub const fn plain(priority: [Priority; TAGS]) -> Self {
        Self { priority_group: priority, queue: priority }
    }
}

/// The maps of all ports.
#[derive(Clone, Debug)]
pub(crate) struct QosMaps {
    /// By port index.
    ports: Vec<Arc<QosMap>>,
    /// By tag: a bit for each priority in which some port sends it.
    queue_bits: [u8; TAGS],
}

impl QosMaps {
    /// The maps of ports, in port order; `priority` is that of each tag on a port without one.
    /// `None` if no port has one.
    pub(crate) fn compile(
        priority: [Priority; TAGS],
        maps: &[Option<Arc<QosMap>>],
    ) -> Option<Self> {
        maps.iter().flatten().next()?;
        let default = Arc::new(QosMap::plain(priority));
        let ports: Vec<Arc<QosMap>> =
            maps.iter().map(|map| Arc::clone(map.as_ref().unwrap_or(&default))).collect();
        let queue_bits = core::array::from_fn(|tag| {
            ports.iter().fold(0, |bits, map| bits | map.queue[tag].bit())
        });
        Some(Self { ports, queue_bits })
    }

    /// Whether a frame of `tag` in the VIQ of `priority` may leave some port in another priority.
    pub(crate) const fn may_differ(&self, tag: Tag, priority: Priority) -> bool {
        self.queue_bits[tag.index()] & !priority.bit() != 0
    }

    /// The priority of the VIQ of a frame of `tag` that `input` has received.
    pub(crate) fn priority_group(&self, tag: Tag, input: PortId) -> Option<Priority> {
        Some(self.ports.get(input.index())?.priority_group[tag.index()])
    }

    /// The priority of the VEQ of a frame that leaves `output` with `tag`.
    pub(crate) fn queue(&self, tag: Tag, output: PortId) -> Option<Priority> {
        Some(self.ports.get(output.index())?.queue[tag.index()])
    }
}
