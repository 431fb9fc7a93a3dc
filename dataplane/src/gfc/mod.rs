//! Gentle flow control (GFC): upstream is sent a rate instead of XOFF and XON.
//!
//! Reference: "Gentle Flow Control" (SIGCOMM 2019), section 4. A VIQ (virtual ingress queue; SONiC:
//! priority group) below `B0` lets upstream send at full rate `C`. From there to `Bm` the rate
//! falls linearly to zero. So a queue settles where it drains as fast as it fills, and no switch
//! holds a buffer while it waits.
//!
//! - Conceptual (4.1): every change of the queue is sent. Safe if `Bm - B0 >= 4 C tau` (Theorem
//!   4.1). A closer analysis shows that `>= e C tau` is enough: `x' = -k x(t - tau)` never crosses
//!   zero if `k tau <= 1/e`.
//! - Staged (4.2): only halvings are sent. `R_k = C / 2^k` from `B_k` on, and
//!   `Bm - B_k = (Bm - B0) / 2^k`. Safe if `Bm - B1 >= 2 C tau`.
//!
//! The message generator is [`RateMap`], one at each VIQ. The rate adjuster is [`RateAdjuster`],
//! one at each port that sends. The time field of a PFC frame carries the rate code between them.
//! Above `Bm`, ordinary XOFF and its headroom apply. The headroom is never used while the bound
//! holds and the queue drains. If neither is the case, it prevents loss.
//!
//! The mechanism is claimed by a patent, see NOTICE. Without the feature `gfc` this module is not
//! built.

mod adjuster;

pub use adjuster::RateAdjuster;

use crate::pfc::generator::QUANTA_MAX;
use crate::queue::pacer::Share;

/// Whether this build has gentle flow control.
pub const IS_BUILT: bool = true;

/// The highest stage number; each stage halves the rate.
pub const STAGES_MAX: u8 = 32;

/// How a time field encodes a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The number of the stage, which is how often the rate is halved. Larger times are pauses.
    Staged,
    /// The part of the rate that is withheld, in 65,535ths. Only 65,535 itself is a pause.
    Linear,
}

/// The rate that a VIQ requests for each fill level (the GFC paper's mapping function, Figures 4
/// and 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateMap {
    /// The encoding of the rate.
    pub form: Form,
    /// `Bm`: at this fill the rate is zero.
    pub full_bytes: u32,
    /// `Bm - B0`: how far below `Bm` the rate begins to fall.
    pub span_bytes: u32,
    /// The last stage; the next one would be shorter than a frame.
    pub stages: u8,
}

impl Form {
    /// [`Form::Staged`], in a build that has it.
    pub const STAGED: Option<Self> = Some(Self::Staged);
    /// [`Form::Linear`], in a build that has it.
    pub const LINEAR: Option<Self> = Some(Self::Linear);
}

impl RateMap {
    /// Stages 1 to `stages`, with `Bm` at `full_bytes`.
    pub const fn staged(full_bytes: u32, span_bytes: u32, stages: u8) -> Option<Self> {
        Some(Self { form: Form::Staged, full_bytes, span_bytes, stages })
    }

    /// A straight line that ends at `full_bytes`.
    pub const fn linear(full_bytes: u32, span_bytes: u32) -> Option<Self> {
        Some(Self { form: Form::Linear, full_bytes, span_bytes, stages: 0 })
    }

    /// The code for a VIQ of `bytes` for which `sent` was sent upstream last.
    #[inline]
    pub fn code(&self, bytes: u32, sent: u16) -> u16 {
        match self.form {
            Form::Linear => self.withheld(bytes),
            Form::Staged => {
                let now = self.stage(bytes);
                // A pause is no stage, so there is none to stay in.
                let sent = if sent > u16::from(STAGES_MAX) { now } else { sent };
                let held = (now + 1..=sent).rev().find(|&stage| bytes >= self.left_at_bytes(stage));
                held.unwrap_or(now)
            }
        }
    }

    /// The fill below which `stage` ends: where the stage before it begins. A queue that drains at
    /// a rate between two stages alternates between them. With this hysteresis it causes at most
    /// two messages in 16 tau (the GFC paper's steady load, `m / 8 tau`). The first stage ends at
    /// half of its start at the latest, before the queue is empty.
    fn left_at_bytes(&self, stage: u16) -> u32 {
        let stage = u8::try_from(stage).unwrap_or(STAGES_MAX);
        let begins = self.stage_bytes(stage);
        begins - self.rest_bytes(stage).min(begins / 2)
    }

    /// `(Bm - B0) / 2^k`.
    const fn rest_bytes(&self, stage: u8) -> u32 {
        self.span_bytes >> if stage < 31 { stage } else { 31 }
    }

    /// The stage of a VIQ of `bytes`: k from `B_k` on, where `Bm - B_k = span / 2^k`.
    fn stage(&self, bytes: u32) -> u16 {
        let left = self.full_bytes.saturating_sub(bytes).max(1);
        let stage = (self.span_bytes / left).checked_ilog2().unwrap_or(0);
        let stage = stage.min(u32::from(self.stages.min(STAGES_MAX)));
        u16::try_from(stage).unwrap_or(0)
    }

