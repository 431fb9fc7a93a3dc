//! Rules from the store, proven: a revision by itself, and the stages that lead to it.

use super::Failure;
use config::rule_file;
use fabric::plan::rollout::{self, StageKind};
use fabric::verify::{Mixtures, NetworkRules, verify};
use fabric::{Network, PathSet, RuleSet};
use fleet::content_hash;
use fleet::manifest::{Manifest, Proof, Stage};
use std::collections::BTreeMap;
use std::path::Path;

/// Rules by hash.
pub(super) type Texts = BTreeMap<String, String>;

/// The network, its paths, and rules by hash.
pub(super) struct World {
    pub(super) network: Network,
    pub(super) paths: PathSet,
    pub(super) texts: Texts,
}

/// The text of a switch's rules, and its hash.
pub(super) fn text_of(set: &RuleSet) -> (String, String) {
    let text = rule_file::to_json(set);
    (content_hash(&text), text)
}

impl World {
    /// The rules of all switches, by the hashes of their texts.
    pub(super) fn rules(&self, hashes: &[&str]) -> Result<NetworkRules, Failure> {
        let parse = |hash: &str| {
            let text = self.texts.get(hash);
            let text = text.ok_or_else(|| Failure::Wrong(format!("there are no rules {hash}")))?;
            Ok(rule_file::parse(Path::new(&format!("rules/{hash}")), text)?)
        };
        let sets = hashes.iter().map(|hash| parse(hash)).collect::<Result<Vec<_>, Failure>>()?;
        NetworkRules::new(&self.network, sets).map_err(|error| self.wrong(error))
    }

    fn wrong(&self, (switch, message): (u32, String)) -> Failure {
        Failure::Wrong(format!("switch {}: {message}", self.network.switch_name(switch)))
    }

    /// Proves rules by themselves.
    ///
    /// # Errors
    /// They can deadlock.
    pub(super) fn prove(&self, rules: &NetworkRules) -> Result<Proof, Failure> {
        let verdict = verify(&self.network, rules, &self.paths);
        if !verdict.is_deadlock_free() {
            return Err(Failure::Unsafe(format!(
                "these rules can deadlock: {} buffers wait for each other in a ring, from {}; \
                 `knotless verify` prints the cycle; nothing was offered",
                verdict.cycle.len(),
                self.network.show(verdict.cycle[0].input)
            )));
        }
        let (paths, lossless_paths) = (verdict.paths, verdict.lossless_paths);
        Ok(Proof { deadlock_free: true, paths, lossless_paths })
    }

    /// Stages from `old`, or from rules that nobody knows, to `new`; and the rules in between.
    pub(super) fn stages(
        &self,
        old: Option<&NetworkRules>,
        new: &NetworkRules,
    ) -> Result<(Vec<Stage>, Texts), Failure> {
        let Some(old) = old else { return Ok(self.first_stages(new)) };
        let stages = rollout::stages(&self.network, &self.paths, old, new);
        let stages = stages.map_err(|error| self.wrong(error))?;
        let mut texts = Texts::new();
        let mut rows = Vec::new();
        for stage in stages {
            let mut hashes = Vec::new();
            if stage.kind == StageKind::Detour {
                for &switch in &stage.switches {
                    let (hash, text) = text_of(&stage.after.sets()[switch as usize]);
                    texts.insert(hash.clone(), text);
                    hashes.push(hash);
                }
            }
            rows.push(Stage {
                kind: kind_name(stage.kind).to_owned(),
                switches: stage.switches,
                hashes,
                lossy_paths: stage.verdict.paths - stage.verdict.lossless_paths,
                proven: stage.verdict.cycle.is_empty(),
            });
        }
        Ok((rows, texts))
    }

    /// Of the first revision nobody knows what switches have before. All turn lossy, then all get
    /// their rules: fewer turns each time, then those of the proven revision.
    fn first_stages(&self, new: &NetworkRules) -> (Vec<Stage>, Texts) {
        let mut texts = Texts::new();
        let mut hashes = Vec::new();
        for set in new.sets() {
            let (hash, text) = text_of(&RuleSet { entries: Vec::new(), ..set.clone() });
            texts.insert(hash.clone(), text);
            hashes.push(hash);
        }
        let switches: Vec<u32> = self.network.all_switches().collect();
        let lossy_paths = verify(&self.network, new, &self.paths).paths;
        let stage = |hashes: Vec<String>| Stage {
            kind: "detour".to_owned(),
            switches: switches.clone(),
            proven: hashes.is_empty(),
            hashes,
            lossy_paths,
        };
        (vec![stage(hashes), stage(Vec::new())], texts)
    }

    /// Proves a manifest again as it stands in the store: the revision, and every mixture of every
    /// stage.
    ///
    /// # Errors
    /// It does not hold.
    pub(super) fn prove_manifest(
        &self,
        manifest: &Manifest,
        parent: Option<&Manifest>,
    ) -> Result<(), Failure> {
        let by_order = manifest.switches.iter().zip(self.network.all_switches());
        if manifest.switches.len() != self.network.switches()
            || by_order.into_iter().any(|((name, _), at)| *name != self.network.switch_name(at))
        {
            return Err(Failure::Wrong("the manifest is of another network".to_owned()));
        }
        let new = self.rules(&manifest.own_hashes())?;
        self.prove(&new)?;
        let Some(parent) = parent else { return Ok(()) };
        let start = parent.hashes();
        let at = |stages| {
            let hashes = manifest.hashes_after(&start, stages);
            let hashes: Vec<&str> =
                hashes.iter().map(|hash| hash.as_deref().unwrap_or_default()).collect();
            self.rules(&hashes)
        };
        let mixtures = Mixtures::new(&self.network, &self.paths, &at(0)?, &new);
        for (number, stage) in manifest.stages.iter().enumerate() {
            let verdict = mixtures.verify(&at(number)?, &at(number + 1)?);
            let verdict = verdict.map_err(|error| self.wrong(error))?;
            if stage.proven && !verdict.cycle.is_empty() {
                return Err(Failure::Unsafe(format!(
                    "stage {} of revision {} can deadlock, against its manifest; nothing was done",
                    number + 1,
                    manifest.revision
                )));
            }
        }
        Ok(())
    }
}

const fn kind_name(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Lossless => "lossless",
        StageKind::Lossy => "lossy",
        StageKind::Detour => "detour",
    }
}

/// A stage in words.
pub(super) fn describe(stage: &Stage) -> String {
    let switches = match stage.switches.len() {
        1 => "1 switch".to_owned(),
        count => format!("{count} switches"),
    };
    let how = match stage.kind.as_str() {
        "lossless" => "no lossless path turns lossy".to_owned(),
        "lossy" => format!("up to {} paths are lossy while it runs", stage.lossy_paths),
        _ => format!("by what old and new rules share; {} paths may be lossy", stage.lossy_paths),
    };
    let proof = if stage.proven {
        "every mixture proven free of deadlock"
    } else {
        "NOT proven: the rules before are not known, or can deadlock by themselves"
    };
    format!("{switches}: {how}; {proof}")
}
