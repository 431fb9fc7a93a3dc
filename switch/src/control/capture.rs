//! The capture of a client: begun at all workers, and ended when the client has gone. There is one
//! at a time.

use super::capture_stream::CaptureReaders;
use super::protocol::{CaptureDir, CaptureRequest, CapturedPort, Capturing, Reply};
use super::workers::Workers;
use super::{Control, ReplyTo};
use crate::log;
use crate::platform::Platform;
use crate::ports::find_port;
use dataplane::capture::filter::Filter;
use dataplane::capture::program::Instruction;
use dataplane::capture::record::Kind;
use dataplane::capture::{CaptureSettings, RING_BYTES, connect};
use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::frame::Frame;
use dataplane::ids::{Priority, Tag};
use dataplane::limits::FRAME_BYTES_MAX;
use dataplane::punt::PuntReason;
use dataplane::rules::PortSet;
use dataplane::turns::RATE_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Who captures.
#[derive(Debug, Default)]
pub(super) struct CaptureControl {
    /// The client, and whether it has gone.
    client: Option<(String, Arc<AtomicBool>)>,
    /// Counts captures, so that frames marked for one are not those of the next.
    generation: u8,
}

impl CaptureControl {
    /// Ends the capture of a client that has gone.
    pub(super) fn end_if_over<F: Frame>(&mut self, workers: &mut Workers<F>) {
        let is_over =
            |(_, is_over): &mut (String, Arc<AtomicBool>)| is_over.load(Ordering::Relaxed);
        if let Some((who, _)) = self.client.take_if(is_over) {
            workers.iter_mut().for_each(|worker| worker.command(Command::Capture(None)));
            log::info("capture", format!("{who} has ended its capture"));
        }
    }
}

impl<P: Platform> Control<P> {
    /// Begins the capture that a client asks for, and gives it the rings.
    pub(super) fn begin_capture(&mut self, wanted: &CaptureRequest, client: &ReplyTo) -> Reply {
        let ReplyTo::Capture(_, client) = client else {
            return Reply::failed("a capture needs a connection of its own");
        };
        self.captures.end_if_over(&mut self.workers);
        if let Some((who, _)) = &self.captures.client {
            return Reply::failed(format!(
                "{who} captures already; there is one capture at a time"
            ));
        }
        let settings = match self.capture_settings(wanted) {
            Ok(settings) => settings,
            Err(why) => return Reply::failed(why),
        };
        let generation = self.captures.generation.wrapping_add(1);
        self.captures.generation = generation;
        let capturing = self.capturing();
        let begin = |(number, worker): (u8, &mut super::workers::WorkerLink<P::Frame>)| {
            let (capture, reader) = connect(settings.clone(), number, generation, RING_BYTES);
            worker.command(Command::Capture(Some(capture)));
            reader
        };
        let readers = (0..).zip(self.workers.iter_mut()).map(begin).collect();
        let (readers, is_over) = CaptureReaders::new(readers);
        log::info("capture", format!("{} captures frames", client.who));
        self.captures.client = Some((client.who.clone(), is_over));
        // A client that has gone drops them, which ends the capture.
        let _gone = client.readers.try_send(readers);
        Reply::Capturing(Box::new(capturing))
    }

    fn capture_settings(&self, wanted: &CaptureRequest) -> Result<CaptureSettings, String> {
        let CaptureRequest { ports, dirs, class, snap, sample, filter } = wanted;
        let all = &self.tables.config().ports;
        let mut set = PortSet::EMPTY;
        for name in ports {
            set.insert(find_port(all, name).map_err(|error| error.to_string())?.id);
        }
        let class = class.map(|class| {
            Priority::new(class).ok_or_else(|| format!("there is no class {class}; it is 0 to 7"))
        });
        let kinds = dirs.iter().map(|dir| match dir {
            CaptureDir::In => Kind::In,
            CaptureDir::Out => Kind::Out,
            CaptureDir::Drop => Kind::Drop,
            CaptureDir::Punt => Kind::Punt,
            CaptureDir::Pause => Kind::Pause,
        });
        let bits = |bits: u8, kind: Kind| bits | kind.bit();
        let filter = filter.as_ref().map(|program| {
            let instruction = |&(code, jt, jf, k)| Instruction { code, jt, jf, k };
            let program: Vec<Instruction> = program.iter().map(instruction).collect();
            Filter::new(&program).map_err(|error| format!("the filter is refused: {error}"))
        });
        Ok(CaptureSettings {
            kinds: if dirs.is_empty() {
                Kind::ALL.into_iter().fold(0, bits)
            } else {
                kinds.fold(0, bits)
            },
            ports: (!ports.is_empty()).then_some(set),
            class: class.transpose()?,
            filter: filter.transpose()?,
            snap_bytes: (*snap).min(u16::try_from(FRAME_BYTES_MAX).unwrap_or(u16::MAX)),
            sample: match sample {
                0..=RATE_MAX => *sample,
                _ => return Err(format!("one in {sample} is too few; sample up to {RATE_MAX}")),
            },
        })
    }

    /// What the client needs to know to read records.
    fn capturing(&self) -> Capturing {
        let config = self.tables.config();
        let ports = config.ports.iter().map(|port| CapturedPort {
            name: port.name.clone(),
            speed_bps: config.settings.ports[port.id.index()].speed.bps(),
        });
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX);
        Capturing {
            ports: ports.collect(),
            unix_ns: unix_ns.saturating_sub(self.platform.now().ns),
            drops: DropReason::ALL.iter().map(|reason| reason.name().to_owned()).collect(),
            punts: PuntReason::ALL.iter().map(|reason| reason.name().to_owned()).collect(),
            dscp_tags: config.tag_map.dscp_to_tag.iter().copied().map(Tag::value).collect(),
        }
    }
}
