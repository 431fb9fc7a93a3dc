//! What the stages are told about the arrival of a burst.

/// Where the frames of a burst came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Slot of the ingress port, which the worker owns.
    pub(crate) slot: usize,
    /// Whether the arrival of the frames is still to be counted. It is not for frames that enter
    /// the pipeline again, from the control thread or after they waited for their next hop.
    pub(crate) is_new: bool,
    /// Whether those of the frames that a capture follows have been taken out already.
    pub(crate) is_matched: bool,
}
