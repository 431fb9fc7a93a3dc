//! The workers' threads: pinned, registered with DPDK, supervised.

use super::RunError;
use super::dpdk_platform::DpdkPlatform;
use crate::dpdk::clock::Clock;
use crate::dpdk::device::{DpdkDevice, ForeignPort, FurtherQueue};
use crate::dpdk::eal::Eal;
use crate::dpdk::lcore::{self, LcoreGuard};
use crate::dpdk::mbuf::Mbuf;
use crate::dpdk::port::PortQueues;
use crate::drain_filter::DrainFilter;
use crate::histograms::Recorder;
use crate::log;
use crate::record::{PortRecorder, Recorded};
use crate::security::{Rights, ThreadKind};
use crate::worker_loop::{
    ControlSampleRings, Phase, SampleRings, SharedPhase, WorkerExit, WorkerLoop, sample_rings,
    set_timer_slack,
};
use config::SwitchConfig;
use config::switch::Idle;
use core_affinity::CoreId;
use crossbeam::channel::{Receiver, Sender, bounded};
use dataplane::control_rings::{ControlRings, WorkerRings, connect};
use dataplane::driver::Polling;
use dataplane::ids::PortId;
use dataplane::rx_queues::{RxQueue, rx_queues};
use dataplane::settings::SwitchSettings;
use dataplane::snapshot::Snapshot;
use dataplane::worker::Worker;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The workers' threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: Vec<JoinHandle<Option<WorkerExit>>>,
    /// By worker: takes its rights, once.
    rights: Vec<Sender<Rights>>,
}

/// The control thread's ends of a worker's rings.
pub(super) type ControlEnds = (ControlRings<Mbuf>, ControlSampleRings);

/// The arguments of a worker's thread.
struct Start {
    settings: SwitchSettings,
    snapshot: Arc<Snapshot>,
    device: Recorded<DpdkDevice>,
    links: WorkerRings<Mbuf>,
    samples: SampleRings,
    phase: SharedPhase,
    idle: Idle,
    core: Option<usize>,
    eal: Arc<Eal>,
    clock: Clock,
    /// Tells the rights that are left, once all threads have started.
    rights: Receiver<Rights>,
    /// Set if the thread panics, so that the switch stops.
    stop: Arc<AtomicBool>,
}

impl Threads {
    /// Starts all workers of `config`, and returns when all of them wait for [`Phase::Run`]. A
    /// `recorder` is that of the first one.
    ///
    /// # Errors
    /// A thread cannot be created, pinned or registered; the others have been stopped then.
    pub(super) fn start(
        config: &SwitchConfig,
        snapshot: &Arc<Snapshot>,
        dpdk_platform: &DpdkPlatform,
        queues: Vec<PortQueues>,
        phase: &SharedPhase,
        stop: &Arc<AtomicBool>,
        mut recorder: Option<PortRecorder>,
    ) -> Result<(Self, Vec<ControlEnds>), RunError> {
        let mut queues: Vec<Option<PortQueues>> = queues.into_iter().map(Some).collect();
        let (links, control_links) =
            connect(config.workers.count, rx_queues(&config.settings).len());
        let (mut threads, mut rings) = (Self::default(), Vec::new());
        let mut foreign = deal_spare_queues(config, &mut queues);
        let mut further = deal_further_queues(config, &mut queues);
        for (number, (links, control_links)) in links.into_iter().zip(control_links).enumerate() {
            let (samples, control_samples) = sample_rings();
            let own = take_queues(config, number, &mut queues);
            let (rights, worker_rights) = bounded(1);
            threads.rights.push(rights);
            rings.push((control_links, control_samples));
            let start = Start {
                device: Recorded::new(
                    dpdk_platform.device(
                        config,
                        own,
                        mem::take(&mut further[number]),
                        mem::take(&mut foreign[number]),
                    ),
                    recorder.take(),
                ),
                settings: config.settings.clone(),
                snapshot: Arc::clone(snapshot),
                links,
                samples,
                phase: phase.clone(),
                idle: config.workers.idle,
                core: config.workers.cores.get(number).copied(),
                eal: Arc::clone(dpdk_platform.eal()),
                clock: dpdk_platform.clock(),
                rights: worker_rights,
                stop: Arc::clone(stop),
            };
            if let Err(why) = threads.add(number, start) {
                phase.advance_to(Phase::Stop);
                threads.join();
                return Err(RunError::Worker { number, why });
            }
        }
        Ok((threads, rings))
    }

