//! A state as text, for terminals and error reports.

use crate::geometry::MAX_CELLS;
use crate::item;
use crate::state::State;

impl State {
    /// Returns the board as lines of text, one character per cell, with the players below.
    ///
    /// `#` rigid, `+` wood, `.` passage, `*` flames, `1`-`9` a bomb with its remaining life, `b` `r` `k` the items
    /// ExtraBomb, IncrRange, Kick, `A`-`D` the living players (which hide a bomb on the same cell).
    pub fn to_text(&self) -> String {
        let n = self.board_size();
        let board = self.board();
        let mut lives = [0u8; MAX_CELLS];
        for bomb in self.bombs() {
            lives[bomb.cell as usize] = bomb.life;
        }
        let mut text = format!("step {}\n", self.step);
        for row in 0..n {
            let line: Vec<String> =
                (0..n).map(|column| symbol(board[row * n + column], lives[row * n + column])).collect();
            text.push_str(&line.join(" "));
            text.push('\n');
        }
        for (player, agent) in self.agents().iter().enumerate() {
            let letter = char::from(b'A' + player as u8);
            let kick = if agent.can_kick { ", kicks" } else { "" };
            let life = if agent.alive { "" } else { ", dead" };
            text.push_str(&format!("{letter}: ammo {}, strength {}{kick}{life}\n", agent.ammo, agent.blast));
        }
        text
    }
}

fn symbol(value: u8, bomb_life: u8) -> String {
    let symbol = match value {
        item::PASSAGE => '.',
        item::RIGID => '#',
        item::WOOD => '+',
        item::BOMB => char::from(b'0' + bomb_life.min(9)),
        item::FLAMES => '*',
        item::EXTRA_BOMB => 'b',
        item::INCR_RANGE => 'r',
        item::KICK => 'k',
        item::FOG => '?',
        player => char::from(b'A' + (player - item::AGENT0)),
    };
    symbol.to_string()
}
