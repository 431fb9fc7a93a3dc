//! One port: its neighbors, the accepted peer, the conditions to report, and the frames to send.

use super::condition::{Condition, ConditionMonitor, Conditions};
use super::flap_damping::FlapDamping;
use super::learning::{self, AcceptedPeer, PortRole};
use super::neighbors::Neighbors;
use super::org_tlv::PfcConfiguration;
use super::pdu::{Id, Pdu};
use super::peer_policy::{self, AllowedPeer, PeerClaim};
use super::settings::{LldpSettings, PortSettings, System};
use super::topology::{Orientation, Topology};
use super::transmitter::Transmitter;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem::replace;
use dataplane::limits::FRAME_BYTES_MIN;
use dataplane::time::Instant;
use dataplane::wire::{MacAddress, ethernet};

/// The state of one port.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) settings: PortSettings,
    pub(super) transmitter: Transmitter,
    pub(super) neighbors: Neighbors,
    pub(super) monitor: ConditionMonitor,
    flap_damping: FlapDamping,
    is_up: bool,
    /// What the neighbors claim, as far as the policy allows it.
    claimed: AcceptedPeer,
    is_refused: bool,
    has_multiple_neighbors: bool,
    is_damped: bool,
    /// The peer, after flap damping.
    pub(super) peer: AcceptedPeer,
    pub(super) orientation: Orientation,
    pub(super) role: PortRole,
}

