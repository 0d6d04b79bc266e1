//! Reading the games of a chunk of PGN.

use super::chunks::Chunk;
use super::filter::{Filter, Header, Rejection};
use super::scanner::{Scanner, Token};
use crate::compact::Compact;
use crate::notation;
use crate::state::Chess;
use crate::variant::Rules;

/// One game; its positions are `len` rows of `Games`.
#[derive(Clone, Copy, Debug)]
pub struct Game {
    pub len: u32,
    pub result: i8,
    pub date: u32,
    pub elo: [u16; 2],
    /// The line where the game starts in its file.
    pub line: u64,
}

/// A game that could not be read.
#[derive(Clone, Debug)]
pub struct Damage {
    pub line: u64,
    pub reason: String,
}

/// Games, the positions of all of them in sequence, and what was excluded.
#[derive(Clone, Debug, Default)]
pub struct Games {
    pub games: Vec<Game>,
    /// `Compact::BYTES` per position.
    pub positions: Vec<u8>,
    /// The policy index of the move played in each position.
    pub actions: Vec<u16>,
    /// Number of games excluded by the filter, by `Rejection`.
    pub rejected: [u64; Rejection::ALL.len()],
    pub damaged: Vec<Damage>,
}

impl Games {
    /// Returns the games of both, those of `other` last.
    pub fn concatenate(mut self, mut other: Self) -> Self {
        self.games.append(&mut other.games);
        self.positions.append(&mut other.positions);
        self.actions.append(&mut other.actions);
        self.damaged.append(&mut other.damaged);
        self.rejected.iter_mut().zip(other.rejected).for_each(|(sum, count)| *sum += count);
        self
    }

    fn add(&mut self, line: u64, read: ReadResult) {
        match read {
            ReadResult::Game { header, result, plies } => {
                self.games.push(Game { len: plies as u32, result, date: header.date, elo: header.elo, line })
            }
            ReadResult::Rejected(rejection) => self.rejected[rejection as usize] += 1,
            ReadResult::Damaged(reason) => self.damaged.push(Damage { line, reason }),
        }
    }
}

/// Reads all games of a chunk. Moves after the rules have ended a game, such as after a threefold repetition that
/// nobody claimed, are dropped.
pub fn read_games(chunk: &Chunk, rules: Rules, filter: &Filter) -> Games {
    let mut games = Games::default();
    let mut scanner = Scanner::new(&chunk.text);
    let (mut line, mut counted_to) = (chunk.line, 0);
    while scanner.next_game() {
        line += chunk.text[counted_to..scanner.offset()].iter().filter(|&&byte| byte == b'\n').count() as u64;
        counted_to = scanner.offset();
        let (positions, actions) = (games.positions.len(), games.actions.len());
        let read = read_game(&mut scanner, &mut games, rules, filter).unwrap_or_else(|rejected| rejected);
        if !matches!(read, ReadResult::Game { .. }) {
            games.positions.truncate(positions);
            games.actions.truncate(actions);
        }
        games.add(line, read);
    }
    games
}

enum ReadResult {
    Game { header: Header, result: i8, plies: usize },
    Rejected(Rejection),
    Damaged(String),
}

/// Reads a game and adds its positions; on an error, the caller has to remove what was added.
fn read_game(
    scanner: &mut Scanner,
    games: &mut Games,
    rules: Rules,
    filter: &Filter,
) -> Result<ReadResult, ReadResult> {
    let mut header = Header::default();
    while let Some((name, value)) = scanner.tag() {
        header.read_tag(name, &value);
    }
    if let Some(rejection) = filter.header_rejection(&header, rules.variant) {
        return Err(ReadResult::Rejected(rejection));
    }
    let mut state = match &header.fen {
        None => Chess::new(rules),
        Some(fen) => Chess::from_position(notation::parse_position(fen, &rules).map_err(ReadResult::Damaged)?, rules),
    };
    // Whether the rules have ended the game, even if its players went on.
    let mut is_over = false;
    let (mut plies, mut outcome) = (0, None);
    while let Some(token) = scanner.token().map_err(|_| ReadResult::Damaged("a comment has no end".to_owned()))? {
        match token {
            Token::Outcome(winner) => outcome = Some(winner),
            Token::Move(written, text) => {
                let m = written.to_move(state.position()).ok_or_else(|| {
                    let text = String::from_utf8_lossy(text);
                    ReadResult::Damaged(format!("illegal move {}{text}", state.position_number()))
                })?;
                is_over |= state.is_over();
                if is_over {
                    // Its history counts no more, and may be of any length: every move would look through all of it.
                    state = Chess::from_position(state.position().clone(), rules);
                } else {
                    games.positions.extend_from_slice(&Compact::of(&state).to_bytes());
                    games.actions.push(state.action(m) as u16);
                    plies += 1;
                }
                state.play_move(m);
            }
        }
    }
    let Some(outcome) = outcome else {
        return Err(ReadResult::Damaged("the moves end without a result".to_owned()));
    };
    let result = header.result.or(outcome);
    match (filter.game_rejection(result, plies), result) {
        (None, Some(result)) => Ok(ReadResult::Game { header, result, plies }),
        (rejection, _) => Err(ReadResult::Rejected(rejection.unwrap_or(Rejection::Result))),
    }
}
