//! Clos networks: leaf-spine, or ToRs and leaves in pods under spines (Tagger, Fig. 2).

use super::{Draft, GenerateError, Parameters};
use dataplane::limits::PORTS_MAX;

/// Without `pods`: every leaf `L` is linked to every spine `S`, and leaves have the hosts. With
/// `pods`: every ToR `T` of a pod is linked to every leaf of the pod, every leaf to every spine,
/// and ToRs have the hosts.
pub(super) fn build(draft: &mut Draft, parameters: &Parameters) -> Result<(), GenerateError> {
    parameters.allow(&["leaves", "spines", "pods", "tors", "hosts"])?;
    let most = PORTS_MAX;
    let leaves = parameters.need("leaves", 1, most)?;
    let spines = parameters.need("spines", 1, most)?;
    let hosts = parameters.optional("hosts", 1, most)?.unwrap_or(1);
    let pods = parameters.optional("pods", 1, most)?;
    let Some(pods) = pods else {
        if parameters.optional("tors", 1, most)?.is_some() {
            let message = "`tors` are in pods; add `pods`, or leave `tors` out";
            return Err(GenerateError::wrong("tors", message));
        }
        fits("hosts", hosts + spines)?;
        let leaves = tier(draft, "L", leaves, hosts + spines);
        leaves.iter().for_each(|&leaf| draft.hosts(leaf, hosts));
        let spines = tier(draft, "S", spines, leaves.len());
        mesh(draft, &leaves, &spines);
        return Ok(());
    };
    let tors = parameters.need("tors", 1, most)?;
    fits("hosts", hosts + leaves)?;
    fits("tors", tors + spines)?;
    fits("pods", pods * leaves)?;
    let all_tors = tier(draft, "T", pods * tors, hosts + leaves);
    all_tors.iter().for_each(|&tor| draft.hosts(tor, hosts));
    let all_leaves = tier(draft, "L", pods * leaves, tors + spines);
    let all_spines = tier(draft, "S", spines, pods * leaves);
    for (tors, leaves) in all_tors.chunks(tors).zip(all_leaves.chunks(leaves)) {
        mesh(draft, tors, leaves);
    }
    mesh(draft, &all_leaves, &all_spines);
    Ok(())
}

fn fits(name: &'static str, ports: usize) -> Result<(), GenerateError> {
    if ports <= PORTS_MAX {
        return Ok(());
    }
    let message = format!("a switch would need {ports} ports; it can have {PORTS_MAX}");
    Err(GenerateError::wrong(name, message))
}

fn tier(draft: &mut Draft, letter: &str, count: usize, ports: usize) -> Vec<u32> {
    (1..=count).map(|number| draft.switch(format!("{letter}{number}"), ports)).collect()
}

/// Links each of `lower` to each of `upper`.
fn mesh(draft: &mut Draft, lower: &[u32], upper: &[u32]) {
    for &low in lower {
        for &high in upper {
            draft.link(low, high);
        }
    }
}
