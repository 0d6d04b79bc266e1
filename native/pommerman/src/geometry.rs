//! Square boards as sets of cells: cell `row * size + column` is bit `cell` of a `u128`.

/// The largest side of a board; its cells fit into one `u128`.
pub const MAX_SIZE: usize = 11;
/// The largest number of cells of a board.
pub const MAX_CELLS: usize = MAX_SIZE * MAX_SIZE;
/// Returned by `Geometry::neighbour` beyond the edge of the board.
pub const OFF: u8 = u8::MAX;

/// A set of cells.
pub type Cells = u128;

/// Returns the set that holds one cell.
#[inline]
pub const fn bit(cell: u8) -> Cells {
    1 << cell
}

/// Returns whether the set holds the cell.
#[inline]
pub const fn has(cells: Cells, cell: u8) -> bool {
    cells >> cell & 1 != 0
}

/// Returns the cells of a set, ascending (row-major).
#[inline]
pub fn iter(mut cells: Cells) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        (cells != 0).then(|| {
            let cell = cells.trailing_zeros() as u8;
            cells &= cells - 1;
            cell
        })
    })
}

/// Lookup tables for one board size.
pub struct Geometry {
    pub size: u8,
    /// All cells of the board.
    pub full: Cells,
    /// The first column; multiplying it by a row pattern repeats that pattern in every row.
    first_column: Cells,
    last_column: Cells,
    /// By direction (0 stay, 1 up, 2 down, 3 left, 4 right) and cell: the next cell, or `OFF`.
    neighbour: [[u8; MAX_CELLS]; 5],
    /// By cell: the cells within the SimpleAgent's distance map of depth 10, before walls are removed.
    pub scope: [Cells; MAX_CELLS],
}

static TABLES: [Geometry; MAX_SIZE + 1] = [
    Geometry::new(0),
    Geometry::new(1),
    Geometry::new(2),
    Geometry::new(3),
    Geometry::new(4),
    Geometry::new(5),
    Geometry::new(6),
    Geometry::new(7),
    Geometry::new(8),
    Geometry::new(9),
    Geometry::new(10),
    Geometry::new(11),
];

