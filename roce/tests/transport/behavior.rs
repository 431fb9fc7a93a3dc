//! One behavior each.

use crate::wire::{PAIR, REGION_BYTES, Wire, pattern};
use roce::QueuePairSettings;
use roce::memory::RegionId;
use roce::work::{Operation, Place, ReceiveRequest};

#[test]
fn debug() {
    let zeros = vec![0; REGION_BYTES];
    let regions = [pattern(1), zeros];
    let mut wire = Wire::new(&QueuePairSettings::default(), [&regions, &regions], 1, false);
    let place = Place { region: RegionId(1), offset: 0 };
    wire.sides[1]
        .endpoint
        .post_receive(PAIR, ReceiveRequest { id: 1, local: place, bytes: 4_096 })
        .unwrap();
    wire.post(0, 1, Operation::Send { immediate: None }, place, 0);
    wire.run(u64::MAX - 1);
    for side in 0..2 {
        println!("{:?}", wire.sides[side].completions);
        println!("{:?}", wire.sides[side].departures);
        println!(
            "{:?}",
            wire.sides[side].endpoint.counters().named().filter(|it| it.1 > 0).collect::<Vec<_>>()
        );
    }
}
