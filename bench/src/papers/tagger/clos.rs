//! Clos networks: Figs 2, 4 and 6, and section IV-D.

use super::PAPER;
use super::compiled::{Case, is_whole};
use crate::row::{Row, Verdict};
use fabric::compile::Algorithm;
use std::error::Error;

/// Figs 2 and 4.
pub(super) fn figures() -> Result<[Row; 2], Box<dyn Error>> {
    let row = |item, paper, bounces, priorities: usize| -> Result<Row, Box<dyn Error>> {
        let compiled = Case::testbed(bounces)?.compile(Algorithm::UpDown)?;
        let ours = format!(
            "{} lossless priorities, {} paths proven",
            compiled.lossless_priorities, compiled.verdict.lossless_paths
        );
        let is_it = is_whole(&compiled) && compiled.lossless_priorities == priorities;
        Ok(Row::new(PAPER, item, paper, ours, Verdict::holds_if(is_it, "more, or a lossy path")))
    };
    Ok([
        row("Fig. 2: up-down paths", "no CBD with one priority", 0, 1)?,
        row("Fig. 4: tags of 1-bounce paths", "two lossless priorities", 1, 2)?,
    ])
}

/// Bounces that are tried.
const BOUNCES_MAX: usize = 4;

/// Section IV-D: free of deadlock, and optimal.
pub(super) fn optimality() -> Result<[Row; 2], Box<dyn Error>> {
    let mut used = Vec::new();
    let mut whole = true;
    for bounces in 0..=BOUNCES_MAX {
        let compiled = Case::leaf_spine(4, 2, bounces)?.compile(Algorithm::UpDown)?;
        whole &= is_whole(&compiled);
        used.push(compiled.lossless_priorities);
    }
    let numbers: Vec<String> = used.iter().map(ToString::to_string).collect();
    let ours = format!("{} priorities for 0 to {BOUNCES_MAX} bounces, 4 x 2", numbers.join(", "));
    let free = Verdict::holds_if(whole, "a path is lossy, or a cycle is left");
    let item = "IV-D: tags of k bounces are free of deadlock";
    Ok([
        Row::new(PAPER, item, "no CBD within a tag or across tags", ours.clone(), free),
        Row::new(PAPER, "IV-D: optimal", "k bounces need k + 1", ours, optimal(&used)),
    ])
}

/// The proof lets a flow loop between two switches, which no loop-free path does. With links
/// ordered spine by spine, loop-free paths of k bounces over two spines need fewer.
fn optimal(used: &[usize]) -> Verdict {
    let more = used.iter().enumerate().any(|(bounces, &priorities)| priorities > bounces + 1);
    let fewer = used.iter().enumerate().any(|(bounces, &priorities)| priorities < bounces + 1);
    let reason = "the proof loops a flow between two switches; loop-free paths need fewer";
    match (more, fewer) {
        (true, _) => Verdict::Fails("more than k + 1 priorities".to_owned()),
        (_, true) => Verdict::Differs(reason.to_owned()),
        _ => Verdict::NotDone(
            "the compiler uses k + 1 where loop-free paths of 2 bounces can do with 2".to_owned(),
        ),
    }
}

/// Fig. 6: Algorithm 2 does not find the optimum of a Clos network with 1-bounce paths.
pub(super) fn greedy() -> Result<Row, Box<dyn Error>> {
    let case = Case::testbed(1)?;
    let [greedy, ours] = [Algorithm::Greedy, Algorithm::UpDown].map(|of| case.compile(of));
    let (greedy, ours) = (greedy?, ours?);
    let is_it = is_whole(&greedy)
        && is_whole(&ours)
        && (greedy.lossless_priorities, ours.lossless_priorities) == (3, 2);
    let text = format!("{}; updown {}", greedy.lossless_priorities, ours.lossless_priorities);
    let verdict = Verdict::holds_if(is_it, "other numbers of priorities");
    let item = "Fig. 6: Algorithm 2 on a Clos";
    Ok(Row::new(PAPER, item, "3 priorities; the optimum is 2", text, verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_hold() {
        let rows = figures().unwrap();
        assert!(rows.iter().all(|row| row.verdict == Verdict::Holds), "{rows:?}");
        assert_eq!(greedy().unwrap().verdict, Verdict::Holds);
    }

    #[test]
    fn more_than_one_priority_a_bounce_fails() {
        assert!(optimal(&[1, 2, 4]).is_failure());
        assert!(matches!(optimal(&[1, 2, 2]), Verdict::Differs(_)));
        assert!(matches!(optimal(&[1, 2, 3]), Verdict::NotDone(_)));
    }
}
