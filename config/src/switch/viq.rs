//! The lossless VIQs of a port: reserve, threshold, hysteresis, headroom, and the transmit limit
//! that the headroom depends on.

use super::Promise;
use super::port_draft::PortDraft;
use super::rx_queue::{KERNEL_GAP_NS, KERNEL_QUEUE_FRAMES, POLL_GAP_NS, shortest_frames};
use super::schema::{Field, GfcTable, HeadroomTable, LosslessTable};
use crate::error::ConfigError;
use crate::headroom::{Link, Software, needed_bytes};
use crate::source::Source;
use crate::units::show_size;
use dataplane::pfc::generator::PAUSE_LEFT_QUANTA_MIN;
use dataplane::queue::pacer::CATCH_UP_NS;
use dataplane::settings::{Threshold, ViqSettings};
use std::ops::Range;
use toml::Spanned;

/// Works out the VIQs of the ports.
pub(super) struct Planner<'a> {
    pub(super) source: &'a Source,
    pub(super) headroom: &'a HeadroomTable,
    pub(super) gfc: Option<&'a Spanned<GfcTable>>,
    /// Senders that may share an egress port, under `[gfc]`.
    pub(super) senders: u64,
    /// The speed of the slowest port.
    pub(super) slowest_bps: u64,
    pub(super) cell_bytes: u16,
    /// How long an idle worker may sleep.
    pub(super) idle_gap_ns: u64,
    pub(super) warnings: &'a mut Vec<ConfigError>,
}

