//! Moves as written by people and programs: SAN, with every deviation that python-chess accepts.

use shakmaty::uci::UciMove;
use shakmaty::variant::VariantPosition;
use shakmaty::{CastlingSide, File, Move, Position, Rank, Role, Square};

/// A move as it is written, legal or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenMove {
    Normal {
        role: Option<Role>,
        file: Option<File>,
        rank: Option<Rank>,
        to: Square,
        promotion: Option<Role>,
    },
    Castle(CastlingSide),
    Put {
        role: Role,
        to: Square,
    },
    /// A null move, which is never legal here.
    Null,
}

impl WrittenMove {
    /// Parses the move at the beginning of a text, and returns it with its length.
    ///
    /// Accepts what the regular expressions of python-chess 1.11 match (chess/pgn.py, MOVETEXT_REGEX): captures need no
    /// `x` and other moves may have one or a `-`, origins may be given in full, promotions need no `=` and may be in
    /// lower case, castling may be written with zeros. Check signs are not consumed.
    pub fn read(text: &[u8]) -> Option<(Self, usize)> {
        read_normal(text).or_else(|| read_drop(text)).or_else(|| read_null(text)).or_else(|| read_castling(text))
    }

    /// Returns the only legal move that matches.
    ///
    /// As in `Board.parse_san` of python-chess, captures are not compared, and a full origin matches a move of any
    /// piece, including castling.
    pub fn to_move(self, position: &VariantPosition) -> Option<Move> {
        match self {
            Self::Normal { role: None, file: Some(file), rank: Some(rank), to, promotion } => {
                UciMove::Normal { from: Square::from_coords(file, rank), to, promotion }.to_move(position).ok()
            }
            Self::Normal { role, file, rank, to, promotion } => {
                // A capturing pawn is identified by its file.
                let file = if role.is_none() { file.or(Some(to.file())) } else { file };
                let is_origin = |from: Square| {
                    file.is_none_or(|file| file == from.file()) && rank.is_none_or(|rank| rank == from.rank())
                };
                let candidates = position.san_candidates(role.unwrap_or(Role::Pawn), to);
                let mut matching = candidates.into_iter().filter(|m| match *m {
                    Move::Normal { from, promotion: into, .. } => is_origin(from) && into == promotion,
                    Move::EnPassant { from, .. } => is_origin(from) && promotion.is_none(),
                    _ => false,
                });
                matching.next().filter(|_| matching.next().is_none())
            }
            Self::Castle(side) => position.castling_moves(side).first().copied(),
            Self::Put { role, to } => {
                let candidates = position.san_candidates(role, to);
                candidates.into_iter().find(|m| matches!(m, Move::Put { .. }))
            }
            Self::Null => None,
        }
    }
}

/// Parses a move of a piece or pawn: `[NBKRQ]?[a-h]?[1-8]?[-x]?[a-h][1-8](=?[nbrqkNBRQK])?`.
fn read_normal(text: &[u8]) -> Option<(WrittenMove, usize)> {
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    let options = |is_there: bool| (0..=usize::from(is_there)).rev();
    // Optional parts are matched greedily with backtracking, as in regular expressions.
    for piece in options(b"NBKRQ".contains(&at(0))) {
        for file in options(is_file(at(piece))) {
            for rank in options(is_rank(at(piece + file))) {
                for sign in options(b"-x".contains(&at(piece + file + rank))) {
                    let start = piece + file + rank + sign;
                    let Some(to) = square(at(start), at(start + 1)) else { continue };
                    let equals = usize::from(at(start + 2) == b'=');
                    let into = at(start + 2 + equals);
                    let promotion =
                        if b"nbrqkNBRQK".contains(&into) { Role::from_char(char::from(into)) } else { None };
                    let written = WrittenMove::Normal {
                        role: if piece == 1 { Role::from_char(char::from(at(0))) } else { None },
                        file: if file == 1 { File::from_char(char::from(at(piece))) } else { None },
                        rank: if rank == 1 { Rank::from_char(char::from(at(piece + file))) } else { None },
                        to,
                        promotion,
                    };
                    return Some((written, start + 2 + promotion.map_or(0, |_| equals + 1)));
                }
            }
        }
    }
    None
}

/// Parses a drop: `[PNBRQK]?@[a-h][1-8]`.
fn read_drop(text: &[u8]) -> Option<(WrittenMove, usize)> {
    let piece = usize::from(text.first().is_some_and(|byte| b"PNBRQK".contains(byte)));
    if text.get(piece) != Some(&b'@') {
        return None;
    }
    let to = square(*text.get(piece + 1)?, *text.get(piece + 2)?)?;
    let role = if piece == 1 { Role::from_char(char::from(text[0]))? } else { Role::Pawn };
    Some((WrittenMove::Put { role, to }, piece + 3))
}

fn read_null(text: &[u8]) -> Option<(WrittenMove, usize)> {
    let word = [&b"--"[..], b"Z0", b"0000", b"@@@@"].into_iter().find(|word| text.starts_with(word))?;
    Some((WrittenMove::Null, word.len()))
}

/// Reads castling with letters or zeros, joined by any dash.
fn read_castling(text: &[u8]) -> Option<(WrittenMove, usize)> {
    let letter = *text.first().filter(|&byte| b"O0".contains(byte))?;
    let letter_after = |from: usize| {
        let end = from + dash(&text[from..])?;
        (text.get(end) == Some(&letter)).then_some(end + 1)
    };
    let short = letter_after(1)?;
    Some(match letter_after(short) {
        Some(long) => (WrittenMove::Castle(CastlingSide::QueenSide), long),
        None => (WrittenMove::Castle(CastlingSide::KingSide), short),
    })
}

/// Returns the length of the hyphen, en dash or em dash at the beginning of a text.
pub fn dash(text: &[u8]) -> Option<usize> {
    ["-", "–", "—"].into_iter().find(|dash| text.starts_with(dash.as_bytes())).map(str::len)
}

fn is_file(byte: u8) -> bool {
    (b'a'..=b'h').contains(&byte)
}

fn is_rank(byte: u8) -> bool {
    (b'1'..=b'8').contains(&byte)
}

fn square(file: u8, rank: u8) -> Option<Square> {
    (is_file(file) && is_rank(rank)).then(|| Square::new(u32::from(rank - b'1') * 8 + u32::from(file - b'a')))
}
