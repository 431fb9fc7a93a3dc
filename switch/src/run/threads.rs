//! The workers' threads: pinned, registered with DPDK, and heard of when they fail.

use super::RunError;
use super::machine::Machine;
use crate::dpdk::clock::Clock;
use crate::dpdk::device::{DpdkDevice, ForeignPort};
use crate::dpdk::eal::Eal;
use crate::dpdk::lcore::{self, LcoreGuard};
use crate::dpdk::mbuf::Mbuf;
use crate::dpdk::port::PortQueues;
use crate::gate::Gate;
use crate::histograms::Recorder;
use crate::worker_thread::{
    ControlSampleLinks, Phase, SampleLinks, Seat, SharedPhase, WorkerEnd, sample_links,
    wake_on_time,
};
use config::SwitchConfig;
use config::switch::Idle;
use core_affinity::CoreId;
use crossbeam::channel::{Sender, bounded};
use dataplane::control_rings::{ControlRings, WorkerRings, connect};
use dataplane::driver::Polling;
use dataplane::ids::PortId;
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
    threads: Vec<JoinHandle<Option<WorkerEnd>>>,
}

/// The control thread's ends of a worker's rings.
pub(super) type ControlEnds = (ControlRings<Mbuf>, ControlSampleLinks);

/// What a worker's thread begins with.
struct Start {
    settings: SwitchSettings,
    snapshot: Arc<Snapshot>,
    device: DpdkDevice,
    links: WorkerRings<Mbuf>,
    samples: SampleLinks,
    phase: SharedPhase,
    idle: Idle,
    core: Option<usize>,
    eal: Arc<Eal>,
    clock: Clock,
    /// Raised if the thread panics, so that the switch ends.
    stop: Arc<AtomicBool>,
}

impl Threads {
    /// Starts all workers of `config`, and returns when all of them are at work.
    ///
    /// # Errors
    /// A thread cannot be made, pinned or registered; the others have come to their end then.
    pub(super) fn start(
        config: &SwitchConfig,
        snapshot: &Arc<Snapshot>,
        machine: &Machine,
        queues: Vec<PortQueues>,
        phase: &SharedPhase,
        stop: &Arc<AtomicBool>,
    ) -> Result<(Self, Vec<ControlEnds>), RunError> {
        let mut queues: Vec<Option<PortQueues>> = queues.into_iter().map(Some).collect();
        let (links, control_links) = connect(config.workers.count, config.ports.len());
        let (mut threads, mut rings) = (Self::default(), Vec::new());
        let mut foreign = deal_spare_queues(config, &mut queues);
        for (number, (links, control_links)) in links.into_iter().zip(control_links).enumerate() {
            let (samples, control_samples) = sample_links();
            let own = take_queues(config, number, &mut queues);
            rings.push((control_links, control_samples));
            let start = Start {
                device: machine.device(config, own, mem::take(&mut foreign[number])),
                settings: config.settings.clone(),
                snapshot: Arc::clone(snapshot),
                links,
                samples,
                phase: phase.clone(),
                idle: config.workers.idle,
                core: config.workers.cores.get(number).copied(),
                eal: Arc::clone(machine.eal()),
                clock: machine.clock(),
                stop: Arc::clone(stop),
            };
            if let Err(why) = threads.add(number, start) {
                phase.go_on_to(Phase::Stop);
                threads.join();
                return Err(RunError::Worker { number, why });
            }
        }
        phase.go_on_to(Phase::Run);
        Ok((threads, rings))
    }

    /// Starts one worker; what goes wrong is said by its thread.
    fn add(&mut self, number: usize, start: Start) -> Result<(), String> {
        let (ready, is_ready) = bounded(1);
        let thread = thread::Builder::new().name(format!("worker-{number}"));
        let thread = thread.spawn(move || start.run(&ready)).map_err(|error| error.to_string())?;
        self.threads.push(thread);
        is_ready.recv().unwrap_or_else(|_| Err("it failed at once".to_owned()))
    }

    /// Waits for the end of all workers, which they have been told to come to. `None` is one that
    /// failed.
    pub(super) fn join(self) -> Vec<Option<WorkerEnd>> {
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

/// Deals the further transmit queues of each port to the workers that do not own it; by worker.
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
    fn run(self, ready: &Sender<Result<(), String>>) -> Option<WorkerEnd> {
        let _stops_the_switch = StopIfPanicking(Arc::clone(&self.stop));
        // Outlives the worker, whose buffers go home by this thread's caches.
        let _lcore = match self.prepare_thread() {
            Ok(guard) => guard,
            Err(why) => {
                let _room_for_one = ready.send(Err(why));
                return None;
            }
        };
        let Self { settings, snapshot, device, links, samples, phase, idle, clock, .. } = self;
        let worker = Worker::new(
            &settings,
            snapshot,
            Gate::new(device),
            links,
            Polling::new(Recorder::default()),
        );
        let _room_for_one = ready.send(Ok(()));
        let seat = Seat { worker, samples, phase, idle };
        Some(seat.drive(|| clock.now()))
    }

    /// Pins and registers the thread.
    fn prepare_thread(&self) -> Result<LcoreGuard, String> {
        if let Some(core) = self.core
            && !core_affinity::set_for_current(CoreId { id: core })
        {
            return Err(format!("it cannot be pinned to CPU {core}"));
        }
        if self.idle == Idle::Sleep {
            wake_on_time();
        }
        lcore::register_thread(&self.eal).map_err(|error| error.to_string())
    }
}

/// The CPUs that this thread may run on now. DPDK binds the main thread when it starts, so this is
/// to be asked before.
fn allowed_cpus() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
}

/// Whether the workers can be where they are wanted.
///
/// # Errors
/// A worker's CPU is none that this process may use.
pub(super) fn check_cpus(config: &SwitchConfig) -> Result<(), RunError> {
    let allowed = allowed_cpus();
    for (number, core) in config.workers.cores.iter().enumerate() {
        if !allowed.contains(core) {
            let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
            let allowed = allowed.join(", ");
            let why =
                format!("it cannot run on CPU {core}; set [workers] cores to some of {allowed}");
            return Err(RunError::Worker { number, why });
        }
    }
    Ok(())
}

/// The control thread keeps off the workers' cores, if that leaves it any.
pub(super) fn main_cpus(config: &SwitchConfig) -> Vec<usize> {
    let allowed = allowed_cpus().into_iter();
    allowed.filter(|core| !config.workers.cores.contains(core)).collect()
}

/// A switch without one of its workers is none.
struct StopIfPanicking(Arc<AtomicBool>);

impl Drop for StopIfPanicking {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
