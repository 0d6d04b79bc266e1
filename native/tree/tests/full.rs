//! A tree ends its search before its indices would overflow.

mod toy;

use moemcts_tree::{NoAgent, Players, Rng, Search, State, Tree};
use std::time::Instant;
use toy::{config, run, Shape, Toy, NUM_PLAYERS, WIDE};

const ENTRIES: usize = 1000;
/// Late enough that nothing else ends a search.
const LAST_PLY: u32 = 100_000;

fn new_tree(shape: Shape, search: &Search<Toy, NoAgent>) -> Tree<Toy, NoAgent> {
    let mut tree = Tree::default();
    let root = Toy::new(shape, LAST_PLY, 0);
    tree.reset(root, NUM_PLAYERS, Players::all(NUM_PLAYERS), Vec::new(), Rng::new(0), &search.config).unwrap();
    tree
}

fn search_until_full(shape: Shape) -> Search<Toy, NoAgent> {
    let mut search = Search::new(config());
    search.config.limits.entries = ENTRIES;
    let tree = new_tree(shape, &search);
    search.reset(vec![tree], Instant::now());
    run(&mut search);
    search
}

fn visits(search: &Search<Toy, NoAgent>) -> u32 {
    let arms = search.trees[0].arms(1, &search.config).unwrap();
    arms.iter().map(|arm| arm.visits).sum()
}

#[test]
fn a_full_tree_ends_its_search_with_what_it_found() {
    let shapes = [
        (WIDE, 5),
        (Shape { width: 1, ..WIDE }, 1),
        (Shape { is_simultaneous: true, width: 2, ..WIDE }, 4),
        // Rewards and discount factors of two players.
        (Shape { has_rewards: true, width: 1, ..WIDE }, 4),
    ];
    for (shape, most_per_node) in shapes {
        let search = search_until_full(shape);
        let tree = &search.trees[0];
        // The array of edges has spare capacity, and the last descent may exceed the limit.
        let entries = tree.nodes.len() * most_per_node;
        assert!((ENTRIES / 2..ENTRIES + 2 * most_per_node).contains(&entries), "{shape:?}: {entries}");
        assert_eq!(tree.simulations as usize, tree.nodes.len() - 1, "{shape:?}");
        assert_eq!(visits(&search), tree.simulations, "{shape:?}");
    }
}

#[test]
fn a_full_tree_is_searched_again_from_below_its_root() {
    let mut search = search_until_full(WIDE);
    let found = visits(&search);
    let trees = search.take_trees();
    search.reset(trees, Instant::now());
    run(&mut search);
    assert_eq!((search.trees[0].simulations, visits(&search)), (0, found));

    let best = search.trees[0].arms(1, &search.config).unwrap().into_iter().max_by_key(|arm| arm.visits).unwrap();
    let mut child = search.trees[0].states[0].clone();
    child.play(&[best.action]).unwrap();
    let mut trees = search.take_trees();
    assert!(trees[0].reroot(&child, 1).unwrap());
    let kept = trees[0].nodes.len();
    search.reset(trees, Instant::now());
    run(&mut search);
    let tree = &search.trees[0];
    assert!(kept < tree.nodes.len() && tree.simulations as usize == tree.nodes.len() - kept);
}

#[test]
fn a_root_that_was_visited_as_often_as_can_be_counted_ends_its_search() {
    const LEFT: u32 = 7;
    for leaves in [1, 4] {
        let mut search = Search::new(config());
        search.config.leaves_per_tree = leaves;
        let mut tree = new_tree(WIDE, &search);
        search.config.limits.simulations = 100;
        search.reset(vec![tree], Instant::now());
        run(&mut search);
        // Set directly, as that many simulations would take too long.
        tree = search.take_trees().remove(0);
        tree.nodes[0].visits = u32::MAX - LEFT;
        search.config.limits.simulations = u32::MAX;
        search.reset(vec![tree], Instant::now());
        run(&mut search);
        assert_eq!((search.trees[0].simulations, search.trees[0].nodes[0].visits), (LEFT, u32::MAX));
    }
}
