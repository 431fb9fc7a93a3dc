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
//!   `Bm - B_k = (Bm - B0) / 2^k`. Safe if `Bm - B1 >= 2 C tau`. Stages end where the next one
//!   would be a byte long.
//!
//! Frames are not divisible. A sender's credit is negative by one frame at most
//! ([`RateAdjuster`] keeps that exactly), so a queue exceeds the fluid that the bounds are for by
//! one frame at most, in every stage and with every number of senders. XOFF therefore stands one
//! frame, and what a sender may catch up on, above `Bm`. The proof is in decision 065; `config`
//! places `Bm`.
//!
//! The message generator is [`RateMap`], one at each VIQ. The rate adjuster is [`RateAdjuster`],
//! one at each port that sends. The time field of a PFC frame carries the rate code between them.
//! Above XOFF, the headroom applies. It is not used while the bound holds and the queue drains. If
//! either is not the case, it prevents loss.
//!
//! The mechanism is claimed by a patent, see NOTICE. Without the feature `gfc` this module is not
//! built.

mod adjuster;
mod limiter;

pub use adjuster::RateAdjuster;

use crate::pfc::generator::QUANTA_MAX;
use limiter::Share;

/// Whether this build has gentle flow control.
pub const IS_BUILT: bool = true;

/// The highest stage number; each stage halves the rate.
const STAGES_MAX: u8 = 32;

/// Frames by which a stage ends later than the one before it begins. With 3, 4, 5, 6 and 8 the port
/// that sends most sends 1.52, 1.11, 0.90, 0.90 and 0.75 of the GFC paper's steady load, over 2 to
/// 64 senders and cables of 10 m to 2 km at 10G (decision 065).
const HYSTERESIS_FRAMES: u32 = 8;

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
    /// `Bm`: at this fill the rate is that of the last stage, or zero. XOFF is due above it.
    pub full_bytes: u32,
    /// `Bm - B0`: how far below `Bm` the rate begins to fall.
    pub span_bytes: u32,
    /// The last stage ([`RateMap::stages`]); 0 in the linear form.
    pub stages: u8,
    /// What the longest frame costs the buffer. The fill moves in steps of frames, and a step must
    /// not end a stage that the step before began.
    pub frame_bytes: u32,
}

impl Form {
    /// [`Form::Staged`], in a build that has it.
    pub const STAGED: Option<Self> = Some(Self::Staged);
    /// [`Form::Linear`], in a build that has it.
    pub const LINEAR: Option<Self> = Some(Self::Linear);
}

impl RateMap {
    /// Stages with `Bm` at `full_bytes` and `B0` at `span_bytes` below it, for frames that cost the
    /// buffer `frame_bytes` at most.
    pub const fn staged(full_bytes: u32, span_bytes: u32, frame_bytes: u32) -> Option<Self> {
        let stages = Self::stages(span_bytes);
        Some(Self { form: Form::Staged, full_bytes, span_bytes, stages, frame_bytes })
    }

    /// A straight line that ends at `full_bytes`.
    pub const fn linear(full_bytes: u32, span_bytes: u32) -> Option<Self> {
        Some(Self { form: Form::Linear, full_bytes, span_bytes, stages: 0, frame_bytes: 0 })
    }

    /// N of section 4.2: the first stage of at most 8 bits is the last one. Stage k is `(Bm - B0) /
    /// 2^k` long.
    pub const fn stages(span_bytes: u32) -> u8 {
        match span_bytes.checked_ilog2() {
            None => 1,
            // At most 32, which is a u8 and STAGES_MAX.
            #[expect(clippy::cast_possible_truncation, reason = "32 at the most")]
            Some(log2) if span_bytes.is_power_of_two() => log2 as u8,
            #[expect(clippy::cast_possible_truncation, reason = "32 at the most")]
            Some(log2) => log2 as u8 + 1,
        }
    }

    /// The code for a VIQ of `bytes` for which `sent` was sent upstream last.
    #[inline]
    pub fn code(&self, bytes: u32, sent: u16) -> u16 {
        match self.form {
            Form::Linear => self.withheld(bytes),
            Form::Staged => {
                let now = self.stage(bytes);
                // A pause is no stage, so there is none to stay in.
                let stays = sent > now && sent <= u16::from(STAGES_MAX);
                if stays { now.max(sent.min(self.held(bytes))) } else { now }
            }
        }
    }

