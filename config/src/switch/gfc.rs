//! `[gfc]`: gentle flow control, in stages, below each lossless queue's XOFF.

use super::port_draft::PortDraft;
use super::schema::{LosslessTable, SwitchFile};
use super::viq::Planner;
use crate::error::ConfigError;
use crate::gfc::{rest_bytes, staged, stages};
use crate::headroom::charged_bytes;
use crate::source::Source;
use crate::units::show_size;
use dataplane::gfc::{Form, IS_BUILT, RateMap};
use dataplane::settings::{GfcSettings, Threshold};
use toml::Spanned;

/// What a class may make up for after a late poll: two polls.
const POLLS_OF_CATCH_UP: u64 = 2;

/// Whether `[gfc]` may stand in this file.
///
/// # Errors
/// This build has none, or there is another way out.
pub(super) fn check(source: &Source, file: &SwitchFile) -> Result<(), ConfigError> {
    let Some(table) = &file.gfc else { return Ok(()) };
    let message = match () {
        () if !IS_BUILT => {
            "this build has no gentle flow control; build with the feature `gfc`, or remove this table"
        }
        () if file.ttl.is_some() => {
            "[ttl] and [gfc] are two ways out of the same deadlock; remove one of them"
        }
        () => return Ok(()),
    };
    Err(source.at(table.span(), message))
}

impl Planner<'_> {
    /// How this switch says rates to a neighbor and obeys them, if it does.
    pub(super) fn gfc(&self) -> Option<GfcSettings> {
        self.gfc?;
        let catch_up_ns = self.catch_up_ns();
        Form::STAGED.map(|form| GfcSettings { form, catch_up_ns, period_ns: None })
    }

    fn catch_up_ns(&self) -> u64 {
        POLLS_OF_CATCH_UP * self.usual_poll_ns()
    }

    /// The stages of a lossless queue: as late as the bound allows, or from `b1` on.
    pub(super) fn rate_map(
        &self,
        table: &Spanned<LosslessTable>,
        port: &PortDraft<'_>,
        threshold: Threshold,
    ) -> Result<Option<RateMap>, ConfigError> {
        let Some(gfc) = self.gfc else { return Ok(None) };
        let priority = table.get_ref().priority.get_ref().0;
        let needed_bytes = self.needed_below_full(port);
        let Threshold::Static { xoff_bytes } = threshold else {
            let message = format!(
                "gentle flow control goes by how full a queue is: give priority {priority} a `static_th`, \
                 {} at least for port `{}`",
                show_size(needed_bytes),
                port.name()
            );
            return self.wrong(table.span(), message);
        };
        let start_bytes = gfc.get_ref().b1.as_ref().map(|field| field.get_ref().0);
        let rest_bytes = rest_bytes(u64::from(xoff_bytes), start_bytes, needed_bytes);
        if rest_bytes < needed_bytes {
            let span = gfc.get_ref().b1.as_ref().map(Spanned::span);
            let span = span.or_else(|| table.get_ref().static_th.as_ref().map(Spanned::span));
            let message = format!(
                "upstream of port `{}` must be slowed down 2 C tau and a frame, {}, before `static_th` of priority \
                 {priority}: that is {} more than there is; raise `static_th` or lower `b1`",
                port.name(),
                show_size(needed_bytes),
                show_size(needed_bytes - rest_bytes)
            );
            return self.wrong(span.unwrap_or_else(|| table.span()), message);
        }
        let span_bytes = u32::try_from(2 * rest_bytes).unwrap_or(u32::MAX);
        let frame_bytes = self.frame_cost(port);
        let stages = stages(u64::from(span_bytes), frame_bytes);
        Ok(RateMap::staged(xoff_bytes, span_bytes, stages))
    }

    /// `2 C tau` and a frame, in charged bytes. `C tau` is what still arrives after a message,
    /// which is what headroom is for, and what a class may make up for at half its rate.
    fn needed_below_full(&self, port: &PortDraft<'_>) -> u64 {
        let speed = port.settings.speed;
        let made_up = speed.bps().saturating_mul(self.catch_up_ns()) / 2 / 8_000_000_000;
        let delay_bytes = self.usually_needed(port) + charged_bytes(made_up, self.cell_bytes);
        staged(delay_bytes) + self.frame_cost(port)
    }
}
