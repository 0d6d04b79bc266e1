//! Reads the games of a piece of PGN.

use std::io::{Cursor, Seek};
use std::ops::ControlFlow;

use pgn_reader::{Outcome, RawTag, Reader, SanPlus, Skip, Visitor};

use super::chunks::{next_game, Chunk};
use super::filter::{result, Filter, Header, Rejection};
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
    /// Where the game starts in its file.
    pub line: u64,
}

/// A game that could not be read.
#[derive(Clone, Debug)]
pub struct Damage {
    pub line: u64,
    pub reason: String,
}

/// Games, the positions of all of them one after the other, and what was left out.
#[derive(Clone, Debug, Default)]
pub struct Games {
    pub games: Vec<Game>,
    /// `Compact::BYTES` each.
    pub positions: Vec<u8>,
    /// The policy index of the move played in each position.
    pub actions: Vec<u16>,
    /// Games that the filter left out, by `Rejection`.
    pub rejected: [u64; Rejection::ALL.len()],
    pub damaged: Vec<Damage>,
}

impl Games {
    /// Returns the games of both, `other` behind.
    pub fn joined(mut self, mut other: Self) -> Self {
        self.games.append(&mut other.games);
        self.positions.append(&mut other.positions);
        self.actions.append(&mut other.actions);
        self.damaged.append(&mut other.damaged);
        self.rejected.iter_mut().zip(other.rejected).for_each(|(sum, count)| *sum += count);
        self
    }

    fn add(&mut self, line: u64, read: Read) {
        match read {
            Read::Game { header, result, plies } => {
                self.games.push(Game { len: plies as u32, result, date: header.date, elo: header.elo, line })
            }
            Read::Rejected(rejection) => self.rejected[rejection as usize] += 1,
            Read::Damaged(reason) => self.damaged.push(Damage { line, reason }),
        }
    }
}

/// A longer tag damages its game.
const TAG_LINE: usize = 4096;

/// Reads all games of a chunk. A game counts as far as the rules let it go on: what follows a position in which the
/// game is over, as after a third repetition that nobody claimed, is left out.
pub fn read_games(chunk: &Chunk, rules: Rules, filter: &Filter) -> Games {
    let text = chunk.text.as_slice();
    let mut games = Games::default();
    let mut place = Place { line: chunk.line, offset: 0 };
    let mut start = Some(0);
    while let Some(from) = start {
        let mut reader = Reader::build(Cursor::new(&text[from..])).set_supported_tag_line_length(TAG_LINE).finish();
        let error = loop {
            match reader.has_more() {
                Ok(true) => {}
                Ok(false) => return games,
                Err(error) => break error,
            }
            place.advance(text, from, &mut reader);
            let (positions, actions) = (games.positions.len(), games.actions.len());
            let read = reader.read_game(&mut GameVisitor { games: &mut games, rules, filter });
            if !matches!(read, Ok(Some(Read::Game { .. }))) {
                games.positions.truncate(positions);
                games.actions.truncate(actions);
            }
            match read {
                Ok(Some(read)) => games.add(place.line, read),
                Ok(None) => return games,
                Err(error) => break error,
            }
        };
        games.add(place.line, Read::Damaged(error.to_string()));
        place.advance(text, from, &mut reader);
        start = next_game(&text[place.offset..]).map(|further| place.offset + further);
    }
    games
}

/// A line and the byte it was counted for.
struct Place {
    line: u64,
    offset: usize,
}

impl Place {
    /// Moves on to where the reader stands, which began `from` bytes into the text.
    fn advance(&mut self, text: &[u8], from: usize, reader: &mut Reader<Cursor<&[u8]>>) {
        let read = reader.stream_position().map_or(0, |read| read as usize);
        let offset = (from + read).clamp(self.offset, text.len());
        self.line += text[self.offset..offset].iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.offset = offset;
    }
}

enum Read {
    Game { header: Header, result: i8, plies: usize },
    Rejected(Rejection),
    Damaged(String),
}

struct GameVisitor<'a> {
    games: &'a mut Games,
    rules: Rules,
    filter: &'a Filter,
}

struct Moves {
    header: Header,
    state: Chess,
    /// Whether the rules have ended the game, though its players may have gone on.
    is_over: bool,
    plies: usize,
    outcome: Option<Outcome>,
}

impl Visitor for GameVisitor<'_> {
    type Tags = Header;
    type Movetext = Moves;
    type Output = Read;

    fn begin_tags(&mut self) -> ControlFlow<Read, Header> {
        ControlFlow::Continue(Header::default())
    }

    fn tag(&mut self, header: &mut Header, name: &[u8], value: RawTag<'_>) -> ControlFlow<Read> {
        header.read(name, &value.decode_utf8_lossy());
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, header: Header) -> ControlFlow<Read, Moves> {
        if let Some(rejection) = self.filter.rejects(&header, self.rules.variant) {
            return ControlFlow::Break(Read::Rejected(rejection));
        }
        let state = match &header.fen {
            None => Chess::new(self.rules),
            Some(fen) => match notation::parse_position(fen, &self.rules) {
                Ok(position) => Chess::from_position(position, self.rules),
                Err(error) => return ControlFlow::Break(Read::Damaged(error)),
            },
        };
        ControlFlow::Continue(Moves { header, state, is_over: false, plies: 0, outcome: None })
    }

    fn san(&mut self, moves: &mut Moves, san: SanPlus) -> ControlFlow<Read> {
        let Ok(m) = san.san.to_move(moves.state.position()) else {
            let number = moves.state.position_number();
            return ControlFlow::Break(Read::Damaged(format!("illegal move {number}{san}")));
        };
        moves.is_over |= moves.state.is_over();
        if !moves.is_over {
            self.games.positions.extend_from_slice(&Compact::of(&moves.state).to_bytes());
            self.games.actions.push(moves.state.action(m) as u16);
            moves.plies += 1;
        }
        moves.state.play_move(m);
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, _: &mut Moves) -> ControlFlow<Read, Skip> {
        ControlFlow::Continue(Skip(true))
    }

    fn outcome(&mut self, moves: &mut Moves, outcome: Outcome) -> ControlFlow<Read> {
        moves.outcome = Some(outcome);
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, moves: Moves) -> Read {
        let Some(outcome) = moves.outcome else {
            return Read::Damaged("the moves end without a result".to_owned());
        };
        let written = outcome.known().map(|known| result(known.winner()));
        let result = moves.header.result.or(written);
        match (self.filter.rejects_game(result, moves.plies), result) {
            (None, Some(result)) => Read::Game { header: moves.header, result, plies: moves.plies },
            (rejection, _) => Read::Rejected(rejection.unwrap_or(Rejection::Result)),
        }
    }
}