    /// `B_k`: where stage `stage` begins.
    pub const fn stage_bytes(&self, stage: u8) -> u32 {
        self.full_bytes.saturating_sub(self.rest_bytes(stage))
    }

    fn withheld(&self, bytes: u32) -> u16 {
        let start = self.full_bytes.saturating_sub(self.span_bytes);
        let over = u64::from(bytes.saturating_sub(start));
        let withheld = over * u64::from(QUANTA_MAX) / u64::from(self.span_bytes.max(1));
        // At least 1 if the line is crossed at all, and never the code of a pause.
        let withheld = withheld.max(u64::from(over > 0)).min(u64::from(QUANTA_MAX) - 1);
        u16::try_from(withheld).unwrap_or(QUANTA_MAX - 1)
    }
}

/// Whether `code` in a time field is a rate, not a pause or the end of one.
pub fn is_rate(form: Form, code: u16) -> bool {
    share(form, code).is_some()
}

/// The share of its rate that `code` leaves to a sender; `None` if `code` is a pause or the end of
/// one.
pub(crate) fn share(form: Form, code: u16) -> Option<Share> {
    match form {
        _ if code == 0 || code == QUANTA_MAX => None,
        Form::Staged if code > u16::from(STAGES_MAX) => None,
        Form::Staged => Some(Share { of: 1, parts: 1 << code }),
        Form::Linear => {
            Some(Share { of: u64::from(QUANTA_MAX - code), parts: u64::from(QUANTA_MAX) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The GFC paper's Figure 5 in stages: `Bm` 100 KB, `B0` 50 KB.
    const STAGED: RateMap =
        RateMap { form: Form::Staged, full_bytes: 100_000, span_bytes: 50_000, stages: 4 };
    const LINEAR: RateMap = RateMap { form: Form::Linear, ..STAGED };

    #[test]
    fn stages_begin_where_the_rest_of_the_buffer_halves() {
        let begins: alloc::vec::Vec<u32> = (1..=4).map(|k| STAGED.stage_bytes(k)).collect();
        assert_eq!(begins, [75_000, 87_500, 93_750, 96_875]);
        for (bytes, stage) in [
            (0, 0),
            (74_999, 0),
            (75_000, 1),
            (87_499, 1),
            (87_500, 2),
            (93_750, 3),
            (96_875, 4),
            (99_999, 4),
            (200_000, 4),
        ] {
            assert_eq!(STAGED.code(bytes, 0), stage, "{bytes} bytes");
        }
    }

    #[test]
    fn a_stage_is_left_where_the_one_before_it_begins() {
        assert_eq!((STAGED.code(75_000, 2), STAGED.code(74_999, 2)), (2, 1));
        assert_eq!((STAGED.code(50_000, 1), STAGED.code(49_999, 1)), (1, 0));
        assert_eq!(STAGED.code(80_000, 3), 2, "below 87,500, and not yet below 75,000");
        assert_eq!(STAGED.code(10_000, 4), 0, "all at once");
        assert_eq!(STAGED.code(74_000, QUANTA_MAX), 0, "after a pause there is none to stay in");
        // B1 is at 10,000: the stage ends at 5,000, not at -80,000.
        let steep = RateMap { span_bytes: 180_000, ..STAGED };
        assert_eq!((steep.code(5_000, 1), steep.code(4_999, 1)), (1, 0));
    }

    #[test]
    fn the_straight_line_is_straight() {
        assert_eq!((LINEAR.code(50_000, 0), LINEAR.code(50_001, 0)), (0, 1));
        assert_eq!(LINEAR.code(75_000, 0), 32_767);
        assert_eq!((LINEAR.code(100_000, 0), LINEAR.code(4_000_000, 0)), (65_534, 65_534));
        assert_eq!(share(Form::Linear, 32_767), Some(Share { of: 32_768, parts: 65_535 }));
        assert_eq!((share(Form::Linear, 65_535), share(Form::Linear, 0)), (None, None));
        assert_eq!(share(Form::Staged, 3), Some(Share { of: 1, parts: 8 }));
        assert_eq!(share(Form::Staged, 100), None, "a pause of 100 quanta");
    }

    proptest! {
        /// `R_k` is as in Figure 6: never more than the straight line allows at the end of the
        /// stage before, never less than at the end of its own.
        #[test]
        fn stages_follow_the_line(span in 2_000_u32..1_000_000, above: u32, stages in 1_u8..20) {
            let full_bytes = span + above % 1_000_000;
            let rate_map = RateMap { form: Form::Staged, full_bytes, span_bytes: span, stages };
            for bytes in (0..full_bytes).step_by(usize::try_from(full_bytes / 97).unwrap().max(1)) {
                let stage = rate_map.code(bytes, 0);
                let left = u64::from(full_bytes - bytes);
                prop_assert!(stage == 0 || left <= u64::from(span) >> stage);
                prop_assert!(stage == u16::from(stages) || left > u64::from(span) >> (stage + 1));
            }
        }

        #[test]
        fn hysteresis_only_ever_slows(bytes in 0_u32..200_000, sent in 0_u16..6) {
            let code = STAGED.code(bytes, sent);
            prop_assert!(code >= STAGED.code(bytes, 0));
            prop_assert!(code <= sent.max(STAGED.code(bytes, 0)));
        }
    }
}
