//! The plan of a campaign: its runs, by number, and what it was made from. It is the first file of
//! the campaign's folder, so that the results can be read without the campaign's own files.

use config::campaign::{CampaignConfig, Points};
use config::scenario::SchemeKind;
use netsim::scenario::COMPARED;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

/// Of the digest in each line of results.
const DIGEST_SHOWN: usize = 16;
/// The form of the files.
const FORMAT: u32 = 1;

/// See the module's head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    format: u32,
    pub(super) name: String,
    pub(super) about: String,
    /// SHA-256 of the campaign's file and of all files that it names.
    pub(super) digest: String,
    /// SHA-256 of the program.
    program: String,
    version: String,
    pub(super) first_seed: u64,
    pub(super) seeds: u64,
    pub(super) schemes: Vec<String>,
    pub(super) parameters: Vec<Axis>,
    points: Vec<PlannedPoint>,
}

/// What is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

/// A scenario, and which of the values of each parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlannedPoint {
    scenario: String,
    values: Vec<usize>,
}

/// A run by its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Among all runs.
    pub(super) number: u64,
    /// Among the points.
    pub(super) point: usize,
    /// Among the schemes.
    pub(super) scheme: usize,
    pub(super) seed: u64,
}

impl Plan {
    /// Of `campaign`, whose scenarios are `points`, by this program.
    ///
    /// # Errors
    /// The program's own file cannot be read.
    pub(super) fn new(campaign: &CampaignConfig, points: &Points) -> io::Result<Self> {
        let point = |point: &config::campaign::Point| PlannedPoint {
            scenario: point.scenario.name.clone(),
            values: point.values.clone(),
        };
        let axis = |parameter: &config::campaign::Parameter| Axis {
            key: parameter.key.clone(),
            values: parameter.values.clone(),
        };
        Ok(Self {
            format: FORMAT,
            name: campaign.name.clone(),
            about: campaign.about.clone(),
            digest: points.digest.clone(),
            program: program_digest()?,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            first_seed: campaign.seeds.start,
            seeds: campaign.seeds.end - campaign.seeds.start,
            schemes: kinds(campaign).iter().map(|kind| kind.name().to_owned()).collect(),
            parameters: campaign.parameters.iter().map(axis).collect(),
            points: points.all.iter().map(point).collect(),
        })
    }

    /// That it can be relied on, whoever wrote it; `Err` is what is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("its format is {}, and this program knows {FORMAT}", self.format));
        }
        let fits = |point: &PlannedPoint| {
            let values = point.values.iter().zip(&self.parameters);
            point.values.len() == self.parameters.len()
                && values.into_iter().all(|(&value, axis)| value < axis.values.len())
        };
        let runs = (self.points.len() as u64).checked_mul(self.schemes.len() as u64);
        let runs = runs.and_then(|runs| runs.checked_mul(self.seeds));
        let has_runs = runs.is_some_and(|runs| runs > 0);
        let is_short = self.digest.get(..DIGEST_SHOWN).is_none();
        if !has_runs || is_short || !self.points.iter().all(fits) {
            return Err("its parts do not fit each other".to_owned());
        }
        Ok(())
    }

    /// Why results of `other` are none of this plan's.
    pub(super) fn differs_from(&self, other: &Self) -> Option<&'static str> {
        if self.digest != other.digest {
            return Some("the campaign, or a file that it names, is another one than at its begin");
        }
        if self.program != other.program {
            return Some("another build of knotless began it, whose results may differ");
        }
        (self != other).then_some("its plan is another one")
    }

    pub(super) fn runs(&self) -> u64 {
        self.points.len() as u64 * self.schemes.len() as u64 * self.seeds
    }

    /// Run number `number`. Seeds change first, so that shards get as many of each scheme.
    #[expect(clippy::cast_possible_truncation, reason = "below the number of points and schemes")]
    pub(super) fn run(&self, number: u64) -> Run {
        let (group, seed) = (number / self.seeds, number % self.seeds);
        let schemes = self.schemes.len() as u64;
        Run {
            number,
            point: (group / schemes) as usize,
            scheme: (group % schemes) as usize,
            seed: self.first_seed + seed,
        }
    }

    pub(super) fn scenario(&self, point: usize) -> &str {
        &self.points[point].scenario
    }

    /// The values of a point by their keys.
    pub(super) fn values(&self, point: usize) -> BTreeMap<String, String> {
        let values = self.parameters.iter().zip(&self.points[point].values);
        values.map(|(axis, &value)| (axis.key.clone(), axis.values[value].clone())).collect()
    }

    /// What stands in each line of results.
    pub(super) fn mark(&self) -> &str {
        &self.digest[..DIGEST_SHOWN]
    }

    /// A run as a message names it: `17 (ring, tagger, seed 3, traffic.load = 0.3)`.
    pub(super) fn name(&self, number: u64) -> String {
        let Run { point, scheme, seed, .. } = self.run(number);
        let (scenario, scheme) = (self.scenario(point), &self.schemes[scheme]);
        let values = self.values(point);
        let values: String =
            values.iter().map(|(key, value)| format!(", {key} = {value}")).collect();
        format!("{number} ({scenario}, {scheme}, seed {seed}{values})")
    }
}

