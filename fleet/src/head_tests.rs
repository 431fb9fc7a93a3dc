//! Rollouts with crashes, pauses and changes of mind: what switches have is always what the head
//! says.

use super::*;
use proptest::prelude::*;

const STAGES: usize = 3;

/// What the switches of one stage have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Old,
    Mixed,
    New,
}

fn started() -> Head {
    Head { latest: 2, running: Some(1), rollout: None }.begin(2, Some(1), STAGES).unwrap()
}

/// Stages before the head's have new rules, later ones old ones; its own may have any, if touched.
fn agrees(head: &Head, has: &[Has; STAGES]) -> bool {
    let Some(rollout) = &head.rollout else {
        let all = if head.running == Some(2) { Has::New } else { Has::Old };
        return has.iter().all(|it| *it == all);
    };
    (0..).zip(has).all(|(at, it)| match at {
        _ if at < rollout.stage => *it == Has::New,
        _ if at == rollout.stage && rollout.touched => true,
        _ => *it == Has::Old,
    })
}

proptest! {
    #[test]
    fn the_head_covers_what_switches_have(
        steps in proptest::collection::vec((0..7_u8, any::<bool>()), 0..80),
    ) {
        let mut head = started();
        let mut has = [Has::Old; STAGES];
        for (what, flag) in steps {
            let rollout = head.rollout.clone();
            let runs = rollout.as_ref().is_some_and(|rollout| {
                matches!(rollout.state, State::Running | State::Pausing)
            });
            let forward =
                rollout.as_ref().is_some_and(|rollout| rollout.direction == Direction::Forward);
            match what {
                // The driver: it touches the stage, then some of its switches change.
                0..=2 if runs => match head.next() {
                    Next::Stage(stage) => {
                        head = head.touch();
                        prop_assert!(agrees(&head, &has));
                        has[stage] = Has::Mixed;
                        prop_assert!(agrees(&head, &has));
                        if flag {
                            has[stage] = if forward { Has::New } else { Has::Old };
                            head = head.stage_done();
                        }
                    }
                    Next::Complete => head = head.complete(Some(1)),
                },
                3 if runs => head = head.stop("a switch does not answer"),
                4 => head = head.pause().unwrap_or(head),
                5 => {
                    let direction = if flag { Direction::Back } else { Direction::Forward };
                    head = head.resume(Some(direction)).unwrap_or(head);
                }
                6 if head.rollout.is_none() => {
                    let again = head.begin(2, Some(1), STAGES);
                    let back = head.begin_back(Some(1), STAGES);
                    prop_assert_eq!(again.is_ok(), head.running == Some(1));
                    head = if head.running == Some(1) { again.unwrap() } else { back.unwrap() };
                }
                _ => {}
            }
            prop_assert!(agrees(&head, &has), "{head:?} {has:?}");
        }
        // Whatever happened, both ends can be come to.
        for direction in [Direction::Forward, Direction::Back] {
            if head.rollout.is_none() {
                continue;
            }
            head = head.resume(Some(direction)).unwrap();
            while let Next::Stage(_) = head.next() {
                head = head.touch().stage_done();
            }
        }
    }
}

#[test]
fn what_is_not_possible_now_is_refused() {
    let head = started();
    let message = |it: Result<Head, NotNow>| it.unwrap_err().to_string();
    assert!(message(head.begin(3, Some(2), 1)).contains("is not complete"));
    let idle = Head { latest: 3, running: Some(2), rollout: None };
    assert!(message(idle.begin(2, Some(1), 1)).contains("runs already"));
    assert!(message(idle.begin(3, Some(1), 1)).contains("push its rules again"));
    assert!(message(idle.pause()).contains("no rollout runs"));
    assert!(message(idle.resume(None)).contains("no rollout has stopped"));
    assert!(message(idle.begin_back(None, 1)).contains("none before it"));
    // A pause takes effect after the stage.
    let paused = head.touch().pause().unwrap().stage_done();
    assert_eq!(paused.rollout.unwrap().state, State::Paused);
}
