//! PommerLearn's 23 input planes, `[23, n, n]`, of what a player sees.
//!
//! jw3il/PommerLearn at 6d4f546. Hidden information is not encoded: fogged cells are 0 in every plane of the board, and
//! hidden items are in no plane.

use crate::geometry::{has, iter};
use crate::state::State;

pub const NUM_PLANES: usize = 23;

/// The names of the planes.
pub const PLANE_NAMES: [&str; NUM_PLANES] = [
    "rigid",
    "wood",
    "extra bomb",
    "incr range",
    "kick",
    "bomb time",
    "bomb strength",
    "bomb moves right",
    "bomb moves up",
    "flames",
    "self",
    "next player",
    "player after next",
    "last player",
    "own strength",
    "own bombs placed",
    "own bombs in all",
    "own kick",
    "self alive",
    "next player alive",
    "player after next alive",
    "last player alive",
    "step",
];

const FULL_LIFE: f32 = 9.0;
const FULL_STRENGTH: f32 = 11.0;
const FULL_BOMBS: f32 = 5.0;

impl State {
    /// Writes the planes of `player` into `out`, which is `[23 * n * n]` and zero on entry.
    pub fn planes(&self, player: usize, out: &mut [f32]) {
        let geometry = self.geometry();
        let cells = geometry.num_cells();
        let agent = self.agents[player];
        let visible = geometry.window(agent.cell, self.rules.view);
        let mut planes = out.chunks_exact_mut(cells);
        let mut next = || planes.next().unwrap_or_default();

        for layer in [self.rigid, self.wood, self.items[0], self.items[1], self.items[2]] {
            let plane = next();
            iter(layer & visible).for_each(|cell| plane[cell as usize] = 1.0);
        }
        let [time, strength, right, up] = [next(), next(), next(), next()];
        for bomb in self.bombs().iter().filter(|bomb| has(visible, bomb.cell)) {
            let cell = bomb.cell as usize;
            time[cell] = 1.0 - f32::from(bomb.life) / FULL_LIFE;
            strength[cell] = relative_blast(bomb.blast);
            right[cell] = [0.0, 0.0, 0.0, -1.0, 1.0][bomb.direction as usize];
            up[cell] = [0.0, 1.0, -1.0, 0.0, 0.0][bomb.direction as usize];
        }
        let flames = next();
        for (cell, life) in self.flame_list().filter(|&(cell, _)| has(visible, cell)) {
            flames[cell as usize] = f32::from(life + 1) / 3.0;
        }
        let others: [usize; 4] = std::array::from_fn(|k| (player + k) % self.num_players());
        for (k, &other) in others.iter().enumerate() {
            let plane = next();
            let other_agent = self.agents[other];
            if k < self.num_players() && other_agent.alive && has(visible, other_agent.cell) {
                plane[other_agent.cell as usize] = 1.0;
            }
        }
        let placed = self.bombs().iter().filter(|bomb| bomb.owner as usize == player).count() as f32;
        next().fill(relative_blast(agent.blast));
        next().fill(placed / FULL_BOMBS);
        next().fill((placed + f32::from(agent.ammo)) / FULL_BOMBS);
        next().fill(f32::from(u8::from(agent.can_kick)));
        for (k, &other) in others.iter().enumerate() {
            let alive = k < self.num_players() && self.agents[other].alive;
            next().fill(f32::from(u8::from(alive)));
        }
        next().fill(f32::from(self.step) / f32::from((self.rules.max_steps - 1).max(1)));
    }
}

/// Returns the reach of a bomb beyond its own cell, relative to `FULL_STRENGTH` and at most 1.
fn relative_blast(blast: u8) -> f32 {
    (f32::from(blast.saturating_sub(1)) / FULL_STRENGTH).min(1.0)
}
