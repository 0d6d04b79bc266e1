//! Replays recorded games of the reference: the schema of `pommerman-trace-v1`, one flat slice per array.

use crate::geometry::OFF;
use crate::sight::Sight;
use crate::simple_agent::{distribution, Memory};
use crate::state::{Agent, Bomb, Parts, State};
use crate::variant::Rules;
use crate::MAX_PLAYERS;

/// Recorded games, row by row; in row `i` of a game, `actions[i]` leads to row `i + 1`.
#[derive(Clone, Copy)]
pub struct Trace<'a> {
    pub rules: Rules,
    /// `[G + 1]`, the first row of each game, and the end of the last.
    pub game_off: &'a [i32],
    /// `[N]`.
    pub step: &'a [i16],
    /// `[N, n * n]`.
    pub board: &'a [u8],
    pub items: &'a [u8],
    /// `[N, A, 6]`: row, column, ammo, strength, kick, alive.
    pub agents: &'a [i8],
    /// `[*, 6]`: row, column, owner, life, strength, direction; `bomb_off` `[N + 1]` has the offsets by row.
    pub bombs: &'a [i8],
    pub bomb_off: &'a [i32],
    /// `[*, 3]`: row, column, life; `flame_off` `[N + 1]` has the offsets by row.
    pub flames: &'a [i8],
    pub flame_off: &'a [i32],
    /// `[N, A]`.
    pub actions: &'a [i8],
    pub rewards: &'a [i8],
    /// `[N]`.
    pub done: &'a [u8],
    pub result: &'a [u8],
}

impl Trace<'_> {
    pub fn num_games(&self) -> usize {
        self.game_off.len().saturating_sub(1)
    }

    /// Returns the recorded state of a row.
    pub fn state(&self, row: usize) -> Result<State, String> {
        let n = self.rules.board_size;
        let cells = n as usize * n as usize;
        let cell = |row, column| cell(n, row, column);
        let num_players = self.rules.num_players();
        let agent = |numbers: &[i8]| Agent {
            cell: cell(numbers[0], numbers[1]),
            ammo: numbers[2] as u8,
            blast: numbers[3] as u8,
            can_kick: numbers[4] != 0,
            alive: numbers[5] != 0,
        };
        let bomb = |numbers: &[i8]| Bomb {
            cell: cell(numbers[0], numbers[1]),
            owner: numbers[2] as u8,
            life: numbers[3] as u8,
            blast: numbers[4] as u8,
            direction: numbers[5] as u8,
        };
        let agents = slice(self.agents, row * num_players * 6, (row + 1) * num_players * 6, "agents")?;
        let agents: Vec<Agent> = agents.chunks_exact(6).map(agent).collect();
        let bombs: Vec<Bomb> =
            slice(self.bombs, 6 * self.offset(self.bomb_off, row)?, 6 * self.offset(self.bomb_off, row + 1)?, "bombs")?
                .chunks_exact(6)
                .map(bomb)
                .collect();
        let (start, end) = (self.offset(self.flame_off, row)?, self.offset(self.flame_off, row + 1)?);
        let flames = slice(self.flames, 3 * start, 3 * end, "flames")?.chunks_exact(3);
        let flames: Vec<(u8, u8)> = flames.map(|flame| (cell(flame[0], flame[1]), flame[2] as u8)).collect();
        let step = self.step.get(row).copied().ok_or("expected a step for every row")?;
        State::from_parts(&Parts {
            rules: self.rules,
            step: u16::try_from(step).map_err(|_| format!("expected a step of at least 0, got {step}"))?,
            board: slice(self.board, row * cells, (row + 1) * cells, "board")?,
            hidden: slice(self.items, row * cells, (row + 1) * cells, "items")?,
            agents: &agents,
            bombs: &bombs,
            flames: &flames,
        })
    }

    /// Replays all games from their first rows; returns the number of steps and one line per game that differs.
    pub fn replay(&self) -> Result<(usize, Vec<String>), String> {
        let mut steps = 0;
        let mut mismatches = Vec::new();
        for game in 0..self.num_games() {
            let (first, end) = (self.offset(self.game_off, game)?, self.offset(self.game_off, game + 1)?);
            let mut state = self.state(first)?;
            for row in first..end.saturating_sub(1) {
                steps += 1;
                if let Some(difference) = self.difference(&mut state, row)? {
                    mismatches.push(format!("game {game}, step {} of row {row}: {difference}", state.step_count()));
                    break;
                }
            }
        }
        Ok((steps, mismatches))
    }

    /// Plays the actions of a row and returns the first difference to the next row.
    fn difference(&self, state: &mut State, row: usize) -> Result<Option<String>, String> {
        let num_players = self.rules.num_players();
        let mut actions = [0; MAX_PLAYERS];
        let recorded = slice(self.actions, row * num_players, (row + 1) * num_players, "actions")?;
        actions.iter_mut().zip(recorded).for_each(|(action, &number)| *action = number as u8);
        let outcome = state.step(actions);

        let next = row + 1;
        let expected = self.state(next)?;
        let rewards = slice(self.rewards, next * num_players, (next + 1) * num_players, "rewards")?;
        let num_cells = state.geometry().num_cells();
        let board = slice(self.board, next * num_cells, (next + 1) * num_cells, "board")?;
        let flames_of = |state: &State| state.flame_list().collect::<Vec<_>>();
        let checks = [
            ("step", state.step == expected.step),
            ("board", &state.board()[..num_cells] == board),
            ("hidden items", state.hidden_items() == expected.hidden_items()),
            ("agents", state.agents() == expected.agents()),
            ("bombs", state.bombs() == expected.bombs()),
            ("flames", flames_of(state) == flames_of(&expected)),
            (
                "number of flames",
                flames_of(state).len() == self.offset(self.flame_off, next + 1)? - self.offset(self.flame_off, next)?,
            ),
            ("rewards", &outcome.rewards[..num_players] == rewards),
            ("done", self.done.get(next) == Some(&u8::from(outcome.done))),
            ("result", self.result.get(next) == Some(&(outcome.ending as u8))),
        ];
        Ok(checks.iter().find(|(_, is_equal)| !is_equal).map(|(name, _)| {
            format!("expected {name} as recorded, got another\n{}recorded\n{}", state.to_text(), expected.to_text())
        }))
    }

    fn offset(&self, offsets: &[i32], index: usize) -> Result<usize, String> {
        let offset = offsets.get(index).ok_or("expected one offset more than rows")?;
        usize::try_from(*offset).map_err(|_| format!("expected offsets of at least 0, got {offset}"))
    }
}