    /// The highest stage that is not left at a fill of `bytes`. Stage k is left where stage k - 1
    /// begins, [`HYSTERESIS_FRAMES`] lower, but not below half of its own start, so that a queue
    /// whose `B1` is low does not run empty.
    ///
    /// A queue that drains at a rate between two stages alternates between them. For a fluid the
    /// length of a stage is enough for at most one message in 8 tau (the GFC paper's steady load,
    /// `m / 8 tau`). The frames are for what is not a fluid: a frame of the sender, the turns of
    /// the egress port's round robin, and a frame that enters two stages at once.
    fn held(&self, bytes: u32) -> u16 {
        let end =
            self.full_bytes.saturating_sub(self.frame_bytes.saturating_mul(HYSTERESIS_FRAMES));
        // `bytes >= end - 2 (Bm - B_k)` for every k up to this one.
        let held = match end.checked_sub(bytes) {
            None | Some(0) => u16::from(STAGES_MAX),
            Some(left) => log2(u64::from(self.span_bytes) * 2 / u64::from(left)),
        };
        held.min(self.stage(bytes.saturating_mul(2)))
    }

    /// The stage of a VIQ of `bytes`: k from `B_k` on, where `Bm - B_k = span / 2^k`.
    fn stage(&self, bytes: u32) -> u16 {
        let last = u16::from(self.stages.min(STAGES_MAX));
        match self.full_bytes.checked_sub(bytes) {
            None | Some(0) => last,
            Some(left) => log2(u64::from(self.span_bytes / left)).min(last),
        }
    }

    /// `B_k`: where stage `stage` begins.
    pub const fn stage_bytes(&self, stage: u8) -> u32 {
        let rest = if stage < 32 { self.span_bytes >> stage } else { 0 };
        self.full_bytes.saturating_sub(rest)
    }

    fn withheld(&self, bytes: u32) -> u16 {
        let start = self.full_bytes.saturating_sub(self.span_bytes);
        let over = u64::from(bytes.saturating_sub(start));
        // Rounded up, so that the rate is never above the line; and never the code of a pause.
        let withheld = (over * u64::from(QUANTA_MAX)).div_ceil(u64::from(self.span_bytes.max(1)));
        u16::try_from(withheld).unwrap_or(QUANTA_MAX).min(QUANTA_MAX - 1)
    }
}

