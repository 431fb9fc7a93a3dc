//! A device that, while the switch drains, receives MAC control frames and nothing else: queues run
//! empty, and a peer's pauses are still obeyed.

use crate::platform::{DeviceLosses, PortDevice};
use dataplane::device::{Device, PortCommand};
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::limits::PORTS_MAX;
use dataplane::time::Instant;

/// The ethertype of MAC control frames (IEEE 802.3, annex 31A), and its offset in a frame.
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
const ETHERTYPE_OFFSET: usize = 12;

/// `device`, filtered while the switch drains.
#[derive(Debug)]
pub(crate) struct DrainFilter<D> {
    device: D,
    admits_data: bool,
    filtered_frames: Box<[u64; PORTS_MAX]>,
}

impl<D: PortDevice> DrainFilter<D> {
    /// A filter that passes every frame.
    pub(crate) fn new(device: D) -> Self {
        Self { device, admits_data: true, filtered_frames: Box::new([0; PORTS_MAX]) }
    }

    /// From now on, received data frames are dropped and counted.
    pub(crate) const fn drain(&mut self) {
        self.admits_data = false;
    }

    /// The device.
    #[cfg(test)]
    pub(crate) const fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    #[cold]
    fn filter_burst(&mut self, port: PortId, into: &mut Burst<D::Frame>, before: usize) {
        let mut filtered: Burst<D::Frame> = Burst::new();
        for frame in into.drain(before..).collect::<Burst<D::Frame>>() {
            if is_mac_control(frame.head()) {
                into.push(frame);
            } else {
                filtered.push(frame);
            }
        }
        self.filtered_frames[port.index()] += filtered.len() as u64;
        self.device.recycle(&mut filtered);
    }
}

impl<D: PortDevice> PortDevice for DrainFilter<D> {
    fn losses(&self, port: PortId) -> DeviceLosses {
        let rx_after_stop_frames = self.filtered_frames[port.index()];
        DeviceLosses { rx_after_stop_frames, ..self.device.losses(port) }
    }

    #[inline(always)]
    fn begin_turn(&mut self, now: Instant) {
        self.device.begin_turn(now);
    }

    fn release_removed(&mut self) {
        self.device.release_removed();
    }
}

fn is_mac_control(head: &[u8]) -> bool {
    head.get(ETHERTYPE_OFFSET..ETHERTYPE_OFFSET + 2) == Some(&MAC_CONTROL)
}

impl<D: PortDevice> Device for DrainFilter<D> {
    type Frame = D::Frame;

    fn has_tx_queue(&self, port: PortId) -> bool {
        self.device.has_tx_queue(port)
    }

    #[inline(always)]
    fn has_rx_ring(&self, port: PortId) -> bool {
        self.device.has_rx_ring(port)
    }

    #[inline(always)]
    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<D::Frame>) {
        let before = into.len();
        self.device.rx_burst(port, frames_max, into);
        if !self.admits_data && into.len() > before {
            self.filter_burst(port, into, before);
        }
    }

    #[inline(always)]
    fn tx_room_bytes(&mut self, port: PortId, now: Instant) -> u32 {
        self.device.tx_room_bytes(port, now)
    }

    #[inline(always)]
    fn tx_free_frames(&self, port: PortId) -> usize {
        self.device.tx_free_frames(port)
    }

    #[inline(always)]
    fn tx_burst(&mut self, port: PortId, from: &mut Burst<D::Frame>, now: Instant) {
        self.device.tx_burst(port, from, now);
    }

    #[inline(always)]
    fn make_control(&mut self, bytes: &[u8]) -> Option<D::Frame> {
        self.device.make_control(bytes)
    }

    #[inline(always)]
    fn copy(&mut self, frame: &D::Frame) -> Option<D::Frame> {
        self.device.copy(frame)
    }

    #[inline(always)]
    fn recycle(&mut self, frames: &mut Burst<D::Frame>) {
        self.device.recycle(frames);
    }

    fn commanded(&mut self, port: PortId, command: PortCommand<'_, D::Frame>) {
        self.device.commanded(port, command);
    }

    #[inline(always)]
    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32> {
        self.device.rx_backlog_frames(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::limits::BURST_MAX;
    use dataplane::testing::wire::Udp;
    use dataplane::testing::{TestDevice, TestFrame};

    impl PortDevice for TestDevice {
        fn losses(&self, _port: PortId) -> DeviceLosses {
            DeviceLosses { tx_segmented_frames: 7, ..DeviceLosses::default() }
        }
    }

    #[test]
    fn a_draining_filter_passes_mac_control_and_counts_what_it_drops() {
        let pfc =
            [&[1, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 9], &MAC_CONTROL[..], &[1; 46]].concat();
        let data = Udp::routed(1, 2, 0).bytes();
        let mut device = TestDevice::new(1);
        for bytes in [&data, &pfc, &data, &data, &pfc] {
            device.arrive(PortId::FIRST, bytes);
        }
        let mut filter = DrainFilter::new(device);
        let mut burst: Burst<TestFrame> = Burst::new();
        burst.push(TestFrame::new(&data));
        filter.drain();
        filter.rx_burst(PortId::FIRST, BURST_MAX, &mut burst);
        let kept: Vec<&[u8]> = burst.iter().map(Frame::head).collect();
        assert_eq!(kept, [&data[..], &pfc, &pfc], "what the burst held before is not looked at");
        let losses = filter.losses(PortId::FIRST);
        assert_eq!((losses.rx_after_stop_frames, losses.tx_segmented_frames), (3, 7));
    }

    #[test]
    fn before_the_drain_every_frame_passes() {
        let mut device = TestDevice::new(1);
        device.arrive(PortId::FIRST, &Udp::routed(1, 2, 0).bytes());
        let mut filter = DrainFilter::new(device);
        let mut burst: Burst<TestFrame> = Burst::new();
        filter.rx_burst(PortId::FIRST, BURST_MAX, &mut burst);
        assert_eq!(burst.len(), 1);
        assert_eq!(filter.losses(PortId::FIRST).rx_after_stop_frames, 0);
    }
}
