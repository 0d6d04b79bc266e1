//! The state of a game as a compact value: sets of cells, four agents, a short list of bombs.

use crate::geometry::{bit, has, iter, Cells, Geometry, MAX_CELLS};
use crate::variant::Rules;
use crate::{item, MAX_PLAYERS};

/// The maximum number of bombs on the board at once.
///
/// Every player lays at most one per step and a bomb lives for nine, so games reach 40 while a step is computed.
pub const MAX_BOMBS: usize = 48;

/// A player on the board; a dead one keeps its attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    pub cell: u8,
    /// Number of bombs that the player can still lay, at most 10.
    pub ammo: u8,
    /// Blast strength of the next bomb, including its own cell.
    pub blast: u8,
    pub can_kick: bool,
    pub alive: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bomb {
    pub cell: u8,
    pub owner: u8,
    /// Steps until the bomb explodes; 9 after the step that laid it.
    pub life: u8,
    pub blast: u8,
    /// Direction of movement: 0 none, 1 up, 2 down, 3 left, 4 right.
    pub direction: u8,
}

/// The state of a game.
///
/// The board is stored in layers, from which [`State::board`] reconstructs the reference's board. Apart from `flames`
/// and `hidden`, the layers are disjoint, and contain no cell of a living agent or of a bomb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub(crate) rules: Rules,
    pub(crate) rigid: Cells,
    pub(crate) wood: Cells,
    /// Visible items by kind: ExtraBomb, IncrRange, Kick.
    pub(crate) items: [Cells; 3],
    /// Items under wood, or under flames of burnt wood, by kind.
    pub(crate) hidden: [Cells; 3],
    /// Flames by life 0, 1, 2. One cell can hold several: the older ones reveal an item, the younger destroy it.
    pub(crate) flames: [Cells; 3],
    pub(crate) agents: [Agent; MAX_PLAYERS],
    pub(crate) bombs: [Bomb; MAX_BOMBS],
    pub(crate) num_bombs: u8,
    /// The reference's `done` of the last step.
    pub(crate) done: bool,
    /// Bit set of the players killed by walls at the end of the step that ended the game, who count as alive in its
    /// result.
    pub(crate) killed_by_walls: u8,
    pub(crate) step: u16,
}

/// The reference's representation of a state, from which `State` is built.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    pub rules: Rules,
    pub step: u16,
    /// `[n * n]`, the visible board.
    pub board: &'a [u8],
    /// `[n * n]`, items that are not visible yet, 0 for none.
    pub hidden: &'a [u8],
    /// `[num_players]`.
    pub agents: &'a [Agent],
    pub bombs: &'a [Bomb],
    /// Cell and life of every flame.
    pub flames: &'a [(u8, u8)],
}

impl State {
    /// Builds a state from the reference's representation; the error describes an inconsistency.
    pub fn from_parts(parts: &Parts) -> Result<Self, String> {
        let rules = parts.rules;
        rules.check()?;
        let geometry = Geometry::of(rules.board_size);
        let num_cells = geometry.num_cells();
        for (name, length) in [("board", parts.board.len()), ("hidden items", parts.hidden.len())] {
            if length != num_cells {
                return Err(format!("expected {num_cells} cells of {name}, got {length}"));
            }
        }
        if parts.agents.len() != rules.num_players() {
            return Err(format!("expected {} agents, got {}", rules.num_players(), parts.agents.len()));
        }
        if parts.bombs.len() > MAX_BOMBS {
            return Err(format!("expected at most {MAX_BOMBS} bombs, got {}", parts.bombs.len()));
        }
        let mut state = Self::empty(rules);
        state.step = parts.step;
        for cell in 0..num_cells as u8 {
            match parts.board[cell as usize] {
                item::RIGID => state.rigid |= bit(cell),
                item::WOOD => state.wood |= bit(cell),
                kind @ item::EXTRA_BOMB..=item::KICK => state.items[(kind - item::EXTRA_BOMB) as usize] |= bit(cell),
                value if value > item::AGENT0 + 3 || value == item::FOG || value == item::AGENT_DUMMY => {
                    return Err(format!("expected what a whole board shows at cell {cell}, got {value}"));
                }
                _ => {}
            }
            match parts.hidden[cell as usize] {
                0 => {}
                kind @ item::EXTRA_BOMB..=item::KICK => state.hidden[(kind - item::EXTRA_BOMB) as usize] |= bit(cell),
                value => return Err(format!("expected 0, 6, 7 or 8 as hidden item at cell {cell}, got {value}")),
            }
        }
        for &(cell, life) in parts.flames {
            if cell as usize >= num_cells || life > 2 {
                return Err(format!("expected flames on the board with a life of 0..=2, got cell {cell}, life {life}"));
            }
            state.flames[life as usize] |= bit(cell);
        }
        for (player, agent) in parts.agents.iter().enumerate() {
            if agent.cell as usize >= num_cells || agent.ammo > 10 || agent.blast > 10 {
                return Err(format!("expected agent {player} on the board with ammo and blast <= 10, got {agent:?}"));
            }
            state.agents[player] = *agent;
        }
        let mut occupied = 0;
        for bomb in parts.bombs {
            let is_valid = (bomb.cell as usize) < num_cells
                && (bomb.owner as usize) < rules.num_players()
                && (1..=10).contains(&bomb.life)
                && bomb.blast <= 10
                && bomb.direction <= 4;
            if !is_valid || has(occupied, bomb.cell) {
                return Err(format!("expected bombs of a life of 1..=10 on cells of their own, got {bomb:?}"));
            }
            occupied |= bit(bomb.cell);
            state.push_bomb(*bomb);
        }
        // A ring collapses after `done` was decided, so its deaths count only from the next step on.
        state.done = match rules.ring_at(state.step) {
            Some(_) => false,
            None => state.outcome().done,
        };
        state.check_layers()?;
        Ok(state)
    }

