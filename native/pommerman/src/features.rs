//! The features that gates use: the distance to the nearest opponent and the number of opponents left.

use crate::geometry::has;
use crate::state::{Agent, State};

impl State {
    /// Returns the Manhattan distance to the nearest living opponent that `player` sees.
    ///
    /// If none is visible, returns the largest distance on the board, `2 * (n - 1)`. A teammate is not an opponent.
    pub fn nearest_opponent(&self, player: usize) -> u8 {
        let geometry = self.geometry();
        let cell = self.agents[player].cell;
        let visible = geometry.window(cell, self.rules.view);
        let visible_opponents = self.opponents(player).filter(|other| has(visible, other.cell));
        visible_opponents.map(|other| geometry.distance(cell, other.cell)).min().unwrap_or(2 * (geometry.size - 1))
    }

    /// Returns the number of living opponents of `player`, which every player knows.
    pub fn num_opponents(&self, player: usize) -> u8 {
        self.opponents(player).count() as u8
    }

    fn opponents(&self, player: usize) -> impl Iterator<Item = &Agent> {
        let has_teams = self.rules.game_type.has_teams();
        let others = self.agents().iter().enumerate();
        let opponents = others.filter(move |&(other, _)| other != player && !(has_teams && other % 2 == player % 2));
        opponents.map(|(_, agent)| agent).filter(|agent| agent.alive)
    }
}
