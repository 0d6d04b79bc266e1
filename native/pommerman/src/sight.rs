//! The input of the SimpleAgent: the board as one player sees it, as sets of cells.

use crate::geometry::{bit, has, iter, Cells, Geometry};
use crate::item;
use crate::state::{State, MAX_BOMBS};

const NOWHERE: u8 = u8::MAX;

/// The inputs of one decision of the SimpleAgent.
#[derive(Clone, Debug)]
pub struct Sight {
    pub size: u8,
    pub cell: u8,
    pub ammo: u8,
    pub blast: u8,
    /// Passages, items, and agents that are not enemies (including the own cell).
    pub passable: Cells,
    pub passage: Cells,
    pub wood: Cells,
    pub fog: Cells,
    /// ExtraBomb, IncrRange, Kick.
    pub items: [Cells; 3],
    /// Cells that can have a distance: not fog, walls or flames, and near enough.
    pub scope: Cells,
    /// Cells of the visible enemies, in the order of the observation's `enemies`.
    enemies: [u8; 3],
    /// Cell and strength of the visible bombs, row-major.
    bombs: [(u8, u8); MAX_BOMBS],
    num_bombs: u8,
}

impl Sight {
    /// Returns what `player` sees.
    pub fn of(state: &State, player: usize) -> Self {
        let rules = &state.rules;
        let geometry = Geometry::of(rules.board_size);
        let agent = state.agents[player];
        let visible = geometry.window(agent.cell, rules.view);
        let agents = state.agent_cells();
        let flame_cells = state.flame_cells();
        let bombs = state.bomb_cells();
        let mut enemies = [NOWHERE; 3];
        let mut enemy_cells = 0;
        let (values, count) = rules.enemies(player);
        for (seen, value) in enemies.iter_mut().zip(&values[..count]) {
            let enemy = state.agents[(value - item::AGENT0) as usize];
            if enemy.alive && has(visible, enemy.cell) {
                *seen = enemy.cell;
                enemy_cells |= bit(enemy.cell);
            }
        }
        let passage = visible & !(state.static_cells() | flame_cells | bombs | agents);
        let items = state.items.map(|cells| cells & visible);
        let friends = agents & visible & !enemy_cells;
        let mut sight = Self {
            size: rules.board_size,
            cell: agent.cell,
            ammo: agent.ammo,
            blast: agent.blast,
            passable: passage | items[0] | items[1] | items[2] | friends,
            passage,
            wood: state.wood & visible,
            fog: geometry.full & !visible,
            items,
            scope: geometry.scope[agent.cell as usize] & visible & !state.rigid & !flame_cells,
            enemies,
            bombs: [(0, 0); MAX_BOMBS],
            num_bombs: 0,
        };
        for bomb in state.bombs() {
            if has(visible, bomb.cell) && bomb.blast > 0 {
                sight.insert_bomb(bomb.cell, bomb.blast);
            }
        }
        sight
    }

    /// Returns what the arrays of an observation show; the error describes what does not fit.
    ///
    /// `board` and `bomb_blast_strength` are `[n * n]`, `enemies` are item values (10 + id).
    pub fn from_observation(
        board: &[u8],
        bomb_blast_strength: &[u8],
        cell: u8,
        ammo: u8,
        blast: u8,
        enemies: &[u8],
    ) -> Result<Self, String> {
        let size =
            (1..=11u8).find(|n| usize::from(*n).pow(2) == board.len()).ok_or("expected a board up to 11 x 11")?;
        let geometry = Geometry::of(size);
        if bomb_blast_strength.len() != board.len() || cell as usize >= board.len() || enemies.len() > 3 {
            return Err("expected two arrays of one size, a cell on them and at most 3 enemies".to_string());
        }
        let cells_with = |values: &[u8]| {
            iter(geometry.full).filter(|&c| values.contains(&board[c as usize])).fold(0, |set, c| set | bit(c))
        };
        let passage = cells_with(&[item::PASSAGE]);
        let items = [item::EXTRA_BOMB, item::INCR_RANGE, item::KICK].map(|kind| cells_with(&[kind]));
        let friends = (item::AGENT0..item::AGENT0 + 4).filter(|value| !enemies.contains(value));
        let friends = friends.fold(0, |set, value| set | cells_with(&[value]));
        let mut seen = [NOWHERE; 3];
        for (place, &value) in seen.iter_mut().zip(enemies) {
            *place = iter(cells_with(&[value])).next().unwrap_or(NOWHERE);
        }
        let fog = cells_with(&[item::FOG]);
        let mut sight = Self {
            size,
            cell,
            ammo,
            blast,
            passable: passage | items[0] | items[1] | items[2] | friends,
            passage,
            wood: cells_with(&[item::WOOD]),
            fog,
            items,
            scope: geometry.scope[cell as usize] & !(fog | cells_with(&[item::RIGID, item::FLAMES])),
            enemies: seen,
            bombs: [(0, 0); MAX_BOMBS],
            num_bombs: 0,
        };
        for (cell, &strength) in bomb_blast_strength.iter().enumerate().filter(|(_, &strength)| strength > 0) {
            if sight.num_bombs as usize == MAX_BOMBS || strength > 10 {
                return Err(format!("expected at most {MAX_BOMBS} bombs of a strength of at most 10"));
            }
            sight.insert_bomb(cell as u8, strength);
        }
        Ok(sight)
    }

    pub fn geometry(&self) -> &'static Geometry {
        Geometry::of(self.size)
    }

    pub fn bombs(&self) -> &[(u8, u8)] {
        &self.bombs[..self.num_bombs as usize]
    }

    /// Returns the cells of the visible enemies, in the order of the observation's `enemies`.
    pub fn enemies(&self) -> impl Iterator<Item = u8> + Clone + '_ {
        self.enemies.iter().copied().filter(|&cell| cell != NOWHERE)
    }

    fn insert_bomb(&mut self, cell: u8, strength: u8) {
        let mut index = self.num_bombs as usize;
        while index > 0 && self.bombs[index - 1].0 > cell {
            self.bombs[index] = self.bombs[index - 1];
            index -= 1;
        }
        self.bombs[index] = (cell, strength);
        self.num_bombs += 1;
    }
}