impl Planner<'_> {
    pub(super) fn wrong<T>(&self, span: Range<usize>, message: String) -> Result<T, ConfigError> {
        Err(self.source.at(span, message))
    }

    /// What the longest frame of `port` costs the buffer.
    pub(super) fn frame_cost(&self, port: &PortDraft<'_>) -> u64 {
        port.frame_bytes().max(u64::from(self.cell_bytes))
    }

    /// The time between two polls while the worker has its core.
    pub(super) fn usual_poll_ns(&self) -> u64 {
        self.headroom.poll.as_ref().map_or(POLL_GAP_NS, |field| field.get_ref().0)
    }

    /// How long the worker may be away from `port`.
    fn poll_ns(&self, port: &PortDraft<'_>) -> u64 {
        match &self.headroom.poll {
            Some(field) => field.get_ref().0,
            None if port.config.device.kind().is_kernel() => KERNEL_GAP_NS,
            None => POLL_GAP_NS,
        }
    }

    /// The same of the peer. A NIC's reaction is part of the model of the wire.
    fn peer_poll_ns(&self, port: &PortDraft<'_>) -> u64 {
        let given = self.headroom.peer_poll.as_ref().map(|field| field.get_ref().0);
        given.unwrap_or_else(|| self.poll_ns(port))
    }

    /// A ring shorter than one poll's worth of the wire would run empty between two polls.
    pub(super) fn tx_limit(&self, port: &PortDraft<'_>) -> Result<u64, ConfigError> {
        let frame = port.frame_bytes();
        match &port.table.get_ref().tx_byte_limit {
            None => {
                let poll = Software { poll_ns: self.usual_poll_ns(), ..Software::default() };
                Ok(poll.bytes(port.settings.speed).max(2 * frame))
            }
            Some(field) if field.get_ref().0 < frame => {
                let message = format!(
                    "`tx_byte_limit` {} is less than the longest frame of port `{}`, {}",
                    show_size(field.get_ref().0),
                    port.name(),
                    show_size(frame)
                );
                self.wrong(field.span(), message)
            }
            Some(field) => Ok(field.get_ref().0),
        }
    }

    pub(super) fn viq(
        &mut self,
        table: &Spanned<LosslessTable>,
        port: &PortDraft<'_>,
    ) -> Result<ViqSettings, ConfigError> {
        let reserved = self.reserve(table, port)?;
        let threshold = self.threshold(table, port, reserved)?;
        let xon_offset = self.xon_offset(table, port, threshold)?;
        let headroom = self.headroom(table, port)?;
        let narrow = |bytes: u64, name: &str| match u32::try_from(bytes) {
            Ok(bytes) => Ok(bytes),
            Err(_) => {
                let message = format!("`{name}` is {}; 4 GB is the most", show_size(bytes));
                self.wrong(table.span(), message)
            }
        };
        Ok(ViqSettings {
            reserved_bytes: narrow(reserved, "size")?,
            threshold,
            xon_offset_bytes: narrow(xon_offset, "xon_offset")?,
            headroom_bytes: narrow(headroom, "headroom")?,
            rate_map: self.rate_map(table, port, threshold)?,
        })
    }

    /// At least one frame a port: a partition smaller than ports x MTU can be deadlocked by its own
    /// ports (paper: TTL-based buffer management, section III).
    fn reserve(
        &self,
        table: &Spanned<LosslessTable>,
        port: &PortDraft<'_>,
    ) -> Result<u64, ConfigError> {
        let frame = self.frame_cost(port);
        match &table.get_ref().size {
            None => Ok(2 * frame),
            Some(field) if field.get_ref().0 < frame => {
                let message = format!(
                    "`size` {} is less than the longest frame of port `{}`, {}; each port needs one at \
                     least",
                    show_size(field.get_ref().0),
                    port.name(),
                    show_size(frame)
                );
                self.wrong(field.span(), message)
            }
            Some(field) => Ok(field.get_ref().0),
        }
    }

    fn threshold(
        &self,
        table: &Spanned<LosslessTable>,
        port: &PortDraft<'_>,
        reserved: u64,
    ) -> Result<Threshold, ConfigError> {
        let table = table.get_ref();
        let Some(xoff) = &table.static_th else { return self.dynamic(table) };
        if let Some(field) = &table.dynamic_th {
            let message = "a threshold is static (`static_th`) or dynamic (`dynamic_th`), not both";
            return self.wrong(field.span(), message.to_owned());
        }
        let (bytes, frame) = (xoff.get_ref().0, self.frame_cost(port));
        let at_least = |least: u64, what: &str| {
            let message = format!(
                "`static_th` {} is {} below {what}; give it {} at least",
                show_size(bytes),
                show_size(least - bytes),
                show_size(least)
            );
            self.wrong(xoff.span(), message)
        };
        if bytes < frame {
            return at_least(frame, &format!("the longest frame of port `{}`", port.name()));
        }
        if table.size.is_some() && bytes < reserved {
            return at_least(reserved, "`size`, which is part of it");
        }
        if bytes < 2 * frame {
            return at_least(2 * frame, "the two longest frames that lie between XOFF and XON");
        }
        match u32::try_from(bytes) {
            Ok(xoff_bytes) => Ok(Threshold::Static { xoff_bytes }),
            Err(_) => self.wrong(
                xoff.span(),
                format!("`static_th` is {}; 4 GB is the most", show_size(bytes)),
            ),
        }
    }

    fn dynamic(&self, table: &LosslessTable) -> Result<Threshold, ConfigError> {
        let xon = table.xon.as_ref().map_or(0, |field| field.get_ref().0);
        let xon_bytes = u32::try_from(xon).unwrap_or(u32::MAX);
        let alpha_log2 = alpha_log2(self.source, &table.dynamic_th, "dynamic_th")?;
        Ok(Threshold::Dynamic { alpha_log2: alpha_log2.unwrap_or(0), xon_bytes })
    }

    /// Between XOFF and XON lie two frames at least, or every frame would send a pause of its own.
    fn xon_offset(
        &self,
        table: &Spanned<LosslessTable>,
        port: &PortDraft<'_>,
        threshold: Threshold,
    ) -> Result<u64, ConfigError> {
        let table = table.get_ref();
        let least = 2 * self.frame_cost(port);
        let static_xoff = match threshold {
            Threshold::Static { xoff_bytes } => Some(u64::from(xoff_bytes)),
            Threshold::Dynamic { .. } => None,
        };
        let (offset, span) = match (&table.xon, &table.xon_offset, static_xoff) {
            (Some(field), other, Some(xoff)) => match xoff.checked_sub(field.get_ref().0) {
                // XON is due at the higher one of the two.
                Some(offset) if offset > 0 => match other {
                    Some(other) if other.get_ref().0 < offset => (other.get_ref().0, other.span()),
                    _ => (offset, field.span()),
                },
                _ => {
                    let message = format!(
                        "`xon` {} is not below `static_th`, {}; for port `{}` it is {} at the most",
                        show_size(field.get_ref().0),
                        show_size(xoff),
                        port.name(),
                        show_size(xoff.saturating_sub(least))
                    );
                    return self.wrong(field.span(), message);
                }
            },
            (_, Some(field), _) => (field.get_ref().0, field.span()),
            _ => return Ok(least),
        };
        if offset < least {
            let message = format!(
                "XON is {} below XOFF; two of the longest frames of port `{}` are the least, {}",
                show_size(offset),
                port.name(),
                show_size(least)
            );
            return self.wrong(span, message);
        }
        if let Some(xoff) = static_xoff.filter(|&xoff| offset > xoff) {
            let message = format!(
                "`xon_offset` {} is more than `static_th`, {}",
                show_size(offset),
                show_size(xoff)
            );
            return self.wrong(span, message);
        }
        Ok(offset)
    }

    /// The port's own, the priority's, or the computed headroom, in this order. One that is given
    /// and is less than the computed one gets a warning: the operator may know the link better.
    fn headroom(
        &mut self,
        table: &Spanned<LosslessTable>,
        port: &PortDraft<'_>,
    ) -> Result<u64, ConfigError> {
        let needed = self.needed(port);
        let priority = table.get_ref().priority.get_ref().0;
        let given = port.table.get_ref().headroom.as_ref();
        let Some(field) = given.or_else(|| table.get_ref().headroom.as_ref()) else {
            return Ok(needed);
        };
        let (bytes, frame) = (field.get_ref().0, self.frame_cost(port));
        if bytes < frame {
            let message = format!(
                "`headroom` {} is less than the longest frame of port `{}`, {}; {} is needed",
                show_size(bytes),
                port.name(),
                show_size(frame),
                show_size(needed)
            );
            return self.wrong(field.span(), message);
        }
        if bytes < needed {
            let message = format!(
                "`headroom` {} of priority {priority} is {} less than port `{}` needs at worst, {}; \
                 frames can be lost",
                show_size(bytes),
                show_size(needed - bytes),
                port.name(),
                show_size(needed)
            );
            self.warn_once(field.span(), message);
        }
        Ok(bytes)
    }

    /// How long it takes until the switch pauses the peer of `port`. A further receive queue may be
    /// that of another worker: the owner sees what it holds when it polls the port the next time.
    fn reaction_ns(&self, port: &PortDraft<'_>) -> u64 {
        let polls = if port.settings.further_queues.is_empty() { 1 } else { 2 };
        self.poll_ns(port).saturating_mul(polls)
    }

    /// Bytes that can arrive after XOFF, both ends being as late as they may be.
    fn needed(&self, port: &PortDraft<'_>) -> u64 {
        let needed = self.needed_with(port, self.reaction_ns(port), self.peer_poll_ns(port));
        if !port.config.device.kind().is_kernel() {
            return needed;
        }
        // What the kernel queues beyond that waits in its queue: the worker leaves it there.
        let wire = needed_bytes(&self.link(port), &Software::default(), self.cell_bytes);
        let queue = KERNEL_QUEUE_FRAMES.saturating_mul(self.frame_cost(port));
        needed.min(wire.saturating_add(queue))
    }

    /// What software adds while both ends have their cores.
    pub(super) fn usual_software(&self, port: &PortDraft<'_>) -> Software {
        let given = self.headroom.peer_poll.as_ref().map(|field| field.get_ref().0);
        let peer_poll_ns = given.unwrap_or_else(|| self.usual_poll_ns());
        self.software(port, self.usual_poll_ns(), peer_poll_ns)
    }

    fn needed_with(&self, port: &PortDraft<'_>, poll_ns: u64, peer_poll_ns: u64) -> u64 {
        needed_bytes(&self.link(port), &self.software(port, poll_ns, peer_poll_ns), self.cell_bytes)
    }

    fn software(&self, port: &PortDraft<'_>, poll_ns: u64, peer_poll_ns: u64) -> Software {
        let tx_limit_bytes = port.config.tx_limit_bytes;
        let HeadroomTable { peer_tx_byte_limit, .. } = self.headroom;
        // A neighbor on a paced link that polls is paced like us; one that does not is hardware.
        let peer_paced = port.settings.paced && peer_poll_ns > 0;
        Software {
            poll_ns,
            tx_limit_bytes,
            peer_poll_ns,
            peer_tx_limit_bytes: peer_tx_byte_limit
                .as_ref()
                .map_or(tx_limit_bytes, |f| f.get_ref().0),
            peer_catch_up_ns: if peer_paced { CATCH_UP_NS } else { 0 },
        }
    }

    /// What `port`, whose VIQs are known, promises to senders that obey PFC.
    pub(super) fn promise(&self, port: &PortDraft<'_>) -> Option<Promise> {
        let needed = self.needed(port);
        let viqs = || port.settings.lossless.iter().flatten();
        let least = viqs().map(|viq| u64::from(viq.headroom_bytes)).min()?;
        let (poll_gap_ns, peer_gap_ns) = (self.poll_ns(port), self.peer_poll_ns(port));
        let pause_left_ns = port.settings.speed.quanta_ns(PAUSE_LEFT_QUANTA_MIN);
        let broken = if least < needed {
            Some(format!(
                "headroom of {} is {} less than what can arrive after XOFF",
                show_size(least),
                show_size(needed - least)
            ))
        } else if pause_left_ns < poll_gap_ns {
            // What arrives then is less than headroom; but the next gap adds to it.
            Some(format!(
                "at the port's speed a pause can end after {} us, before the switch is back to repeat \
                 it; give a lower `speed` or a shorter `[headroom] poll`",
                pause_left_ns / 1_000
            ))
        } else {
            self.short_queue(port, poll_gap_ns)
        };
        Some(Promise { poll_gap_ns, peer_gap_ns, broken })
    }

    /// Why the device's receive queue cannot hold what arrives while nobody polls it, if so: frames
    /// are in no VIQ then. When a gap begins, as many can wait as make the switch pause; when an
    /// idle worker falls asleep, none.
    fn short_queue(&self, port: &PortDraft<'_>, poll_gap_ns: u64) -> Option<String> {
        let PortDraft { config, settings, .. } = port;
        let queue = config.device.lossy_queue_frames(config.rx_ring, config.rx_queue_frames)?;
        let short = |waiting: u32, gap_ns: u64, what: &str, or: &str| {
            let arriving = shortest_frames(settings.speed, gap_ns);
            (u64::from(waiting) + arriving > u64::from(queue)).then(|| {
                format!(
                    "its receive queue holds {queue} frames, and up to {waiting} that wait and \
                     {arriving} of the shortest that arrive within {} us, {what}, do not fit; give {} \
                     or {or}",
                    gap_ns / 1_000,
                    config.device.queue_setting()
                )
            })
        };
        let backlog = settings.rx_backlog_xoff_frames;
        short(backlog, poll_gap_ns, "a polling gap", "a shorter `[headroom] poll`").or_else(|| {
            short(0, self.idle_gap_ns, "which an idle worker may sleep", "`idle = \"poll\"`")
        })
    }

    /// The wire of a port, and how soon its peer responds.
    pub(super) fn link(&self, port: &PortDraft<'_>) -> Link {
        let mtu_bytes = u32::try_from(port.frame_bytes()).unwrap_or(u32::MAX);
        let response_ns = self.headroom.response.as_ref().map(|field| field.get_ref().0);
        Link { response_ns, ..Link::new(port.settings.speed, port.config.length, mtu_bytes) }
    }

    /// One warning for each place in the file, however many ports it concerns.
    fn warn_once(&mut self, span: Range<usize>, message: String) {
        let warning = self.source.at(span, message);
        let place = |other: &ConfigError| (other.line, other.column);
        if !self.warnings.iter().any(|other| place(other) == place(&warning)) {
            self.warnings.push(warning);
        }
    }
}

/// The power of two that alpha is, if the field `name` says it.
///
/// # Errors
/// It is not -8 to 8.
pub(super) fn alpha_log2(
    source: &Source,
    field: &Field<i64>,
    name: &str,
) -> Result<Option<i8>, ConfigError> {
    let Some(field) = field else { return Ok(None) };
    let power = i8::try_from(*field.get_ref()).ok().filter(|power| (-8..=8).contains(power));
    if power.is_none() {
        let alpha = field.get_ref();
        let message = format!("`{name}` is {alpha}; it is -8 to 8, the power of two that alpha is");
        return Err(source.at(field.span(), message));
    }
    Ok(power)
}
