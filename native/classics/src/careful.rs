//! An agent that looks two plies ahead and otherwise moves at random.

use crate::position::{Ending, Position, Rules};
use moemcts_tree::{Action, Agent, Player, Rng, State};

/// Wins in one move if possible, avoids moves that let the opponent do so, and picks randomly among the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Careful;

impl Careful {
    /// Returns an action for a position that is not over.
    pub fn choose<R: Rules>(position: &Position<R>, rng: &mut Rng) -> Action {
        let actions = position.actions();
        let wins =
            |position: &Position<R>, action: Action| position.after(action).ending() == Ending::win(position.mover());
        if let Some(&winning) = actions.iter().find(|&&action| wins(position, action)) {
            return winning;
        }
        let is_safe = |&action: &Action| {
            let child = position.after(action);
            !child.actions().into_iter().any(|reply| wins(&child, reply))
        };
        let safe: Vec<Action> = actions.iter().copied().filter(is_safe).collect();
        let from = if safe.is_empty() { &actions } else { &safe };
        from[rng.below(from.len())]
    }
}

impl<R: Rules> Agent<Position<R>> for Careful {
    fn act(
        &mut self,
        position: &Position<R>,
        _: Player,
        rng: &mut Rng,
    ) -> Result<Action, <Position<R> as State>::Error> {
        Ok(Self::choose(position, rng))
    }

    fn plays_like(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TicTacToe;

    fn chosen(text: &str) -> Action {
        Careful::choose(&Position::parse(TicTacToe, text).unwrap(), &mut Rng::new(0))
    }

    #[test]
    fn it_wins_first_and_prevents_second() {
        assert_eq!(chosen("xx./oo./... x"), 2);
        assert_eq!(chosen("x../oo./..x x"), 5);
    }
}
