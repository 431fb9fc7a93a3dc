//! The agent against a model of the store that loses connections, delays and repeats.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn text(number: u8) -> String {
    format!("rules {number}")
}

fn want(revision: u64, number: u8) -> Want {
    Want { revision, hash: content_hash(&text(number)) }
}

/// The store and the switch, as simple as they can be.
struct World {
    agent: Agent,
    rules: BTreeMap<String, String>,
    want: Option<Want>,
    ack: Option<Ack>,
    /// What the data path has, whatever the agent believes.
    data_path: Option<String>,
    /// Every text that was ever applied.
    applied: Vec<String>,
    up: bool,
    pending: Vec<Action>,
    /// The switch refuses these.
    refuses: Option<u8>,
}

impl World {
    fn new() -> Self {
        let rules = (0..4).map(|number| (content_hash(&text(number)), text(number))).collect();
        Self {
            agent: Agent::new("s1", "1", None, None),
            rules,
            want: None,
            ack: None,
            data_path: None,
            applied: Vec::new(),
            up: false,
            pending: vec![Action::Connect(Duration::ZERO)],
            refuses: None,
        }
    }

    fn feed(&mut self, input: Input) {
        let actions = self.agent.step(input);
        self.pending.extend(actions);
    }

    /// Does one of the pending actions.
    fn act(&mut self, which: usize) {
        if self.pending.is_empty() {
            return;
        }
        let action = self.pending.remove(which % self.pending.len());
        match action {
            Action::Connect(_) if self.up => {
                let want = self.want.clone();
                self.feed(Input::Connected(want));
            }
            Action::Connect(_) => self.feed(Input::Lost),
            Action::Fetch(hash) => {
                if self.up && self.agent.is_connected() {
                    let text = self.rules.get(&hash).cloned();
                    self.feed(Input::Fetched { hash, text });
                }
            }
            Action::Apply(want, rules) => {
                let refused = self.refuses.is_some_and(|number| text(number) == rules);
                let result = if refused { Err("no".to_owned()) } else { Ok(()) };
                if !refused {
                    self.data_path = Some(content_hash(&rules));
                    self.applied.push(rules);
                }
                self.feed(Input::Applied { want, result });
            }
            Action::Acknowledge(ack) => {
                if self.up && self.agent.is_connected() {
                    self.ack = Some(ack);
                }
            }
        }
    }

    fn lose(&mut self) {
        if self.up {
            self.up = false;
            self.ack = None;
            // What was under way to the store is gone; what the switch does goes on.
            self.pending.retain(|action| matches!(action, Action::Apply(..) | Action::Connect(_)));
            if self.agent.is_connected() {
                self.feed(Input::Lost);
            }
        }
    }

    fn settle(&mut self) {
        self.up = true;
        for _ in 0..200 {
            // Acknowledgements go out in order.
            self.act(0);
        }
    }
}

proptest! {
    #[test]
    fn it_comes_to_run_what_is_wanted_whatever_happened(
        steps in proptest::collection::vec((0..6_u8, any::<u8>()), 0..60),
        last in 0..4_u8,
    ) {
        let mut world = World::new();
        for (revision, (what, number)) in (1..).zip(steps) {
            match what {
                0 => {
                    world.want = Some(want(revision, number % 4));
                    if world.up && world.agent.is_connected() {
                        let want = world.want.clone();
                        world.feed(Input::Wanted(want));
                    }
                }
                1 => world.lose(),
                2 => world.up = true,
                3 => {
                    // An operator changes the rules by hand.
                    world.data_path = Some(content_hash(&text(number % 4)));
                    let hash = world.data_path.clone();
                    world.feed(Input::Runs(hash));
                }
                _ => world.act(usize::from(number)),
            }
        }
        world.settle();
        world.want = Some(want(1_000, last));
        let wanted = world.want.clone();
        world.feed(Input::Wanted(wanted));
        world.settle();
        let hash = Some(content_hash(&text(last)));
        prop_assert_eq!(&world.data_path, &hash);
        let ack = world.ack.unwrap();
        prop_assert_eq!((ack.hash, ack.revision, ack.error), (hash, Some(1_000), None));
    }

    #[test]
    fn without_the_store_nothing_changes(number in 0..4_u8, tries in 1..20_usize) {
        let mut world = World::new();
        world.want = Some(want(1, number));
        world.settle();
        let before = world.data_path.clone();
        world.lose();
        world.want = Some(want(2, (number + 1) % 4));
        (0..tries).for_each(|at| world.act(at));
        prop_assert_eq!(&world.data_path, &before);
        prop_assert_eq!(world.applied.len(), 1);
    }
}

#[test]
fn what_the_switch_refuses_is_said_and_not_tried_until_something_changes() {
    let mut world = World::new();
    world.want = Some(want(1, 0));
    world.settle();
    world.refuses = Some(1);
    world.feed(Input::Wanted(Some(want(2, 1))));
    world.settle();
    let ack = world.ack.clone().unwrap();
    assert_eq!((ack.hash, ack.error), (Some(content_hash(&text(0))), Some("no".to_owned())));
    world.feed(Input::Wanted(Some(want(1, 0))));
    world.settle();
    assert_eq!(world.ack.unwrap().error, None);
}

#[test]
fn rules_with_another_hash_than_their_key_are_never_applied() {
    let mut world = World::new();
    world.rules.insert(content_hash(&text(0)), "forged".to_owned());
    world.rules.remove(&content_hash(&text(1)));
    for (revision, number, reason) in [(1, 0, "another hash"), (2, 1, "no rules")] {
        world.want = Some(want(revision, number));
        let wanted = world.want.clone();
        world.feed(Input::Wanted(wanted));
        world.settle();
        let ack = world.ack.clone().unwrap();
        assert!(ack.error.unwrap().contains(reason));
        assert_eq!((ack.hash, world.applied.len()), (None, 0));
    }
}
