//! The lossless classes that hosts can send in, as an example's file has them.

use config::SwitchConfig;
use dataplane::ids::Tag;
use dataplane::pipeline::classify::ClassifyBy;

/// A lossless class at a port: how a host marks it, and how the switch pauses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// The priority that it has in the switch.
    pub(super) priority: usize,
    /// The priority that a pause names.
    pub(super) paused_as: usize,
    /// The keys of a flow that mark it.
    pub(super) marking: String,
}

/// The lossless classes that the host at `port` can send in.
pub(super) fn classes(config: &SwitchConfig, port: usize) -> Vec<Class> {
    let (tags, settings) = (&config.tag_map, &config.settings.ports[port]);
    let trust = &config.ports[port].trust;
    let is_lossless = |priority: usize| settings.lossless[priority].is_some();
    let class = |priority: usize, tag: Tag, ttl: u8| {
        let paused_as = settings.upstream[priority].index();
        let (dscp, pcp) = (tags.dscp[tag.index()], tags.pcp[tag.index()]);
        let pcp = if trust.by == ClassifyBy::Pcp { format!(",pcp={pcp}") } else { String::new() };
        Class { priority, paused_as, marking: format!("dscp={dscp},ttl={ttl}{pcp}") }
    };
    let mut classes: Vec<Class> = Vec::new();
    if trust.by == ClassifyBy::Port {
        // Nothing on a frame decides.
        let priority = tags.priority[trust.default_tag.index()].index();
        if tags.is_lossless(trust.default_tag) && is_lossless(priority) {
            classes.push(class(priority, trust.default_tag, 64));
        }
    } else if let Some(hops) = &tags.ttl_classes {
        let here = hops.classes_here().filter(|&number| trust.trusted || number == 1);
        for number in here.filter(|&number| is_lossless(hops.priorities[number].index())) {
            // It is counted down once before it leaves the switch, which decides.
            let hops_before = u8::try_from(number - 1).expect("eight classes");
            let priority = hops.priorities[number].index();
            classes.push(class(priority, tags.initial_tag, hops.ttl0 - hops_before));
        }
    } else {
        let believed = |tag: &Tag| trust.trusted || *tag == tags.initial_tag;
        for tag in Tag::all().filter(|&tag| tags.is_lossless(tag)).filter(believed) {
            let priority = tags.priority[tag.index()].index();
            if is_lossless(priority) && classes.iter().all(|class| class.priority != priority) {
                classes.push(class(priority, tag, 64));
            }
        }
    }
    classes
}
