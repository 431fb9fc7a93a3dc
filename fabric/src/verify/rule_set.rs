//! The rules of a whole network: one rule file for each switch, and that they agree.

use crate::network::Network;
use crate::rules::RuleSet;
use dataplane::ids::{Priority, Tag};
use std::collections::BTreeMap;

/// The rules of all switches, by number.
#[derive(Clone, Debug)]
pub struct NetworkRules {
    pub(super) sets: Vec<RuleSet>,
    /// The lossless tags of any switch. Where two switches know a tag, its priority is the same.
    pub(super) priorities: BTreeMap<Tag, Priority>,
    pub(super) lossy_tag: Tag,
    pub(super) initial_tag: Tag,
    /// By application class; empty if the rules do not say.
    pub(super) initial_tags: Vec<Tag>,
}

/// What two rule sets cannot agree on: the switch, and the message.
type Mistake = (u32, String);

impl NetworkRules {
    /// The rule sets of all switches, by number.
    ///
    /// # Errors
    /// They are not those of this network, or contradict each other: the switch and why.
    pub fn new(network: &Network, sets: Vec<RuleSet>) -> Result<Self, (u32, String)> {
        let mut priorities = BTreeMap::new();
        let first = sets.first().map(|set| (set.lossy_tag, set.initial_tag));
        let (lossy_tag, initial_tag) = first.unwrap_or_default();
        let initial_tags = sets.first().map(|set| set.initial_tags.clone()).unwrap_or_default();
        for (switch, set) in (0..).zip(&sets) {
            check_place(network, switch, set)?;
            let said = |what: &str, here: Tag, there: Tag| {
                let first = network.switch_name(0);
                (
                    switch,
                    format!("`{what}` is {here}, and {there} at `{first}`; make them the same"),
                )
            };
            if set.lossy_tag != lossy_tag {
                return Err(said("lossy_tag", set.lossy_tag, lossy_tag));
            }
            if set.initial_tag != initial_tag {
                return Err(said("initial_tag", set.initial_tag, initial_tag));
            }
            if set.initial_tags != initial_tags {
                let first = network.switch_name(0);
                let message =
                    format!("`initial_tags` are other ones than at `{first}`; make them the same");
                return Err((switch, message));
            }
            for (&tag, &priority) in &set.priorities {
                let known = *priorities.entry(tag).or_insert(priority);
                if known != priority {
                    let message = format!(
                        "tag {tag} has priority {priority} here and {known} elsewhere: a pause \
                         would stop the wrong queue; make them the same"
                    );
                    return Err((switch, message));
                }
            }
        }
        Ok(Self { sets, priorities, lossy_tag, initial_tag, initial_tags })
    }

    /// The rule sets, by switch, for keeps.
    pub(crate) fn into_sets(self) -> Vec<RuleSet> {
        self.sets
    }

    /// The rule sets, by switch.
    pub fn sets(&self) -> &[RuleSet] {
        &self.sets
    }
}

/// That a rule set is of this switch.
fn check_place(network: &Network, switch: u32, set: &RuleSet) -> Result<(), Mistake> {
    let name = network.switch_name(switch);
    if set.switch != name {
        let message = format!("these are the rules of `{}`; `switch` must be `{name}`", set.switch);
        return Err((switch, message));
    }
    let ports = network.ports(switch);
    if set.ports != ports {
        let message = format!("`ports` is {}; `{name}` has {ports} in the network", set.ports);
        return Err((switch, message));
    }
    Ok(())
}
