//! Flow control of a turn: the PFC frames that go upstream.

use super::Worker;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Burst;
use crate::wire::mac_control::Pfc;

impl<D: Device, V: Driver> Worker<D, V> {
    /// Sends upstream, ahead of data, the PFC frame that the VIQs and the receive ring of one port
    /// require; returns whether one was due.
    #[inline(always)]
    pub(crate) fn pfc_tx(&mut self, slot: usize) -> bool {
        let port = &mut self.core.ports[slot];
        if port.lossless_bits == 0 || !port.up {
            return false;
        }
        if let Some(backlog) = self.core.device.rx_backlog_frames(port.id) {
            // Resumed at half: a ring that hovers at the mark causes no PFC frame every turn.
            port.backlogged = backlog > port.backlog_xoff_frames
                || port.backlogged && backlog > port.backlog_xoff_frames / 2;
        }
        // The owner of the port decides for all its receive queues.
        if !V::IS_EVENT_DRIVEN && port.is_further_queue {
            return false;
        }
        let mut xoff_bits = self.core.accounting.buffer.xoff_bits(port.id, port.lossless_bits);
        if port.backlogged
            || !V::IS_EVENT_DRIVEN && (port.is_backlogged_elsewhere || port.pauses_peer)
        {
            xoff_bits |= port.lossless_bits;
        }
        let paused_bits = port.paused_upstream(xoff_bits);
        let rate_codes = port.rate_codes(xoff_bits, &self.core.accounting);
        let Some(pfc) = port.generator.poll(paused_bits, &rate_codes, self.core.accounting.now)
        else {
            return false;
        };
        self.send_pfc(slot, &pfc);
        true
    }

    /// Sends `pfc` upstream, if the device has room for it.
    #[inline(never)]
    fn send_pfc(&mut self, slot: usize, pfc: &Pfc) {
        let port = &mut self.core.ports[slot];
        let bytes = pfc.to_frame(port.mac);
        let Some(frame) = self.core.device.make_control(&bytes) else { return };
        let mut burst: Burst<D::Frame> = Burst::new();
        burst.push(frame);
        self.core.device.tx_burst(port.id, &mut burst, self.core.accounting.now);
        if burst.is_empty() {
            port.generator.sent(pfc, self.core.accounting.now);
            let is_paused = port.generator.has_sent_pause();
            self.core.accounting.driver.mark_xoff(slot, is_paused);
            if self.core.accounting.is_capturing() {
                self.core.capture_pfc_tx(slot, &bytes);
            }
        } else {
            self.core.device.recycle(&mut burst);
        }
    }
}
