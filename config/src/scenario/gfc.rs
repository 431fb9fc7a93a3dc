//! What `gfc` does with a queue of a scenario: where upstream is slowed down, and whether the bound
//! is kept.

use crate::gfc::{rest_bytes, slack, staged, theorem, tight, time_based};
use crate::headroom::Link;
use crate::units::show_size;
use dataplane::gfc::{Form, RateMap};

/// How rates follow queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gfc {
    /// What is told, and when.
    pub form: GfcForm,
    /// What must hold.
    pub bound: Bound,
    /// `Bm`; `None` for the slack below the switches' `static_th`.
    pub full_bytes: Option<u32>,
    /// How far XOFF stands above `Bm`; `None` for what [`slack`] asks for.
    pub slack_bytes: Option<u32>,
    /// Where slowing down begins: `B0`, or `B1` of the staged form. `None` for as late as the bound
    /// allows.
    pub start_bytes: Option<u32>,
    /// `time-based`: from message to message.
    pub period_ns: u64,
    /// Senders that may share an egress port: the hosts of the network.
    pub senders: u32,
}

/// The rates of a queue, and where they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GfcQueue {
    /// The bytes above which XOFF is due.
    pub xoff_bytes: u32,
    /// Which rate is requested at which fill; `None` in a build without gentle flow control.
    pub rate_map: Option<RateMap>,
}

impl Default for Gfc {
    fn default() -> Self {
        Self {
            form: GfcForm::Staged,
            bound: Bound::Theorem,
            full_bytes: None,
            slack_bytes: None,
            start_bytes: None,
            period_ns: 10_000,
            senders: 64,
        }
    }
}

/// What is told, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GfcForm {
    /// Each halving of the rate, when it is due (section 4.2): what switches can do.
    Staged,
    /// The rate, at every change of the queue (section 4.1).
    Conceptual,
    /// The rate, at even intervals, as links with credits tell them.
    TimeBased,
}

impl GfcForm {
    /// All of them, as they are written.
    pub const ALL: [(&'static str, Self); 3] = [
        ("staged", Self::Staged),
        ("conceptual", Self::Conceptual),
        ("time-based", Self::TimeBased),
    ];

    /// How it says rates, in a build that has gentle flow control.
    pub const fn form(self) -> Option<Form> {
        match self {
            Self::Staged => Form::STAGED,
            Self::Conceptual | Self::TimeBased => Form::LINEAR,
        }
    }
}

/// What a queue's rate map is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The GFC paper's.
    Theorem,
    /// `e C tau`, of the conceptual form; the GFC paper's for others.
    Tight,
    /// None: to see what comes of it.
    None,
}

impl Bound {
    /// All of them, as they are written.
    pub const ALL: [(&'static str, Self); 3] =
        [("theorem", Self::Theorem), ("tight", Self::Tight), ("none", Self::None)];
}

impl Gfc {
    /// The rates of a queue that `link` fills with frames that cost `frame_bytes` at most, in a
    /// switch whose `static_th` is `static_bytes`; `delay_bytes` still arrive after a message, as
    /// the buffer counts. `Err` is the whole message.
    ///
    /// # Errors
    /// The bound or the slack is not kept.
    pub fn queue(
        &self,
        link: &Link,
        static_bytes: u32,
        frame_bytes: u32,
        delay_bytes: u64,
    ) -> Result<GfcQueue, String> {
        let asked = slack(u64::from(frame_bytes), u64::from(self.senders), 0);
        let slack = self.slack_bytes.map_or(asked, u64::from);
        if self.bound != Bound::None && slack < asked {
            return Err(format!(
                "XOFF must stand a longest frame and a byte for each of {} hosts above `bm`, {}: `slack` is \
                 {} less; raise it",
                self.senders,
                show_size(asked),
                show_size(asked - slack)
            ));
        }
        let full = match self.full_bytes {
            Some(full_bytes) => u64::from(full_bytes),
            None => u64::from(static_bytes).saturating_sub(slack),
        };
        let needed = self.needed_bytes(link, delay_bytes);
        let rest = rest_bytes(full, self.start_bytes.map(u64::from), needed);
        if self.bound != Bound::None && rest < needed {
            return Err(format!(
                "slowing down must begin {} before the queue is full, at {}: that is {} more than there \
                 is; raise `bm` or `static_th`, or lower `b1`",
                show_size(needed),
                show_size(full),
                show_size(needed - rest)
            ));
        }
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let rate_map = match self.form {
            GfcForm::Staged => RateMap::staged(narrow(full), narrow(2 * rest), frame_bytes),
            GfcForm::Conceptual | GfcForm::TimeBased => RateMap::linear(narrow(full), narrow(rest)),
        };
        Ok(GfcQueue { xoff_bytes: narrow(full.saturating_add(slack)), rate_map })
    }

    /// How far below `Bm` slowing down must begin.
    fn needed_bytes(&self, link: &Link, delay_bytes: u64) -> u64 {
        match (self.form, self.bound) {
            (GfcForm::Staged, _) => staged(delay_bytes),
            (GfcForm::Conceptual, Bound::Tight) => tight(delay_bytes),
            (GfcForm::Conceptual, _) => theorem(delay_bytes),
            (GfcForm::TimeBased, _) => {
                let bits = u128::from(link.speed.bps()) * u128::from(self.period_ns);
                let period_bytes = u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX);
                time_based(delay_bytes, period_bytes)
            }
        }
    }
}
