//! Commands of the control thread.

use super::Worker;
use crate::control_rings::{Command, Reply};
use crate::counters::DropReason;
use crate::device::{Device, PortCommand};
use crate::driver::Driver;
use crate::handoff::ring::MacEvent;
use crate::ids::PortId;
use crate::l2::MacEntry;
use crate::port::Port;
use crate::queue::veq::{FrameMeta, QueuedFrame};
use crate::wire::ethernet::HEADER_BYTES;

impl<D: Device, V: Driver> Worker<D, V> {
    /// Executes one command of the control thread.
    pub(super) fn process_command(&mut self, command: Command<D::Frame>) {
        match command {
            Command::Install(snapshot) => {
                let old = core::mem::replace(&mut self.snapshot, snapshot);
                self.core.replace_static_macs(&old.static_macs, &self.snapshot.static_macs);
                self.reply(Reply::Retired(old));
                self.core.receive_unresolved(&self.snapshot);
            }
            Command::Report(mut report) => {
                self.report(&mut report, self.core.accounting.now);
                self.core.accounting.buffer.reset_peaks();
                self.core.ports.iter_mut().for_each(Port::reset_peaks);
                self.reply(Reply::Report(report));
            }
            Command::MacTable(mut slice) => {
                slice.fill(&self.core.mac_table);
                self.reply(Reply::MacTable(slice));
            }
            Command::Ecn(priority, settings) => {
                self.core.accounting.ecn[priority.index()] = settings;
            }
            Command::Wred(priority, curve) => {
                self.core.accounting.wred[priority.index()] = curve;
            }
            Command::PeakRate(port, priority, peak) => {
                let Some(slot) = self.core.handoff_tx.slot(port) else { return };
                let now = self.core.accounting.now;
                self.core.ports[slot].set_peak_rate(priority, peak, now);
            }
            Command::Watchdog(port, watchdog) => {
                let Some(slot) = self.core.handoff_tx.slot(port) else { return };
                let core = &mut self.core;
                core.ports[slot].set_watchdog(watchdog, &mut core.accounting);
            }
            Command::BigRedSwitch(is_on) => {
                let core = &mut self.core;
                core.accounting.big_red_switch = is_on;
                core.ports.iter_mut().for_each(|port| port.storms_changed(&mut core.accounting));
            }
            Command::Send(port, frame) => {
                self.core.device.commanded(port, PortCommand::Send(&frame));
                self.send(port, frame);
            }
            Command::Receive(port, frame) => {
                let Some(slot) = self.core.handoff_tx.slot(port) else { return };
                self.core.accounting.totals.injected += 1;
                self.core.ports[slot].counters.injected_frames += 1;
                self.core.rx.push(frame);
                self.core.receive_again(&self.snapshot, slot);
            }
            Command::Link(port, up) => {
                self.core.device.commanded(port, PortCommand::Link(up));
                self.set_link(port, up, true);
            }
            Command::LinkLost(port) => self.set_link(port, false, false),
            Command::Capture(capture) => {
                if let Some(before) = self.core.accounting.set_capture(capture) {
                    self.reply(Reply::Capture(before));
                }
            }
            Command::Sample(sampling) => {
                if let Some(before) = self.core.accounting.set_sampling(sampling) {
                    self.reply(Reply::Sample(before));
                }
            }
            Command::FlushMacTable(port) => self.flush_mac_table(port),
            Command::PausePeer(port) => {
                let Some(slot) = self.core.handoff_tx.slot(port) else { return };
                self.core.ports[slot].pauses_peer = true;
            }
        }
    }

    fn set_link(&mut self, port: PortId, up: bool, receives: bool) {
        let Some(slot) = self.core.handoff_tx.slot(port) else { return };
        self.receives[slot] = receives;
        self.core.ports[slot].set_link(up, &mut self.core.accounting);
        let is_paused = self.core.ports[slot].generator.has_sent_pause();
        self.core.accounting.driver.mark_xoff(slot, is_paused);
        if !up {
            self.flush_mac_table(port);
        }
    }

    /// The control thread reads as many replies as it sends commands, so there is room. If it does
    /// not, the reply is dropped here, which frees a snapshot late but loses no frame.
    fn reply(&mut self, reply: Reply) {
        drop(self.replies.push(reply));
    }

    /// Sends a frame of the switch's own: charged to no VIQ, in a priority that is never paused.
    fn send(&mut self, port: PortId, frame: D::Frame) {
        let Some(slot) = self.core.handoff_tx.slot(port) else { return };
        self.core.take_in_hand(&frame);
        self.send_at(slot, frame);
        self.core.put_down();
    }

    fn send_at(&mut self, slot: usize, frame: D::Frame) {
        self.core.accounting.totals.injected += 1;
        self.core.accounting.driver.mark_tx(slot);
        let port = &mut self.core.ports[slot];
        port.counters.injected_frames += 1;
        let now = self.core.accounting.now;
        let mut meta = FrameMeta::own(&frame, port.id, port.control_priority, now);
        if self.core.accounting.has_in_hand()
            && let Some(capture) = self.core.accounting.capturing()
        {
            meta.set_mark(capture.own_mark());
        }
        // No device sends it, and the two drivers would try at different times: an empty frame fits
        // into no room at all.
        if usize::from(meta.bytes) < HEADER_BYTES {
            return self.core.drop(frame, slot, DropReason::Truncated, None);
        }
        if meta.bytes > self.core.tx_frame_bytes_max[port.id.index()] {
            return self.core.drop(frame, slot, DropReason::Oversize, None);
        }
        port.enqueue(QueuedFrame { frame, meta }, &mut self.core.device, &mut self.core.accounting);
    }

    fn flush_mac_table(&mut self, port: PortId) {
        let handoff_tx = &mut self.core.handoff_tx;
        self.core.mac_table.flush_port(port, |entry: MacEntry| {
            handoff_tx.push_event(MacEvent::Forgotten(entry.vid, entry.mac, entry.port));
        });
    }
}
