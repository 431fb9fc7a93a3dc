//! Orders with barriers mean what the same orders mean pair by pair.

use super::*;

/// Operations and barriers of a random order.
const OPERATIONS: u32 = 7;
const BARRIERS: u32 = 5;

/// By node and node: whether one must be done before the other (Warshall, 1962).
fn precedes(order: &Order) -> Vec<Vec<bool>> {
    let nodes = order.operations() + order.barriers();
    let mut precedes = vec![vec![false; nodes]; nodes];
    order.pairs().iter().for_each(|&(b, a)| precedes[b as usize][a as usize] = true);
    for middle in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                precedes[from][to] |= precedes[from][middle] && precedes[middle][to];
            }
        }
    }
    precedes
}

/// An order without a ring: each pair follows a random row of all nodes.
fn random_order(seed: u64, operations: u32, barriers: u32) -> Order {
    let nodes = operations + barriers;
    let mut rng = random::seeded(seed);
    let mut row: Vec<u32> = (0..nodes).collect();
    rng.shuffle(&mut row);
    let mut pairs = Vec::new();
    for (at, &before) in row.iter().enumerate() {
        let later = row[at + 1..].iter().filter(|_| rng.below(4) == 0);
        pairs.extend(later.map(|&after| (before, after)));
    }
    Order::with_barriers(operations as usize, barriers as usize, pairs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The pairs, what may begin at each moment, and the time until all is done.
    #[test]
    fn an_order_with_barriers_is_the_order_of_its_pairs(seed in any::<u64>()) {
        let order = random_order(seed, OPERATIONS, BARRIERS);
        let pairs = order.pairwise(1_000).unwrap();
        let flat = Order::new(OPERATIONS as usize, pairs.clone());
        let (with, without) = (precedes(&order), precedes(&flat));
        let operations = OPERATIONS as usize;
        (0..operations).for_each(|row| assert_eq!(with[row][..operations], without[row][..]));
        let direct = order.pairs().iter().filter(|p| p.0 < OPERATIONS && p.1 < OPERATIONS);
        prop_assert!(direct.into_iter().all(|pair| pairs.contains(pair)));
        let mut rng = random::seeded(seed ^ 1);
        let times: Vec<u64> = (0..OPERATIONS).map(|_| rng.below(9)).collect();
        prop_assert_eq!(order.longest(&times), flat.longest(&times));
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let mut progress = [Progress::new(&order, &mut one), Progress::new(&flat, &mut other)];
        for done in 0..OPERATIONS {
            one.sort_unstable();
            other.sort_unstable();
            prop_assert_eq!(&one, &other, "after {} operations", done);
            let next = one.remove(rng.index(one.len()));
            other.retain(|&ready| ready != next);
            progress[0].done(next, &mut one);
            progress[1].done(next, &mut other);
        }
        prop_assert!(one.is_empty() && other.is_empty());
    }

    /// The checker says the same of both, and it is what every reachable state says.
    #[test]
    fn the_checker_judges_barriers_as_their_pairs(
        old in seeds(6), new in seeds(6), chosen in any::<u64>(),
    ) {
        let network = mesh(SWITCHES);
        let change = change(&network, &acyclic_paths(&old, 'o'), &acyclic_paths(&new, 'n'));
        let planner = Planner::new(&network, &change, Timing::default()).unwrap();
        let count = change.operations.len();
        let order = random_order(chosen, u32::try_from(count).unwrap(), 4);
        let flat = Order::new(count, order.pairwise(1_000).unwrap());
        let verdict = planner.check(&order);
        prop_assert_eq!(&verdict, &planner.check(&flat));
        prop_assert_eq!(verdict.is_ok(), is_safe(&network, &change, &flat));
        for model in Model::ALL {
            if model != Model::Sequential {
                let times = [&order, &flat].map(|order| planner.completion_us(model, order));
                prop_assert_eq!(times[0], times[1]);
            }
        }
    }

    /// In stages a plan is as fast, safe in every reachable state, and of so many constraints.
    #[test]
    fn a_plan_in_stages_is_safe_and_as_fast_as_one_by_one(old in seeds(7), new in seeds(7)) {
        let network = mesh(SWITCHES);
        let change = change(&network, &acyclic_paths(&old, 'o'), &acyclic_paths(&new, 'n'));
        let planner = Planner::new(&network, &change, Timing::default()).unwrap();
        for model in [Model::Parallel, Model::ControlDelay, Model::Stragglers] {
            let by_pairs = planner.plan_within(model, usize::MAX);
            let staged = planner.plan_within(model, 0);
            prop_assert_eq!(planner.check(&staged.order), Ok(()));
            prop_assert_eq!(staged.completion_us, by_pairs.completion_us);
            prop_assert_eq!(staged.bound_us, by_pairs.bound_us);
            let order = &staged.order;
            prop_assert!(order.pairs().len() <= change.operations.len() + order.barriers());
            prop_assert!(order.barriers() <= change.operations.len() - change.removes());
            let flat = Order::new(change.operations.len(), order.pairwise(1_000).unwrap());
            prop_assert!(is_safe(&network, &change, &flat));
        }
    }
}
