//! What a scheme gives a network: lossless tags with their priorities, and each switch's rules.

use super::{ScenarioError, files};
use crate::host_pauses::HostPauses;
use config::rule_file;
use config::scenario::{Gfc, GfcForm, ScenarioConfig, SchemeKind, feasibility};
use dataplane::ids::{Priority, Tag};
use dataplane::limits::PRIORITIES;
use dataplane::pfc::watchdog::WatchdogSettings;
use dataplane::rules::TcamEntry;
use dataplane::settings::GfcSettings;
use dataplane::ttl_class::Parity;
use fabric::RuleSet;
use fabric::compile::{Algorithm, Budget, Options, compile};
use fabric::paths::PathKind;
use fabric::paths::PathSet;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Scheme {
    pub(super) lossless: Vec<(Tag, Priority)>,
    /// By application class: the tag that its frames start with.
    pub(super) initial_tags: Vec<Tag>,
    /// By switch; `None` for tags that never change.
    pub(super) rules: Vec<Option<Vec<TcamEntry>>>,
    /// The bounces of the rules that switches learn, if they do.
    pub(super) learns: Option<u8>,
    /// Classes by hops, hosts' first; none if tags have priorities.
    pub(super) classes: Vec<Priority>,
    /// How hosts pause by these classes.
    pub(super) host_pauses: HostPauses,
    /// By switch: which classes it holds.
    pub(super) parities: Vec<Parity>,
    /// How rates are signaled, and how they follow queues.
    pub(super) gfc: Option<(GfcSettings, Gfc)>,
    pub(super) watchdog: Option<WatchdogSettings>,
}

