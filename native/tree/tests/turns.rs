//! Trees searched together give the same results as each of them alone.

mod toy;

use moemcts_tree::{Action, Agent, Player, Players, Rng, Search, Tree};
use std::convert::Infallible;
use std::thread::{self, ThreadId};
use std::time::Instant;
use toy::{config, run, Shape, Toy, NUM_PLAYERS, WIDE};

/// Plays uniformly random actions.
#[derive(Clone)]
struct RandomAgent;

impl Agent<Toy> for RandomAgent {
    fn act(&mut self, state: &Toy, _: Player, rng: &mut Rng) -> Result<Action, Infallible> {
        Ok(rng.below(state.shape.width as usize) as Action)
    }

    fn plays_like(&self, _: &Self) -> bool {
        true
    }
}

/// All reported statistics of a tree.
type Statistics = (u32, u64, u32, usize, Vec<(Action, u32, u64)>);

fn statistics(search: &Search<Toy, RandomAgent>, tree: usize) -> Statistics {
    let tree = &search.trees[tree];
    let arms = tree.arms(1, &search.config).unwrap();
    let arms = arms.iter().map(|arm| (arm.action, arm.visits, arm.value_sum.to_bits())).collect();
    (tree.simulations, tree.depth_sum, tree.max_depth, tree.nodes.len(), arms)
}

#[test]
fn trees_that_are_descended_in_turns_are_those_descended_alone() {
    const NUM_TREES: Action = 11;
    let simultaneous = Shape { is_simultaneous: true, width: 3, ..WIDE };
    let rewarded = Shape { has_rewards: true, ..WIDE };
    for (shape, has_agents, leaves) in [(WIDE, false, 1), (simultaneous, true, 4), (rewarded, false, 4)] {
        let mut search: Search<Toy, RandomAgent> = Search::new(config());
        search.config.leaves_per_tree = leaves;
        search.config.solver = !has_agents;
        search.config.proof_interval = 5;
        search.config.limits.simulations = 1500;
        search.config.draws_replies = has_agents;
        let new_tree = |search: &Search<Toy, RandomAgent>, number: Action| {
            let searched = if has_agents { Players::one(1) } else { Players::all(NUM_PLAYERS) };
            let agents = if has_agents { vec![(0, RandomAgent)] } else { Vec::new() };
            let mut tree = Tree::default();
            // Some games end soon.
            let root = Toy::new(shape, 4 + 20 * (number % 3), number);
            tree.reset(root, NUM_PLAYERS, searched, agents, Rng::new(number.into()), &search.config).unwrap();
            tree
        };
        let alone: Vec<Statistics> = (0..NUM_TREES)
            .map(|number| {
                let tree = new_tree(&search, number);
                search.reset(vec![tree], Instant::now());
                run(&mut search);
                statistics(&search, 0)
            })
            .collect();
        // Together the trees soon have enough nodes to be interleaved.
        let trees = (0..NUM_TREES).map(|number| new_tree(&search, number)).collect();
        search.reset(trees, Instant::now());
        run(&mut search);
        let together: Vec<Statistics> = (0..NUM_TREES as usize).map(|tree| statistics(&search, tree)).collect();
        assert_eq!(together, alone, "{shape:?}, with agents: {has_agents}, {leaves} leaves");
        assert!(search.trees.iter().map(|tree| tree.nodes.len()).sum::<usize>() > 9000);
    }
}

/// Panics if it acts on another thread than this one.
#[derive(Clone)]
struct SameThread(ThreadId);

impl Agent<Toy> for SameThread {
    fn act(&mut self, _: &Toy, _: Player, _: &mut Rng) -> Result<Action, Infallible> {
        assert_eq!(thread::current().id(), self.0);
        Ok(0)
    }

    fn plays_like(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

#[test]
fn a_tree_alone_is_descended_by_the_thread_that_asks() {
    let mut search: Search<Toy, SameThread> = Search::new(config());
    let mut tree = Tree::default();
    let agents = vec![(0, SameThread(thread::current().id()))];
    tree.reset(Toy::new(WIDE, 9, 0), NUM_PLAYERS, Players::one(1), agents, Rng::new(0), &search.config).unwrap();
    search.reset(vec![tree], Instant::now());
    for _ in 0..3 {
        for row in search.select_parallel(&|| false).unwrap() {
            search.add_evaluation(row, |_| 0.0, &[0.0]).unwrap();
        }
    }
    assert_eq!(search.trees[0].nodes.len(), 3);
}