impl Port {
    pub(super) fn new(settings: PortSettings) -> Self {
        Self {
            settings,
            transmitter: Transmitter::new(),
            neighbors: Neighbors::default(),
            monitor: ConditionMonitor::default(),
            flap_damping: FlapDamping::default(),
            is_up: false,
            claimed: AcceptedPeer::Unknown,
            is_refused: false,
            has_multiple_neighbors: false,
            is_damped: false,
            peer: AcceptedPeer::Unknown,
            orientation: Orientation::Unknown,
            role: PortRole::NoLink,
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        self.is_up
    }

    pub(super) const fn set_up(&mut self, up: bool) {
        self.is_up = up;
    }

    /// Computes the accepted peer from the neighbors. Returns whether it has changed.
    pub(super) fn update_peer(&mut self, now: Instant, chassis: MacAddress) -> bool {
        let others = self.neighbors.entries().iter().map(|neighbor| &neighbor.pdu);
        let others = others.filter(|pdu| !is_from_us(pdu, chassis));
        let result =
            peer_policy::apply_policy(self.settings.allowed_peer, others.map(PeerClaim::of));
        (self.is_refused, self.has_multiple_neighbors) =
            (result.is_refused, result.has_multiple_neighbors);
        let before = replace(&mut self.claimed, result.peer);
        // Its orientation follows from what we advertise, so a change of it is not a flap.
        if without_orientation(before) != without_orientation(self.claimed)
            && self.claimed != AcceptedPeer::Unknown
        {
            self.flap_damping.change(now);
        }
        self.is_damped = self.flap_damping.is_damped(now);
        let peer = if self.is_damped { AcceptedPeer::Unknown } else { self.claimed };
        replace(&mut self.peer, peer) != peer
    }

    /// Sets the orientation that was learned. Returns whether the orientation, and whether the role
    /// of the port, has changed.
    pub(super) fn learn(&mut self, orientation: Orientation) -> (bool, bool) {
        let role = match (self.is_up, self.settings.allowed_peer) {
            (false, _) => PortRole::NoLink,
            // Configured by the operator, whatever the neighbor claims.
            (true, AllowedPeer::Host) => PortRole::Downlink,
            (true, _) => learning::port_role(orientation, self.peer),
        };
        let has_new_orientation = replace(&mut self.orientation, orientation) != orientation;
        let has_new_role = replace(&mut self.role, role) != role;
        (has_new_orientation, has_new_role)
    }

    /// The conditions that hold, if the switch is at `level`.
    pub(super) fn conditions(
        &self,
        now: Instant,
        settings: &LldpSettings,
        level: Option<u8>,
        chassis: MacAddress,
    ) -> Conditions {
        let mut conditions = Conditions::default();
        let (its_orientation, theirs) = match self.peer {
            AcceptedPeer::Switch { level, its_orientation } => (its_orientation, level),
            AcceptedPeer::Host | AcceptedPeer::Unknown => (Orientation::Unknown, None),
        };
        let is_opposite = matches!(
            (self.orientation, its_orientation),
            (Orientation::Uplink, Orientation::Downlink)
                | (Orientation::Downlink, Orientation::Uplink)
                | (Orientation::Crosslink, Orientation::Crosslink | Orientation::Unknown)
        );
        let is_typed = self.orientation != Orientation::Unknown;
        let is_switch = matches!(self.peer, AcceptedPeer::Switch { .. });
        let gap = level.zip(theirs).is_some_and(|(ours, theirs)| ours.abs_diff(theirs) > 1);
        let is_host_above =
            self.peer == AcceptedPeer::Host && level.is_some_and(|level| level != 1);
        let mut set = |condition, holds| conditions.set(condition, holds);
        set(Condition::Crosslink, self.orientation == Orientation::Crosslink);
        set(Condition::LevelGap, gap || is_host_above);
        set(Condition::Disagreement, is_switch && is_typed && !is_opposite);
        set(Condition::Refused, self.is_refused);
        set(Condition::MultipleNeighbors, self.has_multiple_neighbors);
        set(Condition::NeighborTableFull, self.neighbors.is_table_full(now));
        set(Condition::Damped, self.is_damped);
        set(Condition::Silent, settings.learns && is_switch && theirs.is_none());
        let pdus = || self.neighbors.entries().iter().map(|neighbor| &neighbor.pdu);
        set(Condition::Loop, pdus().any(|pdu| is_from_us(pdu, chassis)));
        let ours = self.settings.pfc_bits;
        let differs =
            |pdu: &Pdu| ours.zip(pdu.pfc).is_some_and(|(ours, pfc)| pfc.enabled_bits != ours);
        set(Condition::PfcMismatch, pdus().any(differs));
        let longest = self.settings.max_frame_bytes;
        let is_narrow = |pdu: &Pdu| pdu.max_frame_bytes.is_some_and(|bytes| bytes < longest);
        set(Condition::FrameSize, pdus().any(is_narrow));
        conditions
    }

    /// The frame to send, without its FCS. With a `ttl_s` of 0 it is a shutdown LLDPDU.
    pub(super) fn frame(
        &self,
        system: &System,
        settings: &LldpSettings,
        level: Option<u8>,
        ttl_s: u16,
    ) -> Vec<u8> {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        let pdu = Pdu {
            port_description: text(&self.settings.description),
            system_name: text(&system.name),
            system_description: text(&system.description),
            capabilities: system.capabilities,
            management: system.management,
            max_frame_bytes: (self.settings.max_frame_bytes != 0)
                .then_some(self.settings.max_frame_bytes),
            pfc: self.settings.pfc_bits.map(|enabled_bits| PfcConfiguration {
                // All eight priorities can have PFC.
                capability: 8,
                enabled_bits,
                ..PfcConfiguration::default()
            }),
            topology: settings.learns.then_some(Topology {
                device: settings.device,
                level,
                orientation: self.orientation,
            }),
            ..Pdu::new(Id::chassis(system.chassis), Id::port(&self.settings.name), ttl_s)
        };
        let mut frame = Vec::new();
        frame.extend(MacAddress::LLDP.0);
        frame.extend(self.settings.mac.0);
        frame.extend(ethernet::LLDP.to_be_bytes());
        pdu.write(settings.profile, &mut frame);
        frame.resize(frame.len().max(FRAME_BYTES_MIN), 0);
        frame
    }

    /// When the port next has something to do.
    pub(super) fn next_at(&self, now: Instant, settings: &LldpSettings) -> Option<Instant> {
        let due = self.transmitter.due_at(settings);
        let next =
            [due, self.neighbors.next_at(now), self.monitor.next_at(), self.flap_damping.ends_at()];
        next.into_iter().flatten().min()
    }
}

/// The part of the claims of a neighbor that does not depend on what we advertise.
const fn without_orientation(peer: AcceptedPeer) -> (u8, Option<u8>) {
    match peer {
        AcceptedPeer::Unknown => (0, None),
        AcceptedPeer::Host => (1, None),
        AcceptedPeer::Switch { level, .. } => (2, level),
    }
}

fn is_from_us(pdu: &Pdu, chassis: MacAddress) -> bool {
    pdu.chassis.is_mac(chassis)
}
