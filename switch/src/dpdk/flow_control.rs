//! Whether software PFC can work on a device: many NICs discard MAC control frames, and some answer
//! them themselves.

use super::error::errno_text;
use dpdk_sys::{RTE_ETH_FC_NONE, rte_eth_fc_conf};
use std::fmt;
use std::mem::MaybeUninit;

/// Drivers whose NIC drops each MAC control frame that is sent through it. The i40e driver sets a
/// filter on Ethernet type 0x8808 at start (DPDK's `i40e_ethdev.c`), and has no setting against it.
const DROPS_SENT_PFC: [&str; 1] = ["net_i40e"];

/// Whether PFC frames that the switch sends by a NIC with this driver never reach the wire.
pub(super) fn drops_sent_pfc(driver: &str) -> bool {
    DROPS_SENT_PFC.contains(&driver)
}

/// Whether PFC frames pass between the wire and the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// A virtual device: it passes every frame and answers none.
    Virtual,
    /// The NIC's own flow control is off, and it was set to forward MAC control frames
    /// (`mac_ctrl_frame_fwd`), which it confirms.
    Forwarded,
    /// As [`Self::Forwarded`], but the NIC does not confirm it: some drivers honor the setting
    /// without reporting it, some ignore it. Watch whether pauses are received.
    Unconfirmed,
    /// The NIC's own flow control is off, but it refuses to forward MAC control frames.
    Eaten {
        /// The NIC's answer.
        cause: String,
    },
    /// The NIC's own flow control cannot be turned off: it would pause beside the switch.
    Conflict {
        /// The NIC's answer.
        cause: String,
    },
    /// The NIC took the settings while its link was down. Some NICs apply them only to a link that
    /// comes up, so they are read again then.
    Unverified,
    /// The driver has no such setting, so nothing is known.
    Unknown,
}

impl fmt::Display for FlowControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Virtual => write!(f, "software PFC works here (virtual device)"),
            Self::Forwarded => {
                write!(f, "software PFC works here (set mode=none, mac_ctrl_frame_fwd=1)")
            }
            Self::Unconfirmed => write!(
                f,
                "the NIC took mode=none, mac_ctrl_frame_fwd=1 but does not confirm it: software \
                 PFC works only if received pauses are counted"
            ),
            Self::Eaten { cause } => write!(
                f,
                "the NIC discards PFC frames (set mode=none; mac_ctrl_frame_fwd: {cause}): \
                 the switch receives no pauses"
            ),
            Self::Conflict { cause } => {
                write!(f, "conflict: the NIC's own flow control stays on ({cause})")
            }
            Self::Unverified => write!(
                f,
                "the NIC took mode=none, mac_ctrl_frame_fwd=1; verified when its link is up"
            ),
            Self::Unknown => write!(
                f,
                "unknown whether the NIC forwards PFC frames to the switch: its driver has no \
                 flow-control setting"
            ),
        }
    }
}

/// Turns the NIC's own flow control off and the forwarding of MAC control frames on, as far as the
/// NIC allows. Called on a started port; `is_virtual` is for its bus. The result is read by
/// [`verify`] once the link is up: writing makes many NICs renegotiate their link.
pub(super) fn take_over(id: u16, is_virtual: bool) -> FlowControl {
    if is_virtual {
        return FlowControl::Virtual;
    }
    let Ok(mut wanted) = read(id) else { return FlowControl::Unknown };
    wanted.mode = RTE_ETH_FC_NONE;
    wanted.mac_ctrl_frame_fwd = 1;
    let with_forwarding = write(id, &mut wanted);
    if with_forwarding.is_err() {
        wanted.mac_ctrl_frame_fwd = 0;
        if let Err(cause) = write(id, &mut wanted) {
            return verdict(read(id).ok(), Some(&cause));
        }
    }
    match with_forwarding {
        Ok(()) => FlowControl::Unverified,
        Err(cause) => verdict(read(id).ok(), Some(&cause)),
    }
}

/// Reads back the settings that a NIC took.
pub(super) fn verify(id: u16) -> FlowControl {
    verdict(read(id).ok(), None)
}

/// Polls of the link at which the settings are read: at once, and after one and four seconds at ten
/// polls a second. Negotiation on copper takes up to three.
const READ_AT_POLLS: [u32; 3] = [1, 10, 40];

/// What is known of a NIC's flow control, read again whenever its link has come up.
#[derive(Debug)]
pub(super) struct FlowControlWatch {
    now: FlowControl,
    /// Whether the NIC took the settings, so that reading them is meaningful.
    is_settled: bool,
    /// Polls since the link came up.
    polls: u32,
}

impl FlowControlWatch {
    /// What came of [`take_over`]. What the NIC refused stays refused.
    pub(super) fn new(now: FlowControl) -> Self {
        Self { is_settled: now != FlowControl::Unverified, now, polls: 0 }
    }

    pub(super) const fn now(&self) -> &FlowControl {
        &self.now
    }