/// The logarithm to base 2, rounded down; 0 of 0.
fn log2(value: u64) -> u16 {
    value.checked_ilog2().and_then(|log2| u16::try_from(log2).ok()).unwrap_or(0)
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
        Form::Staged => Some(Share::halved(code)),
        Form::Linear => Some(Share::of(QUANTA_MAX - code, QUANTA_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The GFC paper's Figure 5 in stages: `Bm` 100 KB, `B0` 50 KB.
    const STAGED: RateMap = RateMap {
        form: Form::Staged,
        full_bytes: 100_000,
        span_bytes: 50_000,
        stages: 16,
        frame_bytes: 1_500,
    };
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
            (99_998, 14),
            (99_999, 15),
            (100_000, 16),
            (200_000, 16),
        ] {
            assert_eq!(STAGED.code(bytes, 0), stage, "{bytes} bytes");
        }
    }

    /// Section 4.2: "once Bn - Bn-1 <= 8b, the following stages are omissible".
    #[test]
    fn stages_continue_until_one_is_eight_bits() {
        for (span, last) in [(1, 0), (2, 1), (3, 2), (32_768, 15), (32_769, 16), (37_000, 16)] {
            assert_eq!(RateMap::stages(span), last, "{span}");
            let bits = |stage: u8| 8.0 * f64::from(span) / f64::from(stage).exp2();
            assert!(bits(last) <= 8.0 && (last == 0 || bits(last - 1) > 8.0), "{span}");
        }
        assert_eq!(RateMap::stages(u32::MAX), STAGES_MAX);
        assert_eq!(RateMap::staged(100_000, 50_000, 1_500), Some(STAGED));
    }

    #[test]
    fn a_stage_is_left_eight_frames_below_where_the_one_before_it_begins() {
        assert_eq!((STAGED.code(63_000, 2), STAGED.code(62_999, 2)), (2, 1));
        assert_eq!((STAGED.code(38_000, 1), STAGED.code(37_999, 1)), (1, 0));
        assert_eq!(STAGED.code(75_000, 3), 2, "below 75,500, and not yet below 63,000");
        assert_eq!((STAGED.code(88_000, 16), STAGED.code(87_997, 16)), (16, 15));
        assert_eq!(STAGED.code(10_000, 4), 0, "all at once");
        assert_eq!(STAGED.code(74_000, QUANTA_MAX), 0, "after a pause there is none to stay in");
        // B1 is at 10,000: the stage ends at 5,000, not below zero.
        let steep = RateMap { span_bytes: 180_000, ..STAGED };
        assert_eq!((steep.code(5_000, 1), steep.code(4_999, 1)), (1, 0));
    }

    #[test]
    fn the_straight_line_is_straight() {
        assert_eq!((LINEAR.code(50_000, 0), LINEAR.code(50_001, 0)), (0, 2));
        assert_eq!(LINEAR.code(75_000, 0), 32_768);
        assert_eq!((LINEAR.code(100_000, 0), LINEAR.code(4_000_000, 0)), (65_534, 65_534));
        assert_eq!(share(Form::Linear, 32_767), Some(Share::of(32_768, 65_535)));
        assert_eq!((share(Form::Linear, 65_535), share(Form::Linear, 0)), (None, None));
        assert_eq!(share(Form::Staged, 3), Some(Share::of(1, 8)));
        assert_eq!(share(Form::Staged, 100), None, "a pause of 100 quanta");
    }

    proptest! {
        /// `R_k` is as in Figure 6: never more than the straight line allows at the end of the
        /// stage before, never less than at the end of its own.
        #[test]
        fn stages_follow_the_line(span in 2_000_u32..1_000_000, above: u32) {
            let full_bytes = span + above % 1_000_000;
            let stages = RateMap::stages(span);
            let rate_map =
                RateMap { full_bytes, span_bytes: span, stages, ..STAGED };
            for bytes in (0..full_bytes).step_by(usize::try_from(full_bytes / 97).unwrap().max(1)) {
                let stage = rate_map.code(bytes, 0);
                let left = u64::from(full_bytes - bytes);
                prop_assert!(stage == 0 || left <= u64::from(span) >> stage);
                prop_assert!(stage == u16::from(stages) || left > u64::from(span) >> (stage + 1));
            }
        }

        /// The rate is never above the line of the conceptual form.
        #[test]
        fn the_line_is_never_exceeded(bytes in 0_u32..100_000) {
            let left = u64::from(100_000 - bytes).min(50_000);
            let allowed = u64::from(QUANTA_MAX - LINEAR.code(bytes, 0));
            prop_assert!(allowed * 50_000 <= left * u64::from(QUANTA_MAX) || allowed == 1);
        }

        /// Against the definition: the highest stage that has not been left.
        #[test]
        fn hysteresis_only_ever_slows(bytes in 0_u32..120_000, sent in 0_u16..18) {
            let code = STAGED.code(bytes, sent);
            let now = STAGED.code(bytes, 0);
            let is_held = |stage: &u16| {
                let twice = u64::from(STAGED.span_bytes) * 2;
                let at = i64::from(STAGED.full_bytes)
                    - i64::try_from(twice >> *stage).unwrap()
                    - 8 * i64::from(STAGED.frame_bytes);
                let half = STAGED.stage_bytes(u8::try_from(*stage).unwrap()).div_ceil(2);
                i64::from(bytes) >= at && bytes >= half
            };
            let held = (now + 1..=sent.min(16)).rev().find(is_held).unwrap_or(now);
            prop_assert_eq!(code.min(16), held);
            prop_assert!(code >= now && code <= sent.max(now));
        }

        /// Frames by which a fill differs from a fluid do not end a stage that they began.
        #[test]
        fn eight_frames_do_not_end_a_stage_that_they_began(bytes in 60_000_u32..120_000) {
            let began = STAGED.code(bytes, 0);
            prop_assert_eq!(STAGED.code(bytes - 8 * 1_500, began), began);
        }
    }
}
