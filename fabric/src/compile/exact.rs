//! Whether given paths can do with a number of tags, and the turns that keep each tag if they can:
//! an exact search.
//!
//! A frame with tag t keeps it at a turn that is *kept* in t, and gets t + 1 at any other turn. The
//! rules are free of deadlock exactly if for each tag the kept turns close no cycle. That is a
//! satisfiability problem: one variable for each tag and turn, one for each tag and place on a path
//! ("a frame comes here with this tag or a higher one"), and no kept cycle, which the solver asks a
//! theory about (Gebser, Janhunen and Rintanen, "SAT modulo graphs: acyclicity", 2014).
//!
//! To raise a tag at a kept turn, or by two, never helps: of two frames at one place the one with
//! the lower tag leaves with the lower tag or an equal one.

use super::topology_order::AcyclicGraph;
use super::walk_graph::{ChannelTurn, WalkGraph};
use crate::network::u32_of;
use batsat::theory::{Theory, TheoryArg};
use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, Var, lbool};
use std::cell::Cell;
use std::collections::HashMap;
use std::time::Instant;

/// What bounds a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Clauses learned at the most: the same on every machine.
    pub(super) clauses: u64,
    /// When to stop in any case.
    pub(super) deadline: Option<Instant>,
}

impl Limits {
    /// One part in so many of the time that is left.
    pub(super) fn share(self, parts: u32) -> Self {
        let now = Instant::now();
        let part = |deadline: Instant| now + deadline.saturating_duration_since(now) / parts;
        Self { deadline: self.deadline.map(part), ..self }
    }

    /// Shorter searches one after the other: each may learn ten times as much as the one before,
    /// the last one as much as these limits say.
    pub(super) fn rounds(self) -> impl Iterator<Item = Self> {
        let clauses = std::iter::successors(Some(400_u64), |clauses| clauses.checked_mul(10));
        let before_last = clauses.take_while(move |&clauses| clauses < self.clauses);
        let rounds = before_last.chain([self.clauses]).map(move |clauses| Self { clauses, ..self });
        rounds.take_while(|round| !round.are_over())
    }

    /// Whether the time is over.
    pub(super) fn are_over(self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}

/// What was found.
#[derive(Debug)]
pub(super) enum Outcome {
    /// By tag: the turns that keep it. They close no cycle. One list is for all tags.
    Kept(Vec<Vec<ChannelTurn>>),
    /// No rules can do with so few tags, or none that are alike for every tag.
    Impossible,
    /// A limit came first.
    Open,
}

/// Paths that must do with a number of tags.
pub(super) struct Exact {
    solver: Solver<Stop>,
    kept: KeptTurns,
    tags: usize,
    /// By place and tag less one: that a frame comes here with this tag or a higher one. Place 0 is
    /// where all paths begin, with the first tag.
    comes: Vec<Vec<Lit>>,
}

impl Exact {
    /// All paths of a graph. Channels are below `slots`. With `alike` every tag is kept at the same
    /// turns: a much smaller search, which can miss rules that there are.
    pub(super) fn new(
        graph: &WalkGraph,
        slots: usize,
        tags: usize,
        alike: bool,
        limits: Limits,
    ) -> Self {
        let kinds = if alike { 1 } else { tags };
        let stop = Stop { limits, learned: Cell::new(0) };
        let mut exact = Self {
            solver: Solver::new(SolverOpts::default(), stop),
            kept: KeptTurns::new(slots, kinds),
            tags,
            comes: vec![Vec::new()],
        };
        for &turn in &graph.turns {
            let lits = exact.variables(kinds, true);
            exact.kept.add(turn, lits);
        }
        for _ in 1..graph.nodes.len() {
            // Where frames come follows from what is kept, so only that is decided.
            let lits = exact.variables(tags - 1, false);
            exact.comes.push(lits);
        }
        for (place, steps) in graph.nodes.iter().enumerate() {
            steps.iter().for_each(|step| exact.add_step(place, step.turn, step.next as usize));
        }
        exact
    }

    fn variables(&mut self, count: usize, is_decided: bool) -> Vec<Lit> {
        let value = if is_decided { lbool::UNDEF } else { lbool::FALSE };
        (0..count).map(|_| Lit::new(self.solver.new_var(value, is_decided), true)).collect()
    }

    /// The clauses of a turn between two places.
    fn add_step(&mut self, from: usize, turn: u32, to: usize) {
        for tag in 0..self.tags {
            // Every frame has the first tag at the least.
            let came = tag.checked_sub(1).and_then(|at| self.comes[from].get(at));
            if tag > 0 && came.is_none() {
                break;
            }
            if let Some(&came) = came {
                self.solver.add_clause_reuse(&mut vec![!came, self.comes[to][tag - 1]]);
            }
            let keeps = &self.kept.lits[turn as usize];
            let keeps = keeps[tag.min(keeps.len() - 1)];
            let raised = self.comes[to].get(tag).copied();
            let clause = came.map(|&came| !came).into_iter().chain([keeps]).chain(raised);
            self.solver.add_clause_reuse(&mut clause.collect());
        }
    }

