//! The moves of all nodes. An untried move takes six bytes: a 32-bit prior and a 16-bit action.

use crate::game::Action;
use std::cmp::Reverse;

/// The index of a seat's first move.
pub type MoveId = u32;

/// Actions and their priors; those of one seat are contiguous.
#[derive(Clone, Default)]
pub(super) struct Moves {
    pub priors: Vec<f32>,
    actions: Actions,
}

#[derive(Clone)]
enum Actions {
    Short(Vec<u16>),
    /// For games with more than 65,536 actions.
    Long(Vec<u32>),
}

impl Default for Actions {
    fn default() -> Self {
        Self::Short(Vec::new())
    }
}

impl Moves {
    pub fn clear(&mut self, num_actions: usize) {
        self.priors.clear();
        match &mut self.actions {
            Actions::Short(actions) if num_actions <= 1 << 16 => actions.clear(),
            Actions::Long(actions) if num_actions > 1 << 16 => actions.clear(),
            actions if num_actions > 1 << 16 => *actions = Actions::Long(Vec::new()),
            actions => *actions = Actions::Short(Vec::new()),
        }
    }

    /// Returns an empty list with the same action width.
    pub fn empty_like(&self) -> Self {
        let actions = match self.actions {
            Actions::Short(_) => Actions::Short(Vec::new()),
            Actions::Long(_) => Actions::Long(Vec::new()),
        };
        Self { priors: Vec::new(), actions }
    }

    /// Widens actions to 32 bits if needed for `largest`, such as an outcome of chance beyond the game's actions.
    pub fn widen(&mut self, largest: Action) {
        if let (Actions::Short(short), true) = (&self.actions, largest > u16::MAX.into()) {
            self.actions = Actions::Long(short.iter().map(|&action| action.into()).collect());
        }
    }

    /// Appends actions without priors; returns the index of the first. Actions stored in 16 bits must be below 65,536.
    pub fn extend(&mut self, added: &[Action]) -> MoveId {
        let first = self.priors.len();
        self.priors.resize(first + added.len(), 0.0);
        match &mut self.actions {
            Actions::Short(actions) => actions.extend(added.iter().map(|&action| action as u16)),
            Actions::Long(actions) => actions.extend_from_slice(added),
        }
        first as MoveId
    }

    /// Appends a seat's moves from another list; returns the index of the first.
    pub fn extend_from(&mut self, other: &Self, first: MoveId, len: u32) -> MoveId {
        let actions: Vec<Action> = (first..first + len).map(|id| other.action(id)).collect();
        let start = self.extend(&actions);
        self.priors[start as usize..].copy_from_slice(&other.priors[first as usize..(first + len) as usize]);
        start
    }

    #[inline]
    pub fn action(&self, id: MoveId) -> Action {
        match &self.actions {
            Actions::Short(actions) => actions[id as usize].into(),
            Actions::Long(actions) => actions[id as usize],
        }
    }

    /// Calls `visitor` with the actions of the moves `first..end`, in order.
    #[inline]
    pub fn for_each_action(&self, first: MoveId, end: MoveId, mut visitor: impl FnMut(Action)) {
        let range = first as usize..end as usize;
        match &self.actions {
            Actions::Short(actions) => actions[range].iter().for_each(|&action| visitor(action.into())),
            Actions::Long(actions) => actions[range].iter().for_each(|&action| visitor(action)),
        }
    }

    /// Permutes the moves from `first` on; `order` lists their previous indices.
    pub fn reorder(&mut self, first: MoveId, order: &[u32]) {
        let sources = || order.iter().map(|&source| (first + source) as usize);
        let range = first as usize..first as usize + order.len();
        let priors: Vec<f32> = sources().map(|source| self.priors[source]).collect();
        self.priors[range.clone()].copy_from_slice(&priors);
        match &mut self.actions {
            Actions::Short(actions) => {
                let moved: Vec<u16> = sources().map(|source| actions[source]).collect();
                actions[range].copy_from_slice(&moved);
            }
            Actions::Long(actions) => {
                let moved: Vec<u32> = sources().map(|source| actions[source]).collect();
                actions[range].copy_from_slice(&moved);
            }
        }
    }

