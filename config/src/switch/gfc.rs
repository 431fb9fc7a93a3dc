//! `[gfc]`: gentle flow control, in stages, below each lossless queue's XOFF.

use super::port_draft::PortDraft;
use super::schema::{GfcTable, LosslessTable, SwitchFile};
use super::viq::Planner;
use crate::error::ConfigError;
use crate::gfc::{rest_bytes, senders_max, slack, staged};
use crate::headroom::{charged_bytes, needed_bytes};
use crate::source::Source;
use crate::units::show_size;
use dataplane::gfc::{Form, IS_BUILT, RateMap};
use dataplane::ids::Priority;
use dataplane::settings::{GfcSettings, Threshold};
use std::cmp::Reverse;
use toml::Spanned;

/// The most senders that `senders` may give.
const SENDERS_MAX: u64 = 4_096;

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

/// How many senders may share an egress port: `senders`, or `ports`, those with lossless
/// priorities.
///
/// # Errors
/// `senders` is out of its range.
pub(super) fn senders(
    source: &Source,
    gfc: &Spanned<GfcTable>,
    ports: u64,
) -> Result<u64, ConfigError> {
    match &gfc.get_ref().senders {
        None => Ok(ports.max(1)),
        Some(field) if (1..=SENDERS_MAX).contains(field.get_ref()) => Ok(*field.get_ref()),
        Some(field) => {
            let message = format!("`senders` is {}; it is 1 to {SENDERS_MAX}", field.get_ref());
            Err(source.at(field.span(), message))
        }
    }
}

/// Whether the pool of `pool_bytes` holds the queues of `senders` ports up to their XOFF; if it is
/// full before, priorities pause below it.
///
/// # Errors
/// It holds fewer.
pub(super) fn check_pool(
    source: &Source,
    gfc: &Spanned<GfcTable>,
    senders: u64,
    ports: &[PortDraft<'_>],
    pool_bytes: u64,
) -> Result<(), ConfigError> {
    let share = |port: &PortDraft<'_>, priority: Priority| {
        let viq = port.settings.lossless[priority.index()]?;
        let Threshold::Static { xoff_bytes } = viq.threshold else { return None };
        Some(u64::from(xoff_bytes.saturating_sub(viq.reserved_bytes)))
    };
    let of_port = |port| Priority::all().filter_map(|priority| share(port, priority)).sum();
    let mut shares: Vec<u64> = ports.iter().map(of_port).filter(|&bytes| bytes > 0).collect();
    shares.sort_unstable_by_key(|&bytes| Reverse(bytes));
    let asked = shares.len().min(usize::try_from(senders).unwrap_or(usize::MAX));
    let needed: u64 = shares.iter().take(asked).sum();
    if needed <= pool_bytes {
        return Ok(());
    }
    let sums = shares.iter().scan(0, |sum, bytes| {
        *sum += bytes;
        Some(*sum)
    });
    let held = sums.take_while(|&sum| sum <= pool_bytes).count();
    let field = gfc.get_ref().senders.as_ref();
    let message = format!(
        "the shared pool of {} holds the queues of {held} senders up to their `static_th`, not of {asked}: {} \
         are missing, and priorities would pause; raise the buffer's `size` or lower `static_th`{}",
        show_size(pool_bytes),
        show_size(needed - pool_bytes),
        if held > 0 { format!(", or set `senders = {held}`") } else { String::new() }
    );
    Err(source.at(field.map_or_else(|| gfc.span(), Spanned::span), message))
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
        let (below_bytes, slack_bytes) = (self.needed_below_full(port), self.slack(port));
        let needed_bytes = below_bytes + slack_bytes;
        let Threshold::Static { xoff_bytes } = threshold else {
            let message = format!(
                "gentle flow control goes by how full a queue is: give priority {priority} a `static_th`, \
                 {} at least for port `{}`",
                show_size(needed_bytes),
                port.name()
            );
            return self.wrong(table.span(), message);
        };
        let field = gfc.get_ref().b1.as_ref();
        let start_bytes = field.map(|field| field.get_ref().0);
        let rest_bytes = rest_bytes(u64::from(xoff_bytes), start_bytes, needed_bytes);
        let span = field.map(Spanned::span);
        let span = span.or_else(|| table.get_ref().static_th.as_ref().map(Spanned::span));
        let span = span.unwrap_or_else(|| table.span());
        if rest_bytes < needed_bytes {
            let message = format!(
                "upstream of port `{}` must be slowed down {} before `static_th` of priority {priority}, which is \
                 2 C tau and {} for {} senders: that is {} more than there is; raise `static_th` or lower `b1`",
                port.name(),
                show_size(needed_bytes),
                show_size(slack_bytes),
                self.senders,
                show_size(needed_bytes - rest_bytes)
            );
            return self.wrong(span, message);
        }
        let span_bytes = 2 * (rest_bytes - slack_bytes);
        let drains = self.senders.saturating_mul(self.speed_ratio(port));
        if drains > senders_max(span_bytes) {
            let message = format!(
                "a queue of port `{}` can drain at 1/{drains} of its speed only, and the stages end at 1/{}; \
                 lower `senders` or `b1`",
                port.name(),
                senders_max(span_bytes)
            );
            return self.wrong(span, message);
        }
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let full_bytes = xoff_bytes.saturating_sub(narrow(slack_bytes));
        Ok(RateMap::staged(full_bytes, narrow(span_bytes), narrow(self.frame_cost(port))))
    }

    /// `2 C tau`, in charged bytes. `C tau` is what still arrives after a message, which is what
    /// headroom is for. Frames in the peer's transmit ring count twice: they are not charged to the
    /// rate, so while they leave, the rate admits as many at half the speed, and more of the ring's
    /// time passes until the rate is that of the wire.
    fn needed_below_full(&self, port: &PortDraft<'_>) -> u64 {
        let mut software = self.usual_software(port);
        software.peer_tx_limit_bytes = software.peer_tx_limit_bytes.saturating_mul(2);
        staged(needed_bytes(&self.link(port), &software, self.cell_bytes))
    }

    /// How far XOFF stands above `Bm`: [`slack`], where a class may catch up at half its speed at
    /// most, as it does not when it is not limited.
    fn slack(&self, port: &PortDraft<'_>) -> u64 {
        let half_bps = u128::from(port.settings.speed.bps()) / 2;
        let made_up = half_bps * u128::from(self.catch_up_ns()) / 8_000_000_000;
        let made_up = charged_bytes(u64::try_from(made_up).unwrap_or(u64::MAX), self.cell_bytes);
        let senders = self.senders.saturating_mul(self.speed_ratio(port));
        slack(self.frame_cost(port), senders, made_up)
    }

    /// How much faster `port` is than the slowest port, rounded up.
    fn speed_ratio(&self, port: &PortDraft<'_>) -> u64 {
        port.settings.speed.bps().div_ceil(self.slowest_bps.max(1)).max(1)
    }
}
