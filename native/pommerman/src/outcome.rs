//! The reference's result of a step (rewards, done, result), and the returns that the search uses.

use crate::state::State;
use crate::variant::GameType;
use crate::MAX_PLAYERS;

/// The reference's `Result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    Win = 0,
    Tie = 2,
    Incomplete = 3,
}

/// The reference's return values of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// By player; in a free-for-all the dead get -1 in every step, and all players get it at the step limit.
    pub rewards: [i8; MAX_PLAYERS],
    pub done: bool,
    pub ending: Ending,
}

/// Returns the winning team (0: players 0 and 2, 1: players 1 and 3) of a set of living players.
fn winning_team(living: u32) -> Option<u32> {
    match living {
        0b0101 | 0b0001 | 0b0100 => Some(0),
        0b1010 | 0b0010 | 0b1000 => Some(1),
        _ => None,
    }
}

impl State {
    /// Returns the reference's result for this state, without an agent marked as in training.
    pub fn outcome(&self) -> Outcome {
        if self.rules.game_type.has_teams() {
            self.team_outcome()
        } else {
            self.single_outcome()
        }
    }

    fn single_outcome(&self) -> Outcome {
        let living = self.living();
        let timeout = self.step >= self.rules.max_steps;
        let decisive = living.count_ones() == 1;
        let done = timeout || living.count_ones() <= 1;
        let mut rewards = [0; MAX_PLAYERS];
        for (player, reward) in rewards[..self.num_players()].iter_mut().enumerate() {
            let alive = living >> player & 1 == 1;
            *reward = match (decisive, timeout, self.rules.game_type) {
                (true, ..) => i8::from(alive) * 2 - 1,
                (false, true, _) => -1,
                (false, false, GameType::OneVsOne) => 0,
                (false, false, _) => i8::from(alive) - 1,
            };
        }
        let ending = match (done, decisive) {
            (false, _) => Ending::Incomplete,
            (true, true) => Ending::Win,
            (true, false) => Ending::Tie,
        };
        Outcome { rewards, done, ending }
    }

    fn team_outcome(&self) -> Outcome {
        let living = self.living();
        let timeout = self.step >= self.rules.max_steps;
        let done = timeout || living.count_ones() <= 1 || living == 0b0101 || living == 0b1010;
        let winner = winning_team(living);
        let rewards = match winner {
            Some(0) => [1, -1, 1, -1],
            Some(_) => [-1, 1, -1, 1],
            None if timeout || living == 0 => [-1; MAX_PLAYERS],
            None => [0; MAX_PLAYERS],
        };
        let ending = match (done, winner) {
            (false, _) => Ending::Incomplete,
            (true, Some(_)) => Ending::Win,
            (true, None) => Ending::Tie,
        };
        Outcome { rewards, done, ending }
    }

    /// Returns what is decided for each player: 1 for winners, -1 for losers, 0 for ties and undecided players.
    ///
    /// In a free-for-all, the dead have lost at once, and survivors at the step limit have tied, or lost if the rules
    /// say so. A team's return stays 0 until the game is over. Walls that collapse at the end of the last step do not
    /// change the result. If a timeout is a tie, these are the value targets of PommerLearn (jw3il/PommerLearn at
    /// 6d4f546); the reference's own rewards are those of [`State::outcome`].
    pub fn decided_returns(&self) -> [i8; MAX_PLAYERS] {
        let living = self.survivors();
        let over = self.is_over();
        let mut returns = [0; MAX_PLAYERS];
        if self.rules.game_type.has_teams() {
            if let (true, Some(team)) = (over, winning_team(living)) {
                for (player, value) in returns.iter_mut().enumerate() {
                    *value = if player as u32 % 2 == team { 1 } else { -1 };
                }
            }
            return returns;
        }
        for (player, value) in returns[..self.num_players()].iter_mut().enumerate() {
            let alive = living >> player & 1 == 1;
            *value = match (alive, over) {
                (false, _) => -1,
                (true, true) if living.count_ones() == 1 => 1,
                (true, over) => -i8::from(over && self.rules.timeout_is_loss),
            };
        }
        returns
    }
}
