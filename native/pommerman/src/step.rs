//! One step of the reference's `ForwardModel.step`, stages S1 to S9 in order, including its quirks.
//!
//! Two apparent bugs are reproduced: the counters of S4 to S6 are never decremented (a cell that an object intended to
//! enter stays occupied in this step), and wood stops all rays of a step, even those of later bombs in a chain.

use crate::geometry::{bit, has, Cells, Geometry, OFF};
use crate::moves::{Moves, NONE};
use crate::outcome::Outcome;
use crate::state::{Bomb, State, MAX_BOMBS};
use crate::{BOMB, MAX_PLAYERS, STOP};

const MAX_AMMO: u8 = 10;
/// The life of a new bomb; it is decremented at the end of the same step, so the bomb shows 9.
const LIFE_AT_LAYING: u8 = 10;

impl State {
    /// Plays one step and returns the reference's result; the actions of dead players are ignored.
    ///
    /// An invalid action acts as Stop.
    pub fn step(&mut self, actions: [u8; MAX_PLAYERS]) -> Outcome {
        self.advance(actions);
        self.step = self.step.saturating_add(1);
        let outcome = self.outcome();
        self.done = outcome.done;
        self.killed_by_walls = 0;
        if let Some(ring) = self.rules.ring_at(self.step) {
            let living = self.living();
            self.collapse(self.geometry().ring(ring));
            if self.done {
                self.killed_by_walls = (living & !self.living()) as u8;
            }
        }
        outcome
    }

    fn advance(&mut self, actions: [u8; MAX_PLAYERS]) {
        let geometry = self.geometry();
        self.age_flames();
        let burning = self.flame_cells() & !(self.agent_cells() | self.bomb_cells());
        let mut moves = self.intended_moves(geometry, actions);
        let num_bombs = self.num_bombs as usize;
        moves.resolve_swaps(num_bombs);
        moves.resolve_conflicts(num_bombs);
        if self.kick(geometry, actions, &mut moves) {
            moves.resolve_kick_conflicts(num_bombs);
        }
        self.apply_moves(&moves);
        let blast = self.explode(geometry, burning);
        self.burn(blast);
    }

    /// S1: the oldest flames die and reveal items; where a younger flame burns, the item is lost.
    fn age_flames(&mut self) {
        let [dying, younger, youngest] = self.flames;
        self.flames = [younger, youngest, 0];
        if dying == 0 {
            return;
        }
        let burning = younger | youngest;
        for (item, hidden) in self.items.iter_mut().zip(&mut self.hidden) {
            *item |= *hidden & dying & !burning;
            *hidden &= !dying;
        }
    }

    /// S2: the intended cells of agents and bombs, and newly laid bombs.
    fn intended_moves(&mut self, geometry: &Geometry, actions: [u8; MAX_PLAYERS]) -> Moves {
        let mut moves = Moves::new();
        let walls = self.rigid | self.wood;
        let bombs = self.bomb_cells();
        for (player, &action) in actions.iter().enumerate() {
            let agent = self.agents[player];
            if !agent.alive {
                continue;
            }
            let mut to = agent.cell;
            if action == BOMB {
                // Real games never fill the list of bombs, see `MAX_BOMBS`.
                if agent.ammo > 0 && !has(bombs, agent.cell) && (self.num_bombs as usize) < MAX_BOMBS {
                    self.agents[player].ammo -= 1;
                    self.push_bomb(Bomb {
                        cell: agent.cell,
                        owner: player as u8,
                        life: LIFE_AT_LAYING,
                        blast: agent.blast,
                        direction: 0,
                    });
                }
            } else if action != STOP && action < BOMB {
                let next = geometry.neighbour(agent.cell, action);
                if next != OFF && !has(walls, next) {
                    to = next;
                }
            }
            moves.push_agent(player as u8, agent.cell, to);
        }
        let blocked = self.static_cells();
        for index in 0..self.num_bombs as usize {
            let Bomb { cell, direction, .. } = self.bombs[index];
            let mut to = cell;
            if direction != 0 {
                let next = geometry.neighbour(cell, direction);
                if next != OFF && !has(blocked, next) {
                    to = next;
                }
            }
            moves.bomb_from[index] = cell;
            moves.bomb_to[index] = to;
        }
        moves
    }

