//! The control thread's part in sFlow: it has the workers sample, and gives the exporter the
//! counters when they are due.

use super::Control;
use super::stats::Stats;
use super::workers::Workers;
use crate::log;
use crate::platform::Platform;
use crate::security::Rights;
use crate::sflow::{Exporter, Session, Sockets, SocketsError, of_port};
use config::switch::Sflow;
use dataplane::control_rings::Command;
use dataplane::frame::Frame;
use dataplane::sampling::{RING_SAMPLES, SamplingSettings, connect};
use dataplane::time::Instant;

/// The control thread's end of sFlow.
#[derive(Debug, Default)]
pub(super) struct SflowControl {
    /// What a thread of the exporter is left with.
    rights: Rights,
    /// There is one from the time on when first something is sampled.
    exporter: Option<Exporter>,
    /// When the counters are due, and how often; `None` is never.
    polling: Option<(Instant, u64)>,
    /// Differs for each session, so that none skips as the one before.
    seed: u64,
}

impl SflowControl {
    /// Whether counters are due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.polling.is_some_and(|(due, _)| due <= now)
    }

    /// No counters for one interval: the workers do not answer.
    pub(super) fn postpone(&mut self, now: Instant) {
        if let Some((due, every_ns)) = &mut self.polling
            && *due <= now
        {
            *due = now + *every_ns;
        }
    }

    /// Sends the counters in `stats`, if they are due.
    pub(super) fn poll(&mut self, stats: &Stats, now: Instant) {
        if !self.is_due(now) {
            return;
        }
        if let Some(exporter) = &self.exporter {
            exporter.send_counters(stats.ports.iter().map(of_port).collect());
        }
        if let Some((due, every_ns)) = &mut self.polling {
            // From due time to due time, unless one was missed.
            *due = (*due + *every_ns).max(now);
        }
    }

    /// What was sent.
    pub(super) fn stats(&self) -> Option<super::stats::SflowStats> {
        self.exporter.as_ref().and_then(Exporter::stats)
    }

    /// Sends what the workers, which have ended, have left.
    pub(super) fn finish(&mut self) {
        self.exporter.iter_mut().for_each(Exporter::finish);
    }

    /// From now on the workers sample as `settings` say, and the exporter sends it by `sockets`.
    fn begin<F: Frame>(
        &mut self,
        settings: &Sflow,
        sockets: Sockets,
        workers: &mut Workers<F>,
        seed: u64,
        now: Instant,
    ) -> Result<(), SocketsError> {
        let exporter = match self.exporter.take() {
            Some(exporter) => exporter,
            None => Exporter::start(self.rights.clone())?,
        };
        self.seed = self.seed.wrapping_add(1);
        let sampling = SamplingSettings {
            rates: settings.sample_rates.clone(),
            drops_per_second: settings.drops_per_second,
            header_bytes: settings.header_bytes,
            seed: seed ^ self.seed.rotate_left(32) ^ now.ns,
        };
        let mut readers = Vec::new();
        for (number, worker) in (0..).zip(workers.iter_mut()) {
            let (worker_end, reader) = connect(&sampling, number, RING_SAMPLES);
            worker.command(Command::Sample(Some(worker_end)));
            readers.push(reader);
        }
        let session = Session { settings: settings.clone(), sockets, readers, began: now };
        exporter.export(Some(session));
        self.exporter = Some(exporter);
        self.polling = settings.polling_ns.map(|every_ns| (now + every_ns, every_ns));
        Ok(())
    }

    fn end<F: Frame>(&mut self, workers: &mut Workers<F>) {
        workers.iter_mut().for_each(|worker| worker.command(Command::Sample(None)));
        self.exporter.iter().for_each(|exporter| exporter.export(None));
        self.polling = None;
    }
}

impl<P: Platform> Control<P> {
    /// Exports what the configuration says by `sockets`, from a thread with what `rights` leaves
    /// it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn export_sflow(
        &mut self,
        sockets: Option<Sockets>,
        rights: Rights,
    ) -> Result<(), SocketsError> {
        self.sflow.rights = rights;
        let now = self.platform.now();
        let Self { sflow, workers, tables, .. } = self;
        let config = tables.config();
        match config.sflow.as_ref().zip(sockets) {
            Some((settings, sockets)) => {
                sflow.begin(settings, sockets, workers, config.settings.seed, now)
            }
            None => Ok(()),
        }
    }

    /// Takes over what has changed in the configuration since `old`. If that cannot be, nothing is
    /// sampled, and the log says why.
    pub(super) fn reload_sflow(&mut self, old: Option<&Sflow>) {
        let now = self.platform.now();
        let Self { sflow, workers, tables, .. } = self;
        let config = tables.config();
        if config.sflow.as_ref() == old {
            return;
        }
        let begun = config.sflow.as_ref().map(|settings| {
            let sockets = Sockets::open(settings)?;
            sflow.begin(settings, sockets, workers, config.settings.seed, now)
        });
        match begun {
            Some(Ok(())) => log::info("sflow", "samples as the file says now"),
            None => {
                sflow.end(workers);
                log::info("sflow", "samples no longer");
            }
            Some(Err(error)) => {
                sflow.end(workers);
                log::error("sflow", format!("{error}; nothing is sampled"));
            }
        }
    }
}
