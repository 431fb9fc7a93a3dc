//! What is written is what is read, and no file makes the reader panic.

use super::*;
use proptest::prelude::*;

fn frame() -> impl Strategy<Value = RecordedFrame> {
    (proptest::collection::vec(any::<u8>(), 0..=SNAP_BYTES), 0..9_000_usize)
        .prop_map(|(head, tail)| RecordedFrame { frame_bytes: head.len() + tail, head })
}

fn kind() -> impl Strategy<Value = PortEventKind> {
    prop_oneof![
        frame().prop_map(PortEventKind::Received),
        frame().prop_map(PortEventKind::Sent),
        frame().prop_map(PortEventKind::Injected),
        any::<bool>().prop_map(PortEventKind::Link),
        any::<u32>().prop_map(PortEventKind::Backlog),
    ]
}

fn recording() -> impl Strategy<Value = Recording> {
    let event = (0..3_usize, any::<u64>(), kind()).prop_map(|(port, at_ps, kind)| PortEvent {
        at_ps,
        port: PortId::from_index(port).unwrap(),
        kind,
    });
    let origin = prop_oneof![Just(Origin::Devices), Just(Origin::Emulator)];
    (origin, proptest::collection::vec(event, 0..20), any::<u64>()).prop_map(
        |(origin, events, end_ps)| Recording {
            origin,
            ports: ["h1", "uplink", "x"].map(str::to_owned).to_vec(),
            events,
            end_ps,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_what_is_read(recording in recording()) {
        let file = recording.write(Vec::new()).unwrap();
        prop_assert_eq!(Recording::read(&file[..]).unwrap(), recording);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_nothing_worse(
        recording in recording(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = recording.write(Vec::new()).unwrap();
        for (at, octet) in changes {
            let at = at.index(file.len());
            file[at] = octet;
        }
        file.truncate(end.index(file.len()) + 1);
        let _is_read_or_refused = Recording::read(&file[..]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(file in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Recording::read(&file[..]).is_err());
    }
}

#[test]
fn a_recording_that_is_not_whole_is_refused() {
    let whole = Recording {
        origin: Origin::Devices,
        ports: vec!["a".to_owned()],
        events: Vec::new(),
        end_ps: 5,
    };
    let file = whole.write(Vec::new()).unwrap();
    // The last block: type, length, interface, time, one option, their end, and the length again.
    let without_end = &file[..file.len() - 40];
    let error = Recording::read(without_end).unwrap_err();
    assert!(matches!(error, RecordingError::Unfinished), "{error}");
    let writer = RecordingWriter::new(Vec::new(), Origin::Devices, ["a"].into_iter()).unwrap();
    let error = Recording::read(&writer.finish(5, 3).unwrap()[..]).unwrap_err();
    assert!(matches!(error, RecordingError::Incomplete { events: 3 }), "{error}");
    assert_eq!(
        error.to_string(),
        "3 events are missing from it: the disk was too slow while it was recorded"
    );
}
