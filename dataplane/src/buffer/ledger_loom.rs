//! The ledger between two workers, under every order in which the memory model lets the reader see
//! the writer's stores.

use super::*;
use crate::buffer::tests::settings;

const COST_BYTES: u32 = 100;

/// The writer releases three frames in two turns while the reader collects. The reader never sees
/// more bytes than were released. After the writer is done, one more read finds all of them: no
/// release is lost because its version was seen before its row.
#[test]
fn every_release_is_seen_once_and_none_before_it_happened() {
    loom::model(|| {
        let [a, b] = [3, 4].map(|p| ViqId::new(PortId::default(), Priority::from_low_bits(p)));
        let ledger = Arc::new(Ledger::new(1));
        let mut reader = LedgerReader::new(Arc::clone(&ledger));
        let mut buffer = Buffer::new(&settings(&[], 10_000, 10_000));
        for viq in [a, a, b] {
            buffer.admit(viq, COST_BYTES).expect("the VIQ has room");
        }

        let mut writer = LedgerWriter::new(ledger);
        let turns = loom::thread::spawn(move || {
            writer.add_release(a, COST_BYTES);
            writer.publish_releases();
            writer.add_release(a, COST_BYTES);
            writer.add_release(b, COST_BYTES);
            writer.publish_releases();
        });
        let own = [PortId::default()];
        let mut before = [2 * COST_BYTES, COST_BYTES];
        for _ in 0..2 {
            // The buffer panics if more is released than was charged.
            reader.collect(&own, &mut buffer);
            let held = [a, b].map(|viq| buffer.viq(viq).bytes());
            assert!(held[0] <= before[0] && held[1] <= before[1], "bytes came back");
            before = held;
        }
        turns.join().expect("the writer does not panic");
        reader.collect(&own, &mut buffer);
        assert_eq!([a, b].map(|viq| buffer.viq(viq).bytes()), [0, 0]);
    });
}