    fn check_layers(&self) -> Result<(), String> {
        let mut occupied = 0;
        for (player, agent) in self.agents.iter().enumerate().filter(|(_, agent)| agent.alive) {
            if has(occupied | self.static_cells() | self.flame_cells(), agent.cell) {
                return Err(format!("expected agent {player} on a free cell, got one at cell {}", agent.cell));
            }
            occupied |= bit(agent.cell);
        }
        if let Some(cell) = iter((self.bomb_cells() | self.flame_cells()) & self.static_cells()).next() {
            return Err(format!("expected bombs and flames on free cells, got one at cell {cell}"));
        }
        let hidden = self.hidden[0] | self.hidden[1] | self.hidden[2];
        match iter(hidden & self.static_cells() & !self.wood).next() {
            Some(cell) => Err(format!("expected no hidden item under a wall or another item, got one at cell {cell}")),
            None => Ok(()),
        }
    }

    /// Returns an empty board without players.
    pub(crate) fn empty(rules: Rules) -> Self {
        Self {
            rules,
            rigid: 0,
            wood: 0,
            items: [0; 3],
            hidden: [0; 3],
            flames: [0; 3],
            agents: [Agent::default(); MAX_PLAYERS],
            bombs: [Bomb::default(); MAX_BOMBS],
            num_bombs: 0,
            done: false,
            killed_by_walls: 0,
            step: 0,
        }
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub fn num_players(&self) -> usize {
        self.rules.num_players()
    }

    pub fn board_size(&self) -> usize {
        self.rules.board_size as usize
    }

    /// Returns the number of steps played.
    pub fn step_count(&self) -> u16 {
        self.step
    }

    #[inline]
    pub fn geometry(&self) -> &'static Geometry {
        Geometry::of(self.rules.board_size)
    }

    /// Returns the players, including dead ones.
    #[inline]
    pub fn agents(&self) -> &[Agent] {
        &self.agents[..self.rules.num_players()]
    }

    /// Returns the bombs in the order in which they were laid.
    #[inline]
    pub fn bombs(&self) -> &[Bomb] {
        &self.bombs[..self.num_bombs as usize]
    }

    /// Returns the bit set of living players.
    #[inline]
    pub fn living(&self) -> u32 {
        self.agents.iter().enumerate().fold(0, |set, (player, agent)| set | u32::from(agent.alive) << player)
    }

    /// Returns the bit set of players who count as alive in the result: if the game is over, those alive when `done`
    /// was decided, before walls collapsed.
    #[inline]
    pub fn survivors(&self) -> u32 {
        self.living() | u32::from(self.killed_by_walls)
    }

