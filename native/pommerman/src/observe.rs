//! The reference's observation dictionaries as structs.

use crate::geometry::{has, iter, MAX_CELLS};
use crate::item;
use crate::state::State;

/// The observation of a player, dead or alive; maps are row-major, and cells beyond `n * n` are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    pub board: [u8; MAX_CELLS],
    pub bomb_blast_strength: [u8; MAX_CELLS],
    /// Steps until the bomb explodes, 9 down to 1.
    pub bomb_life: [u8; MAX_CELLS],
    pub bomb_moving_direction: [u8; MAX_CELLS],
    /// Steps until the flame is gone, 3 down to 1; the youngest of several flames on a cell.
    pub flame_life: [u8; MAX_CELLS],
    pub position: (u8, u8),
    pub ammo: u8,
    pub blast_strength: u8,
    pub can_kick: bool,
    /// Item values (10 + id) of the living players, padded with 0.
    pub alive: [u8; 4],
    /// The item value of the teammate, or 9 (AgentDummy) if there is none.
    pub teammate: u8,
    /// Item values of the enemies as the reference lists them, padded with 0; a team's third enemy is AgentDummy.
    pub enemies: [u8; 3],
    pub step_count: u16,
}

impl State {
    /// Returns the observation of `player`.
    pub fn observation(&self, player: usize) -> Observation {
        let geometry = self.geometry();
        let agent = self.agents[player];
        let visible = geometry.window(agent.cell, self.rules.view);
        let mut board = self.board();
        iter(geometry.full & !visible).for_each(|cell| board[cell as usize] = item::FOG);
        let [mut strengths, mut lives, mut directions, mut flames] = [[0; MAX_CELLS]; 4];
        for bomb in self.bombs().iter().filter(|bomb| has(visible, bomb.cell)) {
            let cell = bomb.cell as usize;
            (strengths[cell], lives[cell], directions[cell]) = (bomb.blast, bomb.life, bomb.direction);
        }
        for (cell, life) in self.flame_list().filter(|&(cell, _)| has(visible, cell)) {
            flames[cell as usize] = life + 1;
        }
        let mut alive = [0; 4];
        let living = self.agents.iter().zip(item::AGENT0..).filter(|(agent, _)| agent.alive);
        alive.iter_mut().zip(living).for_each(|(place, (_, value))| *place = value);
        let (mut enemies, count) = self.rules.enemies(player);
        if self.rules.game_type.has_teams() {
            enemies[count] = item::AGENT_DUMMY;
        }
        let teammate = self.rules.teammate(player);
        Observation {
            board,
            bomb_blast_strength: strengths,
            bomb_life: lives,
            bomb_moving_direction: directions,
            flame_life: flames,
            position: (geometry.row(agent.cell), geometry.column(agent.cell)),
            ammo: agent.ammo,
            blast_strength: agent.blast,
            can_kick: agent.can_kick,
            alive,
            teammate: teammate.map_or(item::AGENT_DUMMY, |mate| item::AGENT0 + mate as u8),
            enemies,
            step_count: self.step,
        }
    }
}