    /// S5: agents run into bombs and kick them or bounce off. Returns whether anything bounced or was kicked.
    fn kick(&mut self, geometry: &Geometry, actions: [u8; MAX_PLAYERS], moves: &mut Moves) -> bool {
        let blocked = self.static_cells();
        let mut bomb_targets = [NONE; MAX_BOMBS];
        let mut agent_targets = [NONE; MAX_PLAYERS];
        let mut has_conflict = false;
        for (index, new_target) in bomb_targets.iter_mut().enumerate().take(self.num_bombs as usize) {
            let cell = moves.bomb_to[index];
            if moves.agents_at[cell as usize] == 0 {
                continue;
            }
            let Some(k) = (0..moves.num_agents).find(|&k| moves.agent_to[k] == cell) else { continue };
            if cell == moves.agent_from[k] {
                if cell != moves.bomb_from[index] {
                    *new_target = moves.bomb_from[index];
                    has_conflict = true;
                }
                continue;
            }
            has_conflict = true;
            let player = moves.id[k] as usize;
            let target = geometry.neighbour(cell, actions[player]);
            let is_free = target != OFF
                && moves.agents_at[target as usize] == 0
                && moves.bombs_at[target as usize] == 0
                && !has(blocked, target);
            if self.agents[player].can_kick && is_free {
                moves.bombs_at[cell as usize] = 0;
                *new_target = target;
                moves.kicker[index] = k as u8;
                moves.kicked[k] = index as u8;
                self.bombs[index].direction = actions[player];
            } else {
                *new_target = moves.bomb_from[index];
                agent_targets[k] = moves.agent_from[k];
            }
        }
        if has_conflict {
            for (index, &to) in bomb_targets[..self.num_bombs as usize].iter().enumerate() {
                if to != NONE {
                    moves.send_bomb(index, to);
                }
            }
            for (k, &to) in agent_targets[..moves.num_agents].iter().enumerate() {
                if to != NONE {
                    moves.send_agent(k, to);
                }
            }
        }
        has_conflict
    }

    /// S7: bombs and agents move; items are picked up before anything explodes.
    fn apply_moves(&mut self, moves: &Moves) {
        for index in 0..self.num_bombs as usize {
            let bomb = &mut self.bombs[index];
            if moves.bomb_to[index] == moves.bomb_from[index] && moves.kicker[index] == NONE {
                bomb.direction = 0;
            } else {
                bomb.cell = moves.bomb_to[index];
            }
        }
        for k in 0..moves.num_agents {
            let to = moves.agent_to[k];
            if to == moves.agent_from[k] {
                continue;
            }
            let agent = &mut self.agents[moves.id[k] as usize];
            agent.cell = to;
            let [extra_bomb, incr_range, kick] = self.items.map(|cells| has(cells, to));
            if extra_bomb {
                agent.ammo = (agent.ammo + 1).min(MAX_AMMO);
            } else if incr_range {
                agent.blast = (agent.blast + 1).min(self.rules.blast_cap);
            } else if kick {
                agent.can_kick = true;
            } else {
                continue;
            }
            self.items = self.items.map(|cells| cells & !bit(to));
        }
    }

    /// S8: bombs tick and explode in chains. Returns the affected cells.
    fn explode(&mut self, geometry: &Geometry, burning: Cells) -> Cells {
        let mut has_explosion = false;
        for bomb in &mut self.bombs[..self.num_bombs as usize] {
            bomb.life -= 1;
            if has(burning, bomb.cell) {
                bomb.life = 0;
            }
            has_explosion |= bomb.life == 0;
        }
        let mut blast = 0;
        while has_explosion {
            for index in 0..self.num_bombs as usize {
                let bomb = self.bombs[index];
                if bomb.life == 0 {
                    let owner = &mut self.agents[bomb.owner as usize];
                    owner.ammo = (owner.ammo + 1).min(MAX_AMMO);
                    blast |= self.blast_of(geometry, bomb);
                }
            }
            self.retain_bombs(|bomb| bomb.life != 0);
            has_explosion = false;
            for bomb in &mut self.bombs[..self.num_bombs as usize] {
                if has(blast, bomb.cell) {
                    bomb.life = 0;
                    has_explosion = true;
                }
            }
        }
        blast
    }

    fn blast_of(&self, geometry: &Geometry, bomb: Bomb) -> Cells {
        // A bomb of strength 0 affects no cell, not even its own.
        let mut cells = if bomb.blast > 0 { bit(bomb.cell) } else { 0 };
        for direction in 1..=4 {
            let mut cell = bomb.cell;
            for _ in 1..bomb.blast {
                cell = geometry.neighbour(cell, direction);
                if cell == OFF || has(self.rigid, cell) {
                    break;
                }
                cells |= bit(cell);
                if has(self.wood, cell) {
                    break;
                }
            }
        }
        cells
    }

    /// S9: flames destroy wood and visible items, and kill agents.
    fn burn(&mut self, blast: Cells) {
        if blast != 0 {
            self.wood &= !blast;
            self.items = self.items.map(|cells| cells & !blast);
            self.flames[2] = blast;
        }
        let flame_cells = self.flame_cells();
        for agent in &mut self.agents {
            agent.alive &= !has(flame_cells, agent.cell);
        }
    }

    fn collapse(&mut self, ring: Cells) {
        for agent in &mut self.agents {
            agent.alive &= !has(ring, agent.cell);
        }
        for index in 0..self.num_bombs as usize {
            let bomb = self.bombs[index];
            if has(ring, bomb.cell) {
                let owner = &mut self.agents[bomb.owner as usize];
                owner.ammo = (owner.ammo + 1).min(MAX_AMMO);
            }
        }
        self.retain_bombs(|bomb| !has(ring, bomb.cell));
        self.rigid |= ring;
        self.wood &= !ring;
        for layers in [&mut self.items, &mut self.hidden, &mut self.flames] {
            *layers = layers.map(|cells| cells & !ring);
        }
    }
}