/// Recorded decisions of the reference's SimpleAgent: the schema of `pommerman-simpleagent-v1`.
#[derive(Clone, Copy)]
pub struct Decisions<'a> {
    pub size: u8,
    /// `[S, n * n]`.
    pub board: &'a [u8],
    pub bomb_blast_strength: &'a [u8],
    /// `[S, 2]`: row, column.
    pub position: &'a [i8],
    /// `[S]`.
    pub ammo: &'a [i8],
    pub blast_strength: &'a [i8],
    /// `[S, 3]`, item values, padded with 0.
    pub enemies: &'a [u8],
    /// `[S]`: -1 none, 1 up, 2 down, 3 left, 4 right.
    pub prev_direction: &'a [i8],
    /// `[S, 6, 2]`: rows and columns, oldest first; the first `recent_len` `[S]` of them are valid.
    pub recent: &'a [i8],
    pub recent_len: &'a [i8],
}

/// Action, new previous direction (-1 none), whether the own position was recorded, and the probability.
pub type DecisionRow = (i8, i8, bool, f64);

impl Decisions<'_> {
    pub fn len(&self) -> usize {
        self.ammo.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ammo.is_empty()
    }

    /// Returns the exact distribution of one decision, as sorted rows.
    pub fn distribution(&self, sample: usize) -> Result<Vec<DecisionRow>, String> {
        let cells = self.size as usize * self.size as usize;
        let cell = |coordinates: &[i8]| cell(self.size, coordinates[0], coordinates[1]);
        let enemies = slice(self.enemies, 3 * sample, 3 * sample + 3, "enemies")?;
        let enemies: Vec<u8> = enemies.iter().copied().filter(|&value| value != 0).collect();
        let number = |numbers: &[i8]| numbers.get(sample).copied().ok_or("expected one number per sample");
        let sight = Sight::from_observation(
            slice(self.board, sample * cells, (sample + 1) * cells, "board")?,
            slice(self.bomb_blast_strength, sample * cells, (sample + 1) * cells, "bomb_blast_strength")?,
            cell(slice(self.position, 2 * sample, 2 * sample + 2, "position")?),
            number(self.ammo)? as u8,
            number(self.blast_strength)? as u8,
            &enemies,
        )?;
        let num_recent = usize::try_from(number(self.recent_len)?).map_err(|_| "expected recent_len of at least 0")?;
        let recent = slice(self.recent, 12 * sample, 12 * sample + 2 * num_recent, "recent")?;
        let recent: Vec<u8> = recent.chunks_exact(2).map(cell).collect();
        let memory = Memory::new(number(self.prev_direction)?.max(0) as u8, &recent)?;
        let direction = |previous: u8| if previous == 0 { -1 } else { previous as i8 };
        let row = |p: crate::simple_agent::Possibility| {
            (p.action as i8, direction(p.memory.previous), p.appended, p.probability)
        };
        let mut rows: Vec<DecisionRow> = distribution(&sight, &memory).into_iter().map(row).collect();
        rows.sort_by_key(|row| (row.0, row.1, row.2));
        Ok(rows)
    }
}

/// Returns a cell, or `OFF` outside the board, which makes building a state or a sight fail.
fn cell(size: u8, row: i8, column: i8) -> u8 {
    match (u8::try_from(row), u8::try_from(column)) {
        (Ok(row), Ok(column)) if row < size && column < size => row * size + column,
        _ => OFF,
    }
}

fn slice<'a, T>(array: &'a [T], start: usize, end: usize, name: &str) -> Result<&'a [T], String> {
    array.get(start..end).ok_or_else(|| format!("expected {name} up to number {end}, got {}", array.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision<'a>(position: &'a [i8], recent_len: &'a [i8]) -> Decisions<'a> {
        Decisions {
            size: 3,
            board: &[0, 0, 0, 0, 10, 0, 0, 0, 0],
            bomb_blast_strength: &[0; 9],
            position,
            ammo: &[1],
            blast_strength: &[2],
            enemies: &[11, 0, 0],
            prev_direction: &[-1],
            recent: &[1; 12],
            recent_len,
        }
    }

    #[test]
    fn decisions_off_the_board_are_errors() {
        let probabilities = |rows: Vec<DecisionRow>| rows.iter().map(|row| row.3).sum::<f64>();
        assert!((probabilities(decision(&[1, 1], &[1]).distribution(0).unwrap()) - 1.0).abs() < 1e-12);
        for invalid in [[1, 3], [3, 1], [-1, 1], [1, -1], [0, 4], [86, 2]] {
            assert!(decision(&invalid, &[1]).distribution(0).is_err(), "{invalid:?}");
        }
        for invalid in [-1, 7] {
            assert!(decision(&[1, 1], &[invalid]).distribution(0).is_err(), "{invalid}");
        }
    }
}
