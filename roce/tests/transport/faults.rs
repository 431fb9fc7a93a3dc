//! Whatever the wire does: memory ends as if it were perfect, and each request completes once.

use crate::wire::{Faults, PAIR, REGION_BYTES, Wire, pattern};
use proptest::prelude::*;
use roce::memory::RegionId;
use roce::time::PS_PER_US;
use roce::wire::AtomicOperation;
use roce::work::{Completion, Done, Operation, Place, ReceiveRequest, Status};
use roce::{QueuePairSettings, Recovery};

/// What each side has: bytes to send and to be read, which nobody writes; bytes that the other side
/// writes; receive buffers; numbers; where READs go.
const SOURCE: u32 = 0;
const WRITTEN: u32 = 1;
const BUFFERS: u32 = 2;
const NUMBERS: u32 = 3;
const READ: u32 = 4;
const BUFFER_BYTES: u32 = 4_096;

#[derive(Clone, Copy, Debug)]
enum Step {
    Send { from: u32, bytes: u32, immediate: Option<u32> },
    Write { from: u32, to: u32, bytes: u32, immediate: Option<u32> },
    Read { from: u32, to: u32, bytes: u32 },
    Add { number: u32, add: u64 },
    Swap { number: u32, compare: u64, swap: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let offset = 0..u32::try_from(REGION_BYTES).unwrap() - BUFFER_BYTES;
    let bytes = || prop_oneof![Just(0), 1..300_u32, 0..=BUFFER_BYTES];
    let immediate = || prop_oneof![Just(None), any::<u32>().prop_map(Some)];
    let number = 0..4_u32;
    let step =
        prop_oneof![
            (offset.clone(), bytes(), immediate())
                .prop_map(|(from, bytes, immediate)| Step::Send { from, bytes, immediate }),
            (offset.clone(), offset.clone(), bytes(), immediate()).prop_map(
                |(from, to, bytes, immediate)| Step::Write { from, to, bytes, immediate }
            ),
            (offset.clone(), offset, bytes()).prop_map(|(from, to, bytes)| Step::Read {
                from,
                to,
                bytes
            }),
            (number.clone(), any::<u64>()).prop_map(|(number, add)| Step::Add { number, add }),
            (number, 0..3_u64, 0..3_u64).prop_map(|(number, compare, swap)| Step::Swap {
                number,
                compare,
                swap
            }),
        ];
    prop::collection::vec(step, 0..25)
}

/// What must come of the steps of one side.
#[derive(Default)]
struct Oracle {
    written: Vec<u8>,
    numbers: [u64; 4],
    read: Vec<u8>,
    done: Vec<Done>,
    /// What the other side receives: the message, if it is one, and what is said of it.
    received: Vec<(Option<Vec<u8>>, Done)>,
}

fn range(from: u32, bytes: u32) -> std::ops::Range<usize> {
    let from = usize::try_from(from).unwrap();
    from..from + usize::try_from(bytes).unwrap()
}

fn oracle(steps: &[Step], own: &[u8], other: &[u8]) -> Oracle {
    let zeros = || vec![0; REGION_BYTES];
    let mut oracle = Oracle { written: zeros(), read: zeros(), ..Oracle::default() };
    for &step in steps {
        let done = match step {
            Step::Send { from, bytes, immediate } => {
                let message = own[range(from, bytes)].to_vec();
                oracle.received.push((Some(message), Done::Receive { immediate }));
                Done::Send
            }
            Step::Write { from, to, bytes, immediate } => {
                oracle.written[range(to, bytes)].copy_from_slice(&own[range(from, bytes)]);
                let received = immediate.map(|immediate| Done::ReceiveWrite { immediate });
                oracle.received.extend(received.map(|done| (None, done)));
                Done::Write
            }
            Step::Read { from, to, bytes } => {
                oracle.read[range(to, bytes)].copy_from_slice(&other[range(from, bytes)]);
                Done::Read
            }
            Step::Add { number, add } => {
                let at = usize::try_from(number).unwrap();
                let original = oracle.numbers[at];
                oracle.numbers[at] = original.wrapping_add(add);
                Done::Atomic { original }
            }
            Step::Swap { number, compare, swap } => {
                let at = usize::try_from(number).unwrap();
                let original = oracle.numbers[at];
                if original == compare {
                    oracle.numbers[at] = swap;
                }
                Done::Atomic { original }
            }
        };
        oracle.done.push(done);
    }
    oracle
}

fn post(wire: &mut Wire, side: usize, id: u64, step: Step) {
    let place = |region, offset: u32| Place { region: RegionId(region), offset: offset.into() };
    let remote =
        |wire: &Wire, region, offset: u32| wire.sides[1 - side].remote(region, offset.into());
    let (operation, local, bytes) = match step {
        Step::Send { from, bytes, immediate } => {
            (Operation::Send { immediate }, place(SOURCE, from), bytes)
        }
        Step::Write { from, to, bytes, immediate } => {
            let remote = remote(wire, WRITTEN, to);
            (Operation::Write { remote, immediate }, place(SOURCE, from), bytes)
        }
        Step::Read { from, to, bytes } => {
            (Operation::Read { remote: remote(wire, SOURCE, from) }, place(READ, to), bytes)
        }
        Step::Add { number, add } => {
            let remote = remote(wire, NUMBERS, number * 8);
            let operation = AtomicOperation::FetchAdd { add };
            (Operation::Atomic { remote, operation }, place(SOURCE, 0), 0)
        }
        Step::Swap { number, compare, swap } => {
            let remote = remote(wire, NUMBERS, number * 8);
            let operation = AtomicOperation::CompareSwap { compare, swap };
            (Operation::Atomic { remote, operation }, place(SOURCE, 0), 0)
        }
    };
    wire.post(side, id, operation, local, bytes);
}

fn is_receive(completion: &&Completion) -> bool {
    matches!(completion.done, Done::Receive { .. } | Done::ReceiveWrite { .. })
}

fn post_buffers(wire: &mut Wire, side: usize, buffers: std::ops::Range<u32>) {
    for buffer in buffers {
        let offset = u64::from(buffer) * u64::from(BUFFER_BYTES);
        let local = Place { region: RegionId(BUFFERS), offset };
        let request = ReceiveRequest { id: buffer.into(), local, bytes: BUFFER_BYTES };
        wire.sides[side].endpoint.post_receive(PAIR, request).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn all_ends_as_on_a_perfect_wire(
        steps in [steps(), steps()],
        faults in (0..200_u32, 0..100_u32, 0..300_u32),
        mtu in prop_oneof![Just(256), Just(1_024), Just(4_096)],
        window in prop_oneof![Just(None), (1..200_u32).prop_map(Some)],
        acknowledge_every in 1..20_u32,
        reads_max in 1..5_u8,
        late_buffers in any::<bool>(),
        is_v6 in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let recovery = window.map_or(Recovery::GoBackN, |window_packets| {
            Recovery::SelectiveRepeat { window_packets }
        });
        let settings = QueuePairSettings {
            mtu,
            recovery,
            acknowledge_every,
            reads_max,
            timeout_ps: 200 * PS_PER_US,
            retries: u8::MAX,
            rnr_timer: 3,
            ..QueuePairSettings::default()
        };
        let regions = [1, 2].map(|seed| {
            let zeros = |bytes| vec![0; bytes];
            let buffers = 25 * usize::try_from(BUFFER_BYTES).unwrap();
            [pattern(seed), zeros(REGION_BYTES), zeros(buffers), zeros(64), zeros(REGION_BYTES)]
        });
        let mut wire = Wire::new(&settings, [&regions[0], &regions[1]], seed, is_v6);
        let (lost, repeated, late) = faults;
        wire.faults = Faults { lost, repeated, late };
        for side in [0, 1] {
            post_buffers(&mut wire, side, 0..if late_buffers { 1 } else { 25 });
            for (id, &step) in (0..).zip(&steps[side]) {
                post(&mut wire, side, id, step);
            }
        }
        if late_buffers {
            wire.run(500 * PS_PER_US);
            for side in [0, 1] {
                post_buffers(&mut wire, side, 1..25);
            }
        }
        wire.run(u64::MAX - 1);
        for side in [0, 1] {
            let wanted = oracle(&steps[side], &regions[side][0], &regions[1 - side][0]);
            let (own, other) = (&wire.sides[side], &wire.sides[1 - side]);
            let done: Vec<Completion> =
                own.completions.iter().filter(|it| !is_receive(it)).copied().collect();
            prop_assert!(done.iter().all(|it| it.status == Status::Success), "{done:?}");
            prop_assert_eq!(done.iter().map(|it| it.done).collect::<Vec<_>>(), wanted.done);
            prop_assert!(done.iter().map(|it| it.id).eq(0..u64::try_from(done.len()).unwrap()));
            let region = |side: &crate::wire::Side, region: u32| {
                side.memory.regions[usize::try_from(region).unwrap()].clone()
            };
            prop_assert_eq!(region(other, WRITTEN), wanted.written);
            prop_assert_eq!(region(own, READ), wanted.read);
            prop_assert_eq!(&region(other, SOURCE), &regions[1 - side][0], "nobody writes there");
            let numbers: Vec<u64> = region(other, NUMBERS)
                .chunks_exact(8)
                .map(|eight| u64::from_ne_bytes(eight.try_into().unwrap()))
                .collect();
            prop_assert_eq!(&numbers[..4], &wanted.numbers);
            let received: Vec<(Option<Vec<u8>>, Done)> = other
                .completions
                .iter()
                .filter(is_receive)
                .map(|it| {
                    assert_eq!(it.status, Status::Success);
                    let buffer = u32::try_from(it.id).unwrap() * BUFFER_BYTES;
                    let message = || region(other, BUFFERS)[range(buffer, it.bytes)].to_vec();
                    let is_send = matches!(it.done, Done::Receive { .. });
                    (is_send.then(message), it.done)
                })
                .collect();
            prop_assert_eq!(received, wanted.received);
            let counters = own.endpoint.counters();
            prop_assert_eq!((counters.bad_icrc, counters.bad_length, counters.foreign), (0, 0, 0));
            if lost == 0 && late == 0 && repeated == 0 && counters.rnr_received == 0 {
                prop_assert_eq!((counters.retransmitted, counters.timeouts), (0, 0));
            }
        }
    }
}