impl Scheme {
    /// The priorities that lossless frames have anywhere in the network.
    pub(super) fn priorities(&self) -> Vec<Priority> {
        let tags = self.lossless.iter().map(|&(_, priority)| priority);
        let mut all: Vec<Priority> = tags.chain(self.classes.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The tag that lossless frames start with.
const INITIAL: Tag = Tag::from_low_bits(1);

/// What `kind` means for this scenario.
pub(super) fn scheme(config: &ScenarioConfig, kind: SchemeKind) -> Result<Scheme, ScenarioError> {
    let cannot = |why: String| ScenarioError::Scheme { scheme: kind.name(), why };
    // Where tags never change, each application class has a tag and a priority of its own.
    let tags = || Tag::all().skip(INITIAL.index()).take(usize::from(config.paths.classes));
    let one = || Scheme {
        lossless: tags().zip(Priority::all().skip(1)).collect(),
        initial_tags: tags().collect(),
        rules: vec![None; config.network.switches()],
        parities: vec![Parity::All; config.network.switches()],
        ..Scheme::default()
    };
    feasibility::check(config, kind).map_err(cannot)?;
    match kind {
        SchemeKind::Lossy => Ok(Scheme { lossless: Vec::new(), ..one() }),
        SchemeKind::Pfc => match &config.files {
            Some(of_switches) => {
                let lossless = files::lossless(of_switches)?;
                let initial_tags = lossless.iter().map(|&(dscp, _)| dscp).collect();
                Ok(Scheme { lossless, initial_tags, ..one() })
            }
            None => Ok(one()),
        },
        SchemeKind::Watchdog => Ok(Scheme { watchdog: Some(config.scheme.watchdog), ..one() }),
        SchemeKind::Gfc => Ok(Scheme { gfc: gfc(config), ..one() }),
        SchemeKind::Ttl => {
            let count = feasibility::classes(config).map_err(cannot)?;
            let parities = feasibility::parities(config).map_err(cannot)?;
            // Lossy frames have a priority of their own if there is one; hosts' class shares its.
            let first = usize::from(count < PRIORITIES);
            let classes: Vec<Priority> = Priority::all().skip(first).take(count).collect();
            let lossless = classes.get(1).map(|&first| (INITIAL, first)).into_iter().collect();
            let host_pauses = match (config.scheme.hosts_by_dscp, config.scheme.translate) {
                (false, _) => HostPauses::ByClass,
                (true, false) => HostPauses::ByDscp,
                (true, true) => HostPauses::Translated,
            };
            Ok(Scheme { lossless, classes, host_pauses, parities, ..one() })
        }
        SchemeKind::UpDown => {
            let bounces = bounces(config);
            let tags = Tag::all().skip(INITIAL.index()).zip(Priority::all().skip(1));
            let lossless = tags.take(usize::from(bounces) + 1).collect();
            Ok(Scheme { lossless, learns: Some(bounces), ..one() })
        }
        SchemeKind::Tagger => {
            let rules = match &config.scheme.rules {
                Some(directory) => (0..config.network.switches())
                    .filter_map(|switch| u32::try_from(switch).ok())
                    .map(|switch| {
                        let name = config.network.switch_name(switch);
                        rule_file::load(&directory.join(format!("{name}.json")))
                    })
                    .collect::<Result<Vec<_>, _>>()?,
                None => compiled(config)?,
            };
            Ok(Scheme { parities: one().parities, ..joined(config, &rules)? })
        }
    }
}

/// As many bounces as the paths of the scenario have, one if they do not say, and no more than
/// there are priorities for.
fn bounces(config: &ScenarioConfig) -> u8 {
    let wanted = match config.paths.kind {
        PathKind::UpDown { bounces } => bounces,
        _ => 1,
    };
    wanted.min(config.scheme.priorities_max.saturating_sub(1))
}

/// Nodes react at once here, so there is no delay to catch up.
fn gfc(config: &ScenarioConfig) -> Option<(GfcSettings, Gfc)> {
    let gfc = config.scheme.gfc;
    let is_periodic = gfc.form == GfcForm::TimeBased;
    let settings = GfcSettings {
        form: gfc.form.form()?,
        catch_up_ns: 0,
        period_ns: is_periodic.then_some(gfc.period_ns),
    };
    Some((settings, gfc))
}

fn compiled(config: &ScenarioConfig) -> Result<Vec<RuleSet>, ScenarioError> {
    let paths = PathSet::build(&config.network, &config.paths)?;
    let options = Options {
        algorithm: Algorithm::UpDown,
        lossless_max: config.scheme.priorities_max,
        budget: Budget::Work,
    };
    Ok(compile(&config.network, &paths, &options, &|_| {})?.rules)
}

/// One meaning of tags for all switches.
fn joined(config: &ScenarioConfig, rules: &[RuleSet]) -> Result<Scheme, ScenarioError> {
    let mut scheme = Scheme::default();
    let Some(first) = rules.first() else { return Ok(scheme) };
    for (set, switch) in rules.iter().zip(0..) {
        let mismatch =
            |what: String| Err(ScenarioError::Mismatch { switch: set.switch.clone(), what });
        if set.switch != config.network.switch_name(switch) {
            return mismatch(format!("are those of `{}`", config.network.switch_name(switch)));
        }
        if set.ports != config.network.ports(switch) {
            let ports = config.network.ports(switch);
            return mismatch(format!("are for {} ports; it has {ports}", set.ports));
        }
        let initial = |set: &RuleSet| (set.initial_tag, set.initial_tags.clone());
        if set.priorities != first.priorities || initial(set) != initial(first) {
            return mismatch(format!("give tags other priorities than those of {}", first.switch));
        }
        scheme.rules.push(Some(set.entries.clone()));
    }
    // The initial tag comes first: it is the one that hosts send with.
    let initial = first.priorities.get(&first.initial_tag).map(|&p| (first.initial_tag, p));
    scheme.lossless.extend(initial);
    let others = first.priorities.iter().filter(|&(&tag, _)| tag != first.initial_tag);
    scheme.lossless.extend(others.map(|(&tag, &priority)| (tag, priority)));
    scheme.initial_tags = match &first.initial_tags[..] {
        // As `verify` reads such rules: the lossless tags in order, from the initial one on.
        [] => first.priorities.keys().copied().filter(|&tag| tag >= first.initial_tag).collect(),
        tags => tags.to_vec(),
    };
    let (has, needs) = (scheme.initial_tags.len(), usize::from(config.paths.classes));
    if has < needs && needs > 1 {
        let what = format!("have initial tags for {has} application classes; [paths] has {needs}");
        return Err(ScenarioError::Mismatch { switch: first.switch.clone(), what });
    }
    Ok(scheme)
}
