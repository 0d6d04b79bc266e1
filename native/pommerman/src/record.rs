//! States as bytes: an exact, versioned record of about 100 bytes, used by datasets and saved games.
//!
//! ```text
//! 0      version                       11..   per player: cell, ammo | fallen << 5 | kick << 6 | alive << 7, blast
//! 1      game type | flags             then   n * n nibbles, low one first: 0 passage, 1 rigid, 2 wood,
//! 2      board size                           3-5 visible item, 6-8 item under wood, 9-11 hidden item elsewhere
//! 3      view                          then   number of bombs; each: cell, life | blast << 4, owner | direction << 4
//! 4      blast cap                     then   number of burning cells; each: cell, one bit per life of its flames
//! 5..11  first collapse, max steps, step (little endian)
//! flags  0x40 a timeout is a loss, 0x80 over
//! fallen died by walls at the end of the step that ended the game
//! ```

use crate::geometry::{has, iter, MAX_CELLS};
use crate::state::{Agent, Bomb, Parts, State};
use crate::variant::{GameType, Rules};
use crate::{item, MAX_PLAYERS};

const VERSION: u8 = 1;
const TIMEOUT_IS_LOSS: u8 = 0x40;
const OVER: u8 = 0x80;

impl State {
    /// Returns the state as bytes; [`State::unpack`] restores an equal state.
    pub fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        let rules = &self.rules;
        let flags = (u8::from(rules.timeout_is_loss) * TIMEOUT_IS_LOSS) | (u8::from(self.done) * OVER);
        bytes.extend([VERSION, rules.game_type as u8 | flags]);
        bytes.extend([rules.board_size, rules.view, rules.blast_cap]);
        for number in [rules.first_collapse, rules.max_steps, self.step] {
            bytes.extend(number.to_le_bytes());
        }
        for (player, agent) in self.agents().iter().enumerate() {
            let killed_by_walls = self.killed_by_walls >> player & 1;
            let flags = killed_by_walls << 5 | u8::from(agent.can_kick) << 6 | u8::from(agent.alive) << 7;
            bytes.extend([agent.cell, agent.ammo | flags, agent.blast]);
        }
        let num_cells = self.geometry().num_cells() as u8;
        for cell in (0..num_cells).step_by(2) {
            let high = if cell + 1 < num_cells { self.nibble(cell + 1) } else { 0 };
            bytes.push(self.nibble(cell) | high << 4);
        }
        bytes.push(self.num_bombs);
        for bomb in self.bombs() {
            bytes.extend([bomb.cell, bomb.life | bomb.blast << 4, bomb.owner | bomb.direction << 4]);
        }
        let flame_cells = self.flame_cells();
        bytes.push(flame_cells.count_ones() as u8);
        for cell in iter(flame_cells) {
            let lives = (0..3).map(|life| u8::from(has(self.flames[life], cell)) << life).sum();
            bytes.extend([cell, lives]);
        }
        bytes
    }

    fn nibble(&self, cell: u8) -> u8 {
        let kind = |layers: &[u128; 3]| layers.iter().position(|&layer| has(layer, cell)).map(|kind| kind as u8);
        if has(self.rigid, cell) {
            return 1;
        }
        match (has(self.wood, cell), kind(&self.hidden), kind(&self.items)) {
            (true, None, _) => 2,
            (true, Some(kind), _) => 6 + kind,
            (false, Some(kind), _) => 9 + kind,
            (false, None, Some(kind)) => 3 + kind,
            (false, None, None) => 0,
        }
    }

    /// Returns the state of a record; the error describes what is wrong with the bytes.
    pub fn unpack(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = Reader(bytes);
        let version = reader.byte()?;
        if version != VERSION {
            return Err(format!("expected a record of version {VERSION}, got version {version}"));
        }
        let kind = reader.byte()?;
        let game_type = GameType::from_number(kind & !(TIMEOUT_IS_LOSS | OVER))
            .ok_or("expected a game type of 1..=4 in the record")?;
        let [board_size, view, blast_cap] = [reader.byte()?, reader.byte()?, reader.byte()?];
        let [first_collapse, max_steps, step] = [reader.number()?, reader.number()?, reader.number()?];
        let timeout_is_loss = kind & TIMEOUT_IS_LOSS != 0;
        let rules = Rules { game_type, board_size, view, blast_cap, first_collapse, max_steps, timeout_is_loss };
        rules.check()?;
        let num_cells = board_size as usize * board_size as usize;
        let over = kind & OVER != 0;
        let mut agents = [Agent::default(); MAX_PLAYERS];
        let mut killed_by_walls = 0;
        for (player, agent) in agents[..rules.num_players()].iter_mut().enumerate() {
            let [cell, ammo, blast] = [reader.byte()?, reader.byte()?, reader.byte()?];
            *agent = Agent { cell, ammo: ammo & 0x1f, blast, can_kick: ammo & 0x40 != 0, alive: ammo & 0x80 != 0 };
            if ammo & 0x20 != 0 {
                if agent.alive || !over || rules.ring_at(step).is_none() {
                    return Err(format!("expected the last walls to kill where a game is over, got player {player}"));
                }
                killed_by_walls |= 1 << player;
            }
        }
        let (mut board, mut hidden) = ([0; MAX_CELLS], [0; MAX_CELLS]);
        for pair in 0..num_cells.div_ceil(2) {
            let byte = reader.byte()?;
            for (cell, nibble) in [(2 * pair, byte & 15), (2 * pair + 1, byte >> 4)] {
                if cell >= num_cells {
                    continue;
                }
                (board[cell], hidden[cell]) = match nibble {
                    0..=2 => (nibble, 0),
                    3..=5 => (item::EXTRA_BOMB + nibble - 3, 0),
                    6..=8 => (item::WOOD, item::EXTRA_BOMB + nibble - 6),
                    9..=11 => (item::PASSAGE, item::EXTRA_BOMB + nibble - 9),
                    _ => return Err(format!("expected 0..=11 for cell {cell} of the record, got {nibble}")),
                };
            }
        }
        let num_bombs = reader.byte()? as usize;
        let mut bombs = Vec::with_capacity(num_bombs);
        for _ in 0..num_bombs {
            let [cell, fuse, owner] = [reader.byte()?, reader.byte()?, reader.byte()?];
            bombs.push(Bomb { cell, owner: owner & 15, life: fuse & 15, blast: fuse >> 4, direction: owner >> 4 });
        }
        let mut flames = Vec::new();
        for _ in 0..reader.byte()? {
            let [cell, lives] = [reader.byte()?, reader.byte()?];
            flames.extend((0..3).filter(|life| lives >> life & 1 == 1).map(|life| (cell, life)));
        }
        if !reader.0.is_empty() {
            return Err(format!("expected the end of the record, got {} more bytes", reader.0.len()));
        }
        let agents = &agents[..rules.num_players()];
        let (board, hidden) = (&board[..num_cells], &hidden[..num_cells]);
        let mut state =
            Self::from_parts(&Parts { rules, step, board, hidden, agents, bombs: &bombs, flames: &flames })?;
        (state.done, state.killed_by_walls) = (over, killed_by_walls);
        Ok(state)
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, String> {
        let (first, rest) = self.0.split_first().ok_or("expected more bytes: the record is cut off")?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u16, String> {
        Ok(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }
}