    /// Moves the move with the largest prior in `first..end` to `first`; ties go to the lowest action.
    pub fn swap_best_first(&mut self, first: MoveId, end: MoveId) {
        let priors = &self.priors[first as usize..end as usize];
        let best = match &self.actions {
            Actions::Short(actions) => argmax(priors, &actions[first as usize..end as usize]),
            Actions::Long(actions) => argmax(priors, &actions[first as usize..end as usize]),
        };
        let (first, best) = (first as usize, first as usize + best);
        self.priors.swap(first, best);
        match &mut self.actions {
            Actions::Short(actions) => actions.swap(first, best),
            Actions::Long(actions) => actions.swap(first, best),
        }
    }
}

/// Returns the index of the largest prior; ties go to the lowest action.
fn argmax<T: Ord + Copy>(priors: &[f32], actions: &[T]) -> usize {
    if priors.len() <= MAX_SCALAR {
        let key = |i: usize| (priors[i], Reverse(actions[i]));
        return (1..priors.len()).fold(0, |best, i| if key(i) > key(best) { i } else { best });
    }
    // Priors are never negative, so comparing their bits compares them.
    let max_bits = priors.iter().fold(0, |max_bits, prior| max_bits.max(prior.to_bits() as i32));
    let equal = priors.iter().zip(actions).enumerate().filter(|(_, (prior, _))| prior.to_bits() as i32 == max_bits);
    equal.min_by_key(|(_, (_, action))| **action).map_or(0, |(i, _)| i)
}

/// Up to this many priors are compared one by one; for more, the maximum is found first, vectorised.
const MAX_SCALAR: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_pulled_by_prior_and_of_equal_ones_by_action() {
        for num_actions in [100, 1 << 20] {
            let mut moves = Moves::default();
            moves.clear(num_actions);
            moves.extend(&[7]);
            let first = moves.extend(&[3, 5, 8, 9, 11]);
            let end = first + 5;
            moves.priors[first as usize..].copy_from_slice(&[0.1, 0.3, 0.2, 0.3, 0.1]);
            (first..end).for_each(|id| moves.swap_best_first(id, end));
            assert_eq!((first..end).map(|id| moves.action(id)).collect::<Vec<_>>(), [5, 9, 8, 3, 11]);
            assert_eq!(moves.priors, [0.0, 0.3, 0.3, 0.2, 0.1, 0.1]);
        }
    }

    #[test]
    fn actions_beyond_sixteen_bits_are_kept_whole() {
        let mut moves = Moves::default();
        moves.clear(1 << 20);
        let first = moves.extend(&[65_535, 65_536, 1_000_000]);
        assert_eq!((0..3).map(|i| moves.action(first + i)).collect::<Vec<_>>(), [65_535, 65_536, 1_000_000]);
        let mut kept = moves.empty_like();
        kept.extend_from(&moves, 1, 2);
        assert_eq!([kept.action(0), kept.action(1)], [65_536, 1_000_000]);
    }

    #[test]
    fn a_large_outcome_of_chance_makes_all_actions_long() {
        let mut moves = Moves::default();
        moves.clear(100);
        moves.extend(&[7, 65_535]);
        moves.widen(65_535);
        assert!(matches!(moves.actions, Actions::Short(_)));
        moves.widen(70_000);
        moves.extend(&[70_000]);
        assert_eq!((0..3).map(|i| moves.action(i)).collect::<Vec<_>>(), [7, 65_535, 70_000]);
    }

    #[test]
    fn moves_are_put_into_another_order() {
        for num_actions in [100, 1 << 20] {
            let mut moves = Moves::default();
            moves.clear(num_actions);
            moves.extend(&[7]);
            let first = moves.extend(&[3, 5, 8]);
            moves.priors[first as usize..].copy_from_slice(&[0.1, 0.2, 0.7]);
            moves.reorder(first, &[2, 0, 1]);
            assert_eq!((0..4).map(|i| moves.action(i)).collect::<Vec<_>>(), [7, 8, 3, 5]);
            assert_eq!(moves.priors, [0.0, 0.7, 0.1, 0.2]);
        }
    }
}
