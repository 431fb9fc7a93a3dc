//! What a switch's rules must answer, and where they are free.

use dataplane::ids::{PortId, Tag};
use dataplane::rules::PortSet;

/// For each tag a matrix of in ports and out ports; each cell has answers it may be given.
#[derive(Clone, Debug)]
pub struct Demand {
    ports: usize,
    lossy_tag: Tag,
    tags: Vec<TagDemand>,
}

/// What frames of one tag must get.
#[derive(Clone, Debug)]
pub(super) struct TagDemand {
    pub(super) tag: Tag,
    /// The answers that occur, none twice.
    pub(super) answers: Vec<Answer>,
}

/// One answer, and where it must or may be given.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) new_tag: Tag,
    /// By in port: out ports that must get it.
    pub(super) must: Vec<PortSet>,
    /// By in port: out ports that may get it, those that must among them.
    pub(super) may: Vec<PortSet>,
}

impl Demand {
    /// A switch of `ports` ports that demands nothing: every cell is lossy, and must be.
    pub const fn new(ports: usize, lossy_tag: Tag) -> Self {
        Self { ports, lossy_tag, tags: Vec::new() }
    }

    /// How many ports the switch has.
    pub const fn ports(&self) -> usize {
        self.ports
    }

    /// The tag of lossy frames.
    pub const fn lossy_tag(&self) -> Tag {
        self.lossy_tag
    }

    pub(super) fn tags(&self) -> &[TagDemand] {
        &self.tags
    }

    fn answer(&mut self, tag: Tag, new_tag: Tag) -> &mut Answer {
        let at = self.tags.iter().position(|demand| demand.tag == tag).unwrap_or_else(|| {
            self.tags.push(TagDemand { tag, answers: Vec::new() });
            self.tags.len() - 1
        });
        let answers = &mut self.tags[at].answers;
        let at = answers.iter().position(|answer| answer.new_tag == new_tag).unwrap_or_else(|| {
            let none = vec![PortSet::EMPTY; self.ports];
            answers.push(Answer { new_tag, must: none.clone(), may: none });
            answers.len() - 1
        });
        &mut answers[at]
    }

    /// Frames with `tag` from `input` to `outputs` must get `new_tag`. A cell must get one answer
    /// at the most.
    pub fn must(&mut self, tag: Tag, input: PortId, outputs: PortSet, new_tag: Tag) {
        let answer = self.answer(tag, new_tag);
        let row = input.index();
        answer.must[row] = union(&answer.must[row], &outputs);
        answer.may[row] = union(&answer.may[row], &outputs);
    }

    /// Frames with `tag` from `input` to `outputs` may get `new_tag`, if nothing else must be.
    pub fn may(&mut self, tag: Tag, input: PortId, outputs: PortSet, new_tag: Tag) {
        let answer = self.answer(tag, new_tag);
        let row = input.index();
        answer.may[row] = union(&answer.may[row], &outputs);
    }

    /// Whether `new_tag` is right for this cell. What nothing is said of must be lossy; what only
    /// `may` get an answer may always be lossy too.
    pub fn allows(&self, tag: Tag, input: PortId, output: PortId, new_tag: Tag) -> bool {
        let demand = self.tags.iter().find(|demand| demand.tag == tag);
        let answers = demand.map_or(&[][..], |demand| &demand.answers);
        let has = |sets: &[PortSet]| sets[input.index()].contains(output);
        match answers.iter().find(|answer| has(&answer.must)) {
            Some(answer) => answer.new_tag == new_tag,
            None => {
                new_tag == self.lossy_tag
                    || answers.iter().any(|answer| answer.new_tag == new_tag && has(&answer.may))
            }
        }
    }
}

pub(super) fn union(one: &PortSet, other: &PortSet) -> PortSet {
    one.iter().chain(other.iter()).collect()
}

pub(super) fn is_subset(one: &PortSet, other: &PortSet) -> bool {
    one.difference(other).is_empty()
}