/// The schemes of a campaign.
pub(super) fn kinds(campaign: &CampaignConfig) -> &[SchemeKind] {
    if campaign.schemes.is_empty() { &COMPARED } else { &campaign.schemes }
}

/// SHA-256 of the file that this process runs, even if it has been replaced since.
fn program_digest() -> io::Result<String> {
    let mut program = File::open("/proc/self/exe")?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match program.read(&mut buffer)? {
            0 => break,
            read => digest.update(&buffer[..read]),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two scenarios, two schemes, three seeds, two values.
    pub(in crate::campaign) fn plan() -> Plan {
        let point = |scenario: &str, value| PlannedPoint {
            scenario: scenario.to_owned(),
            values: vec![value],
        };
        Plan {
            format: FORMAT,
            name: "c".to_owned(),
            about: String::new(),
            digest: "0123456789abcdef0123".to_owned(),
            program: "p".to_owned(),
            version: "v".to_owned(),
            first_seed: 5,
            seeds: 3,
            schemes: vec!["pfc".to_owned(), "tagger".to_owned()],
            parameters: vec![Axis {
                key: "traffic.load".to_owned(),
                values: vec!["0.3".to_owned(), "0.6".to_owned()],
            }],
            points: vec![point("a", 0), point("a", 1), point("b", 0), point("b", 1)],
        }
    }

    #[test]
    fn a_number_is_one_combination_and_seeds_change_first() {
        let plan = plan();
        assert_eq!((plan.runs(), plan.check()), (24, Ok(())));
        assert_eq!(plan.name(0), "0 (a, pfc, seed 5, traffic.load = 0.3)");
        assert_eq!(plan.name(1), "1 (a, pfc, seed 6, traffic.load = 0.3)");
        assert_eq!(plan.name(3), "3 (a, tagger, seed 5, traffic.load = 0.3)");
        assert_eq!(plan.name(6), "6 (a, pfc, seed 5, traffic.load = 0.6)");
        assert_eq!(plan.name(23), "23 (b, tagger, seed 7, traffic.load = 0.6)");
        let all: std::collections::BTreeSet<String> = (0..24).map(|n| plan.name(n)).collect();
        assert_eq!(all.len(), 24);
    }

    #[test]
    fn another_campaign_or_program_is_noticed_and_so_is_a_broken_plan() {
        let plan = plan();
        assert_eq!(plan.differs_from(&plan), None);
        let other = Plan { digest: "f".repeat(20), ..plan.clone() };
        assert!(plan.differs_from(&other).unwrap().contains("the campaign, or a file"));
        let other = Plan { program: "q".to_owned(), ..plan.clone() };
        assert!(plan.differs_from(&other).unwrap().contains("another build"));
        for broken in [
            Plan { seeds: 0, ..plan.clone() },
            Plan { seeds: u64::MAX, ..plan.clone() },
            Plan { digest: "short".to_owned(), ..plan.clone() },
            Plan { parameters: Vec::new(), ..plan.clone() },
            Plan { format: 2, ..plan.clone() },
        ] {
            assert!(broken.check().is_err(), "{broken:?}");
        }
    }

    #[test]
    fn the_program_has_a_digest() {
        let digest = program_digest().unwrap();
        assert_eq!((digest.len(), program_digest().unwrap()), (64, digest));
    }
}
