//! `knotless ctl recorder`: what the flight recorder has, a line each.

use crate::flight_recorder::event::FlightEvent;
use crate::why::clock::clock;

pub(super) fn text(events: &[FlightEvent]) -> String {
    if events.is_empty() {
        return "nothing has happened that is kept".to_owned();
    }
    let line = |event: &FlightEvent| format!("{} {}", clock(event.time_unix_ms), event.what.text());
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}
