//! The search's interface to Pommerman.

use std::convert::Infallible;

use moemcts_tree::{hash_of, Action, Agent, Dimensions, Observe, Player, Players, Rng};

use crate::agents::Scripted;
use crate::geometry::{has, OFF};
use crate::planes::NUM_PLANES;
use crate::state::State;
use crate::{BOMB, MAX_PLAYERS, NUM_ACTIONS, RIGHT, STOP, UP};

impl moemcts_tree::State for State {
    type Error = Infallible;

    fn ply(&self) -> Result<u32, Infallible> {
        Ok(u32::from(self.step))
    }

    /// In a free-for-all, the living players. In teams also the dead, whose result is their team's; they play Stop.
    fn active_players(&self) -> Result<Players, Infallible> {
        if self.is_over() {
            return Ok(Players::NONE);
        }
        if self.rules.game_type.has_teams() {
            return Ok(Players::all(self.num_players()));
        }
        Ok((0..self.num_players()).filter(|&player| self.agents[player].alive).collect())
    }

    fn legal_actions(&self, player: Player, out: &mut Vec<Action>) -> Result<(), Infallible> {
        let alive = self.agents[player].alive;
        out.extend(0..if alive { NUM_ACTIONS as Action } else { 1 });
        Ok(())
    }

    /// PommerLearn's filter: Stop; moves into passages, items, flames that die in this step, and bombs if the agent can
    /// kick; Bomb if there is none on the cell. Never into agents, walls or flames that stay.
    fn search_actions(&self, player: Player, out: &mut Vec<Action>) -> Result<(), Infallible> {
        let agent = self.agents[player];
        out.push(Action::from(STOP));
        if !agent.alive {
            return Ok(());
        }
        let geometry = self.geometry();
        let bombs = self.bomb_cells();
        let mut blocked = self.rigid | self.wood | self.agent_cells() | self.flames[1] | self.flames[2];
        if !agent.can_kick {
            blocked |= bombs;
        }
        for direction in UP..=RIGHT {
            let next = geometry.neighbour(agent.cell, direction);
            if next != OFF && !has(blocked, next) {
                out.push(Action::from(direction));
            }
        }
        if agent.ammo > 0 && !has(bombs, agent.cell) {
            out.push(Action::from(BOMB));
        }
        Ok(())
    }

    fn play(&mut self, joint: &[Action]) -> Result<(), Infallible> {
        let mut actions = [STOP; MAX_PLAYERS];
        for (player, &action) in self.active_players()?.iter().zip(joint) {
            actions[player] = action as u8;
        }
        self.step(actions);
        Ok(())
    }

    fn returns(&self, out: &mut [f32]) -> Result<(), Infallible> {
        for (value, decided) in out.iter_mut().zip(self.decided_returns()) {
            *value = f32::from(decided);
        }
        Ok(())
    }

    fn is_decided(&self, player: Player) -> Result<bool, Infallible> {
        Ok(self.is_over() || self.decided_returns()[player] != 0)
    }

    fn key(&self) -> Result<u64, Infallible> {
        Ok(self.hash())
    }
}

impl Observe for State {
    fn dimensions(&self) -> Dimensions {
        Dimensions {
            num_players: self.num_players(),
            num_actions: NUM_ACTIONS,
            observation: [NUM_PLANES, self.board_size(), self.board_size()],
        }
    }

    fn rules_key(&self) -> u64 {
        hash_of(&self.rules)
    }

    fn observe(&self, player: Player, out: &mut [f32]) -> Result<(), Infallible> {
        self.planes(player, out);
        Ok(())
    }
}

impl Agent<State> for Scripted {
    fn act(&mut self, state: &State, player: Player, rng: &mut Rng) -> Result<Action, Infallible> {
        Ok(Action::from(self.choose(state, player, rng)))
    }

    fn plays_like(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}