    /// Searches.
    pub(super) fn search(&mut self) -> Outcome {
        let found = self.solver.solve_limited_th(&mut self.kept, &[]);
        if found == lbool::FALSE {
            return Outcome::Impossible;
        }
        if found != lbool::TRUE {
            return Outcome::Open;
        }
        let kept = |tag: usize| {
            let turns = self.kept.turns.iter().zip(&self.kept.lits);
            turns
                .filter(|(_, lits)| self.solver.value_lit(lits[tag]) == lbool::TRUE)
                .map(|(&turn, _)| turn)
                .collect()
        };
        Outcome::Kept((0..self.kept.by_tag.len()).map(kept).collect())
    }
}

/// Ends the solver's search at its limits.
struct Stop {
    limits: Limits,
    learned: Cell<u64>,
}

impl Callbacks for Stop {
    fn on_new_clause(&mut self, _: &[Lit], _: ClauseKind) {
        self.learned.set(self.learned.get() + 1);
    }

    fn stop(&self) -> bool {
        self.learned.get() > self.limits.clauses || self.limits.are_over()
    }
}

/// The theory that no cycle is kept: a graph of channels for each tag, changed as the solver
/// decides.
struct KeptTurns {
    turns: Vec<ChannelTurn>,
    numbers: HashMap<ChannelTurn, u32>,
    /// By turn and tag: that the turn is kept.
    lits: Vec<Vec<Lit>>,
    /// By variable: the tag and the turn that it is about.
    about: HashMap<Var, (usize, u32)>,
    by_tag: Vec<AcyclicGraph>,
    /// The tags and turns that are in the graphs, in the order in which they came.
    added: Vec<(usize, u32)>,
    /// Literals of the solver's model that have been looked at.
    seen: usize,
    /// By level of the solver: `added` and `seen` when it began.
    levels: Vec<(usize, usize)>,
}

impl KeptTurns {
    fn new(slots: usize, kinds: usize) -> Self {
        Self {
            turns: Vec::new(),
            numbers: HashMap::new(),
            lits: Vec::new(),
            about: HashMap::new(),
            by_tag: vec![AcyclicGraph::new(slots); kinds],
            added: Vec::new(),
            seen: 0,
            levels: Vec::new(),
        }
    }

    /// Adds a turn with its literals, by tag, and returns its number.
    fn add(&mut self, turn: ChannelTurn, lits: Vec<Lit>) -> u32 {
        let number = u32_of(self.turns.len());
        self.turns.push(turn);
        self.numbers.insert(turn, number);
        self.about.extend(lits.iter().enumerate().map(|(tag, lit)| (lit.var(), (tag, number))));
        self.lits.push(lits);
        number
    }

    /// Takes the new literals of the model into the graphs. A cycle is a conflict.
    fn look(&mut self, solver: &mut TheoryArg<'_>) {
        while let Some(&lit) = solver.model().get(self.seen) {
            if lit.sign()
                && let Some(&(tag, turn)) = self.about.get(&lit.var())
            {
                let (from, to) = self.turns[turn as usize];
                if !self.by_tag[tag].add_edge(from, to) {
                    // Not all turns of the cycle are kept: those that lead back, and this one.
                    let back = self.by_tag[tag].way(to, from);
                    let back = back.windows(2).map(|pair| self.numbers[&(pair[0], pair[1])]);
                    let lits = back.map(|turn| !self.lits[turn as usize][tag]);
                    solver.raise_conflict(&lits.chain([!lit]).collect::<Vec<_>>(), false);
                    return;
                }
                self.added.push((tag, turn));
            }
            self.seen += 1;
        }
    }
}

impl Theory for KeptTurns {
    fn final_check(&mut self, solver: &mut TheoryArg<'_>) {
        self.look(solver);
    }

    fn partial_check(&mut self, solver: &mut TheoryArg<'_>) {
        self.look(solver);
    }

    fn create_level(&mut self) {
        self.levels.push((self.added.len(), self.seen));
    }

    fn pop_levels(&mut self, n: usize) {
        let Some(at) = self.levels.len().checked_sub(n).filter(|_| n > 0) else { return };
        let (added, seen) = self.levels[at];
        self.levels.truncate(at);
        self.seen = self.seen.min(seen);
        for (tag, turn) in self.added.drain(added..).rev() {
            let (from, to) = self.turns[turn as usize];
            self.by_tag[tag].remove_edge(from, to);
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        unreachable!("this theory propagates nothing")
    }
}
