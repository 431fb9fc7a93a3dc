//! The flows as CSV, a row each: what a spreadsheet or pandas opens.

use netsim::outcome::{FlowOutcome, Outcome};
use std::io;

const HEADINGS: [&str; 12] = [
    "name",
    "from",
    "to",
    "start_ps",
    "finished_ps",
    "ideal_ps",
    "size_bytes",
    "received_bytes",
    "sent_frames",
    "received_frames",
    "marked_frames",
    "missing_frames",
];

/// All flows; what a flow does not have is empty.
///
/// # Errors
/// None in practice: it writes to memory.
pub(super) fn csv(outcome: &Outcome) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADINGS)?;
    outcome.flows.iter().try_for_each(|flow| writer.write_record(row(flow)))?;
    let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn row(flow: &FlowOutcome) -> [String; HEADINGS.len()] {
    let optional = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    [
        flow.name.clone(),
        flow.from.clone(),
        flow.to.clone(),
        flow.start_ps.to_string(),
        optional(flow.finished_ps),
        optional(flow.ideal_ps.filter(|&ps| ps > 0)),
        optional(flow.size_bytes),
        flow.received_bytes.to_string(),
        flow.sent_frames.to_string(),
        flow.received_frames.to_string(),
        flow.marked_frames.to_string(),
        flow.missing_frames.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_flow_and_names_in_quotes_where_they_need_them() {
        let flow = FlowOutcome {
            name: "a, \"b\"".to_owned(),
            from: "a".to_owned(),
            to: "c".to_owned(),
            ideal_ps: Some(0),
            received_bytes: 7,
            ..FlowOutcome::default()
        };
        let outcome = Outcome { flows: vec![flow], ..Outcome::default() };
        let text = csv(&outcome).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split(',').count(), HEADINGS.len());
        assert_eq!(lines[1], "\"a, \"\"b\"\"\",a,c,0,,,,7,0,0,0,0");
    }
}