    /// A look at the link; what is known now, if that is something new. A NIC whose link is up but
    /// was negotiated with the old settings may change its mind, so it is read several times.
    pub(super) fn poll(
        &mut self,
        link_is_up: bool,
        read: impl FnOnce() -> FlowControl,
    ) -> Option<FlowControl> {
        if self.is_settled {
            return None;
        }
        self.polls = if link_is_up { self.polls.saturating_add(1) } else { 0 };
        if !READ_AT_POLLS.contains(&self.polls) {
            return None;
        }
        let found = read();
        let is_news = found != self.now;
        self.now.clone_from(&found);
        is_news.then_some(found)
    }
}

/// The verdict from a NIC's state as read back; `refusal` is its answer to the setting, if it
/// refused.
fn verdict(state: Option<rte_eth_fc_conf>, refusal: Option<&str>) -> FlowControl {
    let cause = || refusal.unwrap_or("it ignores mode=none").to_owned();
    match (state, refusal) {
        (None, _) => FlowControl::Unknown,
        (Some(state), _) if state.mode != RTE_ETH_FC_NONE => {
            FlowControl::Conflict { cause: cause() }
        }
        (Some(_), Some(_)) => FlowControl::Eaten { cause: cause() },
        (Some(state), None) if state.mac_ctrl_frame_fwd == 0 => FlowControl::Unconfirmed,
        (Some(_), None) => FlowControl::Forwarded,
    }
}

fn read(id: u16) -> Result<rte_eth_fc_conf, String> {
    let mut conf = MaybeUninit::<rte_eth_fc_conf>::zeroed();
    // SAFETY: `conf` is a valid place to write to; a bad id is an error, not undefined.
    match unsafe { dpdk_sys::rte_eth_dev_flow_ctrl_get(id, conf.as_mut_ptr()) } {
        // SAFETY: plain integers, all initialized: zeroed, then filled in.
        0 => Ok(unsafe { conf.assume_init() }),
        errno => Err(errno_text(errno)),
    }
}

fn write(id: u16, conf: &mut rte_eth_fc_conf) -> Result<(), String> {
    // SAFETY: `conf` is valid, and DPDK keeps no pointer to it.
    match unsafe { dpdk_sys::rte_eth_dev_flow_ctrl_set(id, conf) } {
        0 => Ok(()),
        errno => Err(errno_text(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpdk_sys::{RTE_ETH_FC_FULL, RTE_ETH_FC_RX_PAUSE, rte_eth_fc_mode};

    fn state(mode: rte_eth_fc_mode, mac_ctrl_frame_fwd: u8) -> Option<rte_eth_fc_conf> {
        Some(rte_eth_fc_conf {
            high_water: 0,
            low_water: 0,
            pause_time: 0,
            send_xon: 0,
            mode,
            mac_ctrl_frame_fwd,
            autoneg: 0,
        })
    }

    #[test]
    fn the_verdict_follows_the_settings_read_back() {
        let no = "Operation not supported";
        let eaten = FlowControl::Eaten { cause: no.to_owned() };
        let refused = FlowControl::Conflict { cause: no.to_owned() };
        let ignored = FlowControl::Conflict { cause: "it ignores mode=none".to_owned() };
        for (state, refusal, expected) in [
            (None, None, FlowControl::Unknown),
            (state(RTE_ETH_FC_NONE, 1), None, FlowControl::Forwarded),
            (state(RTE_ETH_FC_NONE, 0), None, FlowControl::Unconfirmed),
            (state(RTE_ETH_FC_NONE, 0), Some(no), eaten),
            (state(RTE_ETH_FC_FULL, 1), Some(no), refused),
            (state(RTE_ETH_FC_RX_PAUSE, 1), None, ignored),
        ] {
            assert_eq!(verdict(state, refusal), expected);
        }
    }

    #[test]
    fn settings_are_read_when_the_link_is_up_and_the_state_is_corrected() {
        let conflict = || FlowControl::Conflict { cause: "it ignores mode=none".to_owned() };
        let mut watch = FlowControlWatch::new(FlowControl::Unverified);
        let never = || -> FlowControl { panic!("not to be read now") };
        for _ in 0..100 {
            assert_eq!(watch.poll(false, never), None, "the link is down");
        }
        assert_eq!(watch.poll(true, conflict), Some(conflict()));
        for _ in 2..10 {
            assert_eq!(watch.poll(true, never), None);
        }
        assert_eq!(watch.poll(true, || FlowControl::Forwarded), Some(FlowControl::Forwarded));
        for _ in 11..40 {
            assert_eq!(watch.poll(true, never), None);
        }
        assert_eq!(watch.poll(true, || FlowControl::Forwarded), None, "it has not changed");
        for _ in 0..100 {
            assert_eq!(watch.poll(true, never), None);
        }
        assert_eq!(watch.poll(false, never), None);
        assert_eq!(watch.poll(true, conflict), Some(conflict()), "another link, another answer");
        assert_eq!(*watch.now(), conflict());
    }

    #[test]
    fn what_a_nic_refused_is_not_read_again() {
        for refused in [FlowControl::Virtual, FlowControl::Unknown] {
            let mut watch = FlowControlWatch::new(refused.clone());
            assert_eq!(watch.poll(true, || FlowControl::Forwarded), None);
            assert_eq!(*watch.now(), refused);
        }
    }
}