    /// Starts one worker; its thread reports errors.
    fn add(&mut self, number: usize, start: Start) -> Result<(), String> {
        let (ready, is_ready) = bounded(1);
        let thread = thread::Builder::new().name(format!("worker-{number}"));
        let thread = thread.spawn(move || start.run(&ready)).map_err(|error| error.to_string())?;
        self.threads.push(thread);
        is_ready.recv().unwrap_or_else(|_| Err("its thread failed at start".to_owned()))
    }

    /// Has all workers restrict themselves to `rights` before they take a turn.
    pub(super) fn restrict(&mut self, rights: &Rights) {
        for worker in self.rights.drain(..) {
            // There is room for one.
            let _thread_has_failed = worker.send(rights.clone());
        }
    }

    /// Waits until all workers, which were told to stop, have stopped. `None` is one that failed.
    pub(super) fn join(mut self) -> Vec<Option<WorkerExit>> {
        // Who still waits for them is to stop.
        self.rights.clear();
        let threads = self.threads.into_iter();
        threads.map(|thread| thread.join().ok().flatten()).collect()
    }
}

/// The queues of the ports that the worker with this number owns.
fn take_queues(
    config: &SwitchConfig,
    number: usize,
    queues: &mut [Option<PortQueues>],
) -> Vec<(PortId, PortQueues)> {
    let own = |port: PortId| config.settings.ports[port.index()].worker.index() == number;
    let ports = (0..).filter_map(PortId::from_index).zip(queues);
    ports.filter(|(port, _)| own(*port)).filter_map(|(p, q)| Some((p, q.take()?))).collect()
}

/// The further receive queues of all ports, by the worker that polls them.
fn deal_further_queues(
    config: &SwitchConfig,
    queues: &mut [Option<PortQueues>],
) -> Vec<Vec<FurtherQueue>> {
    let mut dealt: Vec<Vec<FurtherQueue>> = (0..config.workers.count).map(|_| vec![]).collect();
    let opened = queues.iter_mut().flatten().flat_map(PortQueues::take_further);
    let further = rx_queues(&config.settings).into_iter().filter(RxQueue::is_further);
    for (it, queue) in further.zip(opened) {
        dealt[it.worker.index()].push(FurtherQueue { id: it.id, queue });
    }
    dealt
}

/// Distributes the further transmit queues of each port to the workers that do not own it; by
/// worker.
fn deal_spare_queues(
    config: &SwitchConfig,
    queues: &mut [Option<PortQueues>],
) -> Vec<Vec<ForeignPort>> {
    let mut dealt: Vec<Vec<ForeignPort>> = (0..config.workers.count).map(|_| vec![]).collect();
    for (port, queues) in (0..).filter_map(PortId::from_index).zip(queues) {
        let owner = config.settings.ports[port.index()].worker.index();
        let others = dealt.iter_mut().enumerate().filter(|(number, _)| *number != owner);
        for (_, ports) in others {
            let queue = queues.as_mut().and_then(PortQueues::take_spare);
            ports.extend(queue.map(|queue| ForeignPort { port, queue }));
        }
    }
    dealt
}

impl Start {
    fn run(self, ready: &Sender<Result<(), String>>) -> Option<WorkerExit> {
        let _stops_the_switch = StopIfPanicking(Arc::clone(&self.stop));
        // Dropped after the worker, whose buffers are freed through this thread's caches.
        let _lcore = match self.prepare_thread() {
            Ok(guard) => guard,
            Err(why) => {
                let _room_for_one = ready.send(Err(why));
                return None;
            }
        };
        let Self { settings, snapshot, device, links, samples, phase, idle, clock, .. } = self;
        let (rights, stop) = (self.rights, self.stop);
        let worker = Worker::new(
            &settings,
            snapshot,
            DrainFilter::new(device),
            links,
            Polling::new(Recorder::default()),
        );
        let _room_for_one = ready.send(Ok(()));
        // Without an answer the switch stops, and the loop ends at once.
        if let Ok(rights) = rights.recv()
            && let Err(error) = rights.restrict_thread(ThreadKind::Worker)
        {
            log::error("worker", format!("a worker stops: {error}"));
            stop.store(true, Ordering::Relaxed);
            return None;
        }
        let worker_loop = WorkerLoop { worker, samples, phase, idle };
        Some(worker_loop.run(|| clock.now()))
    }

    /// Pins and registers the thread.
    fn prepare_thread(&self) -> Result<LcoreGuard, String> {
        if let Some(core) = self.core
            && !core_affinity::set_for_current(CoreId { id: core })
        {
            return Err(format!("it cannot be pinned to CPU {core}"));
        }
        if self.idle == Idle::Sleep {
            set_timer_slack();
        }
        lcore::register_thread(&self.eal).map_err(|error| error.to_string())
    }
}

/// Stops the switch if a worker panics.
struct StopIfPanicking(Arc<AtomicBool>);

impl Drop for StopIfPanicking {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