    /// Returns whether the game is over: the reference's `done`, or no player is alive.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.done || self.living() == 0
    }

    /// Returns the burning cells.
    #[inline]
    pub fn flame_cells(&self) -> Cells {
        self.flames[0] | self.flames[1] | self.flames[2]
    }

    /// Returns the cells with bombs, including those under agents.
    #[inline]
    pub fn bomb_cells(&self) -> Cells {
        self.bombs().iter().fold(0, |cells, bomb| cells | bit(bomb.cell))
    }

    /// Returns the cells with living agents.
    #[inline]
    pub fn agent_cells(&self) -> Cells {
        self.agents.iter().filter(|agent| agent.alive).fold(0, |cells, agent| cells | bit(agent.cell))
    }

    /// Returns the cells with walls, wood or visible items.
    #[inline]
    pub fn static_cells(&self) -> Cells {
        self.rigid | self.wood | self.items[0] | self.items[1] | self.items[2]
    }

    pub(crate) fn push_bomb(&mut self, bomb: Bomb) {
        self.bombs[self.num_bombs as usize] = bomb;
        self.num_bombs += 1;
    }

    /// Keeps the bombs that `keep` accepts, preserving their order.
    #[inline]
    pub(crate) fn retain_bombs(&mut self, mut keep: impl FnMut(&Bomb) -> bool) {
        let mut kept = 0;
        for index in 0..self.num_bombs as usize {
            if keep(&self.bombs[index]) {
                self.bombs[kept] = self.bombs[index];
                kept += 1;
            }
        }
        // Clear the removed bombs, so that equal states have equal bytes.
        self.bombs[kept..self.num_bombs as usize].fill(Bomb::default());
        self.num_bombs = kept as u8;
    }

    /// Returns the reference's board, row-major; cells beyond `n * n` are 0.
    pub fn board(&self) -> [u8; MAX_CELLS] {
        let mut board = [item::PASSAGE; MAX_CELLS];
        let mut paint = |cells: Cells, value: u8| iter(cells).for_each(|cell| board[cell as usize] = value);
        paint(self.rigid, item::RIGID);
        paint(self.wood, item::WOOD);
        for (cells, kind) in self.items.iter().zip(item::EXTRA_BOMB..) {
            paint(*cells, kind);
        }
        paint(self.bomb_cells(), item::BOMB);
        paint(self.flame_cells(), item::FLAMES);
        for (agent, value) in self.agents.iter().zip(item::AGENT0..).filter(|(agent, _)| agent.alive) {
            paint(bit(agent.cell), value);
        }
        board
    }

    /// Returns the items that are not visible yet, row-major, 0 for none.
    pub fn hidden_items(&self) -> [u8; MAX_CELLS] {
        let mut items = [0; MAX_CELLS];
        for (cells, kind) in self.hidden.iter().zip(item::EXTRA_BOMB..) {
            iter(*cells).for_each(|cell| items[cell as usize] = kind);
        }
        items
    }

    /// Returns cell and life of every flame, oldest first, then row-major.
    pub fn flame_list(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        self.flames.iter().zip(0u8..).flat_map(|(cells, life)| iter(*cells).map(move |cell| (cell, life)))
    }

    /// Returns a 64-bit hash of everything that the rest of the game depends on, regardless of the order of bombs.
    pub fn hash(&self) -> u64 {
        let rules = &self.rules;
        let mut hash = mix(u64::from(self.killed_by_walls) << 17 | u64::from(self.step) << 1 | u64::from(self.done))
            ^ mix(u64::from(rules.game_type as u8 | u8::from(rules.timeout_is_loss) << 6) << 56
                | u64::from(rules.board_size) << 48
                | u64::from(rules.view) << 40
                | u64::from(rules.blast_cap) << 32
                | u64::from(rules.first_collapse) << 16
                | u64::from(rules.max_steps))
            .rotate_left(1);
        let layers = [self.rigid, self.wood].into_iter().chain(self.items).chain(self.hidden).chain(self.flames);
        for layer in layers {
            hash = mix(hash ^ layer as u64).wrapping_add((layer >> 64) as u64);
        }
        for agent in &self.agents {
            let flags = u32::from(agent.can_kick) << 1 | u32::from(agent.alive);
            let word = u32::from(agent.cell) << 24 | u32::from(agent.ammo) << 16 | u32::from(agent.blast) << 8 | flags;
            hash = mix(hash ^ u64::from(word));
        }
        let bombs = self.bombs().iter().fold(0u64, |sum, bomb| {
            let low = u32::from_le_bytes([bomb.cell, bomb.owner, bomb.life, bomb.blast]);
            sum.wrapping_add(mix(u64::from(low) | u64::from(bomb.direction + 1) << 32))
        });
        mix(hash ^ bombs)
    }
}

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014), on a shifted input so that 0 is not a fixed point.
#[inline]
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
