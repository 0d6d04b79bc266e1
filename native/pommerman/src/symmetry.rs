//! The eight symmetries of the board, for cells, actions, planes and whole states.
//!
//! Symmetry `s` flips up and down if bit 0 is set, then left and right if bit 1 is, then transposes if bit 2 is.

use crate::geometry::{bit, iter, Cells, Geometry, MAX_CELLS};
use crate::state::State;
use crate::{DOWN, LEFT, NUM_ACTIONS, RIGHT, UP};

pub const NUM_SYMMETRIES: usize = 8;

const PLANE_RIGHT: usize = 7;
const PLANE_UP: usize = 8;

/// Returns the image of a cell.
pub fn cell(symmetry: usize, size: u8, cell: u8) -> u8 {
    let (mut row, mut column) = (cell / size, cell % size);
    if symmetry & 1 != 0 {
        row = size - 1 - row;
    }
    if symmetry & 2 != 0 {
        column = size - 1 - column;
    }
    if symmetry & 4 != 0 {
        (row, column) = (column, row);
    }
    row * size + column
}

/// Returns the image of an action or a direction; Stop and Bomb are fixed.
pub fn action(symmetry: usize, action: u8) -> u8 {
    let mut action = action;
    if symmetry & 1 != 0 {
        action = [0, DOWN, UP, LEFT, RIGHT, 5][action as usize];
    }
    if symmetry & 2 != 0 {
        action = [0, UP, DOWN, RIGHT, LEFT, 5][action as usize];
    }
    if symmetry & 4 != 0 {
        action = [0, LEFT, RIGHT, UP, DOWN, 5][action as usize];
    }
    action
}

/// Returns the image of each action.
pub fn actions(symmetry: usize) -> [u8; NUM_ACTIONS] {
    std::array::from_fn(|number| action(symmetry, number as u8))
}

/// Returns the inverse symmetry.
pub fn inverse(symmetry: usize) -> usize {
    // Inverting a transposition swaps the two flips.
    match symmetry {
        5 => 6,
        6 => 5,
        own => own,
    }
}

/// Transforms the planes `[23 * n * n]` of a state into those of its image, in `out`.
pub fn planes(symmetry: usize, size: u8, planes: &[f32], out: &mut [f32]) {
    let cells = Geometry::of(size).num_cells();
    let to: [usize; MAX_CELLS] = std::array::from_fn(|from| match from < cells {
        true => cell(symmetry, size, from as u8) as usize,
        false => from,
    });
    for (from, into) in planes.chunks_exact(cells).zip(out.chunks_exact_mut(cells)) {
        for (value, &to) in from.iter().zip(&to) {
            into[to] = *value;
        }
    }
    for at in 0..cells {
        let (right, up) = (out[PLANE_RIGHT * cells + at], out[PLANE_UP * cells + at]);
        let up = if symmetry & 1 != 0 { -up } else { up };
        let right = if symmetry & 2 != 0 { -right } else { right };
        // Transposition maps down to right.
        let (right, up) = if symmetry & 4 != 0 { (-up, -right) } else { (right, up) };
        out[PLANE_RIGHT * cells + at] = right + 0.0;
        out[PLANE_UP * cells + at] = up + 0.0;
    }
}

impl State {
    /// Returns the image of the state.
    pub fn transformed(&self, symmetry: usize) -> Self {
        let size = self.rules.board_size;
        let move_cells = |cells: Cells| iter(cells).fold(0, |set, from| set | bit(cell(symmetry, size, from)));
        let mut image = self.clone();
        image.rigid = move_cells(self.rigid);
        image.wood = move_cells(self.wood);
        image.items = self.items.map(move_cells);
        image.hidden = self.hidden.map(move_cells);
        image.flames = self.flames.map(move_cells);
        for agent in &mut image.agents[..self.rules.num_players()] {
            agent.cell = cell(symmetry, size, agent.cell);
        }
        for bomb in &mut image.bombs[..self.num_bombs as usize] {
            bomb.cell = cell(symmetry, size, bomb.cell);
            bomb.direction = action(symmetry, bomb.direction);
        }
        image
    }
}