impl Geometry {
    /// Returns the tables of a board with this side length, at most `MAX_SIZE`.
    #[inline]
    pub fn of(size: u8) -> &'static Self {
        &TABLES[size as usize]
    }

    pub const fn num_cells(&self) -> usize {
        self.size as usize * self.size as usize
    }

    #[inline]
    pub const fn row(&self, cell: u8) -> u8 {
        cell / self.size
    }

    #[inline]
    pub const fn column(&self, cell: u8) -> u8 {
        cell % self.size
    }

    #[inline]
    pub const fn cell(&self, row: u8, column: u8) -> u8 {
        row * self.size + column
    }

    /// Returns the next cell in a direction (0 stay, 1 up, 2 down, 3 left, 4 right), or `OFF` beyond the edge.
    #[inline]
    pub fn neighbour(&self, cell: u8, direction: u8) -> u8 {
        self.neighbour[direction as usize][cell as usize]
    }

    /// Returns the cells in the row of `cell`.
    #[inline]
    pub const fn whole_row(&self, cell: u8) -> Cells {
        ((1 << self.size) - 1) << (self.row(cell) * self.size)
    }

    /// Returns the cells in the column of `cell`.
    #[inline]
    pub const fn whole_column(&self, cell: u8) -> Cells {
        self.first_column << self.column(cell)
    }

    /// Returns the cells with a neighbour in the set on one of their four sides; these may include cells of the set.
    #[inline]
    pub const fn touching(&self, cells: Cells) -> Cells {
        let vertical = cells << self.size | cells >> self.size;
        let horizontal = (cells & !self.last_column) << 1 | (cells & !self.first_column) >> 1;
        (vertical | horizontal) & self.full
    }

    /// Returns the cells at most `view` rows and at most `view` columns away; `view` 0 means the whole board.
    #[inline]
    pub const fn window(&self, cell: u8, view: u8) -> Cells {
        if view == 0 {
            return self.full;
        }
        let rows = Self::band(self.row(cell), view, self.size);
        let columns = Self::band(self.column(cell), view, self.size);
        let below = ((1u128 << (rows.1 * self.size - 1)) << 1).wrapping_sub(1);
        let above = (1u128 << (rows.0 * self.size)) - 1;
        let pattern = (1u128 << columns.1) - (1u128 << columns.0);
        below & !above & (pattern * self.first_column)
    }

    /// Returns the Manhattan distance between two cells.
    #[inline]
    pub const fn distance(&self, a: u8, b: u8) -> u8 {
        self.row(a).abs_diff(self.row(b)) + self.column(a).abs_diff(self.column(b))
    }

    /// Returns the cells at distance `ring` from the nearest edge.
    pub fn ring(&self, ring: u8) -> Cells {
        let edge = |cell: u8| {
            let (row, column) = (self.row(cell), self.column(cell));
            row.min(column).min(self.size - 1 - row).min(self.size - 1 - column)
        };
        iter(self.full).filter(|&cell| edge(cell) == ring).fold(0, |cells, cell| cells | bit(cell))
    }

    const fn band(centre: u8, view: u8, size: u8) -> (u8, u8) {
        let end = if centre + view + 1 < size { centre + view + 1 } else { size };
        (centre.saturating_sub(view), end)
    }

    const fn new(size: u8) -> Self {
        let mut table = Self {
            size,
            full: 0,
            first_column: 0,
            last_column: 0,
            neighbour: [[OFF; MAX_CELLS]; 5],
            scope: [0; MAX_CELLS],
        };
        let mut cell = 0;
        while (cell as usize) < table.num_cells() {
            let (row, column) = (cell / size, cell % size);
            let at = cell as usize;
            table.full |= bit(cell);
            table.neighbour[0][at] = cell;
            if row > 0 {
                table.neighbour[1][at] = cell - size;
            }
            if row + 1 < size {
                table.neighbour[2][at] = cell + size;
            }
            if column > 0 {
                table.neighbour[3][at] = cell - 1;
            } else {
                table.first_column |= bit(cell);
            }
            if column + 1 < size {
                table.neighbour[4][at] = cell + 1;
            } else {
                table.last_column |= bit(cell);
            }
            table.scope[at] = Self::scope_of(size, row, column);
            cell += 1;
        }
        table
    }

    // The reference's range ends before `row + depth`, so an agent in row 0 does not see row 10.
    const fn scope_of(size: u8, row: u8, column: u8) -> Cells {
        const DEPTH: u8 = 10;
        let mut cells = 0;
        let mut cell = 0;
        while (cell as usize) < size as usize * size as usize {
            let (r, c) = (cell / size, cell % size);
            if r < row + DEPTH && c < column + DEPTH && r.abs_diff(row) + c.abs_diff(column) <= DEPTH {
                cells |= bit(cell);
            }
            cell += 1;
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_neighbours_agree_with_their_definition() {
        for size in 4..=MAX_SIZE as u8 {
            let g = Geometry::of(size);
            for a in 0..g.num_cells() as u8 {
                for b in 0..g.num_cells() as u8 {
                    let (rows, columns) = (g.row(a).abs_diff(g.row(b)), g.column(a).abs_diff(g.column(b)));
                    for view in [1, 4, 10] {
                        assert_eq!(has(g.window(a, view), b), rows <= view && columns <= view);
                    }
                    assert_eq!(has(g.touching(bit(a)), b), rows + columns == 1);
                    assert_eq!(has(g.whole_row(a), b), rows == 0);
                    assert_eq!(has(g.whole_column(a), b), columns == 0);
                    assert_eq!((1..5).any(|d| g.neighbour(a, d) == b), rows + columns == 1);
                }
            }
        }
    }

    #[test]
    fn rings_cut_the_board_into_parts() {
        let g = Geometry::of(11);
        assert_eq!(g.ring(0).count_ones(), 40);
        assert_eq!((0..6).fold(0, |all, k| all | g.ring(k)), g.full);
    }
}
