//! A position in 80 bytes: what datasets store, and the only input of planes and gates.
//!
//! | bytes | what |
//! |---|---|
//! | 0-23 | three bits of the role on each square, 1 pawn .. 6 king |
//! | 24-31 | White's squares |
//! | 32-39 | promoted pieces (crazyhouse) |
//! | 40-43 | rook squares with castling rights: White's king side, queen side, Black's; 64 none |
//! | 44 | square of a legal en passant capture; 64 none |
//! | 45 | bit 0: Black to move; 1-4: bits 16-19 of the half-moves below; 5-7: bits 16-18 of the move number |
//! | 46 | how often the position occurred before |
//! | 47 | the variant |
//! | 48-51 | half-moves since the last capture or pawn move; move number; little-endian |
//! | 52-61 | pockets: pawn, knight, bishop, rook, queen of White, then of Black |
//! | 62-63 | remaining checks of White and of Black |
//! | 64-79 | the last eight moves, the newest first: from, to; 64 none |

use std::num::NonZeroU32;

use shakmaty::{Bitboard, Board, ByColor, ByRole, CastlingSide, Color, Position, RemainingChecks, Role, Setup, Square};

use crate::state::Chess;

/// No square.
pub const NONE: u8 = 64;
pub const HISTORY: usize = 8;

const SIDES: [(Color, CastlingSide); 4] = [
    (Color::White, CastlingSide::KingSide),
    (Color::White, CastlingSide::QueenSide),
    (Color::Black, CastlingSide::KingSide),
    (Color::Black, CastlingSide::QueenSide),
];
const POCKET: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// A position without its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact {
    pub roles: [u64; 3],
    pub white: u64,
    pub promoted: u64,
    pub castling: [u8; 4],
    pub en_passant: u8,
    pub black_to_move: bool,
    pub repetitions: u8,
    pub variant: u8,
    pub halfmoves: u32,
    pub fullmoves: u32,
    pub pockets: [u8; 10],
    pub checks: [u8; 2],
    pub moves: [u8; 2 * HISTORY],
}

impl Compact {
    pub const BYTES: usize = 80;
    /// Largest half-move clock that fits into a record.
    pub const MAX_HALFMOVES: u32 = (1 << 20) - 1;
    /// Largest move number that fits into a record.
    pub const MAX_FULLMOVES: u32 = (1 << 19) - 1;

    pub fn of(state: &Chess) -> Self {
        let position = state.position();
        let board = position.board();
        let any = |roles: [Role; 3]| roles.iter().fold(0, |bits, &role| bits | board.by_role(role).0);
        let castles = position.castles();
        Self {
            roles: [
                any([Role::Pawn, Role::Bishop, Role::Queen]),
                any([Role::Knight, Role::Bishop, Role::King]),
                any([Role::Rook, Role::Queen, Role::King]),
            ],
            white: board.white().0,
            promoted: position.promoted().0,
            castling: SIDES.map(|(color, side)| square_byte(castles.rook(color, side))),
            en_passant: square_byte(state.en_passant()),
            black_to_move: position.turn().is_black(),
            repetitions: state.repetitions(),
            variant: state.rules().variant.id,
            // No game exceeds this: `Rules::MAX_PLIES_LIMIT`.
            halfmoves: position.halfmoves().min(Self::MAX_HALFMOVES),
            fullmoves: position.fullmoves().get().min(Self::MAX_FULLMOVES),
            pockets: position.pockets().map_or([0; 10], |pockets| {
                std::array::from_fn(|i| *pockets.get(SIDES[i / 5 * 2].0).get(POCKET[i % 5]))
            }),
            checks: position
                .remaining_checks()
                .map_or([0; 2], |checks| [checks.white, checks.black].map(|count| u32::from(count) as u8)),
            moves: state.last_moves(),
        }
    }

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.roles.iter().chain([&self.white, &self.promoted])) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes[40..44].copy_from_slice(&self.castling);
        let high = (self.halfmoves >> 16) << 1 | (self.fullmoves >> 16) << 5 | u32::from(self.black_to_move);
        bytes[44..48].copy_from_slice(&[self.en_passant, high as u8, self.repetitions, self.variant]);
        bytes[48..50].copy_from_slice(&(self.halfmoves as u16).to_le_bytes());
        bytes[50..52].copy_from_slice(&(self.fullmoves as u16).to_le_bytes());
        bytes[52..62].copy_from_slice(&self.pockets);
        bytes[62..64].copy_from_slice(&self.checks);
        bytes[64..].copy_from_slice(&self.moves);
        bytes
    }

    /// Returns the position in the first 80 bytes, or None if there are fewer.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.first_chunk()?;
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j]));
        let number = |i: usize| u32::from(u16::from_le_bytes([bytes[i], bytes[i + 1]]));
        let high = u32::from(bytes[45]);
        Some(Self {
            roles: [word(0), word(1), word(2)],
            white: word(3),
            promoted: word(4),
            castling: std::array::from_fn(|i| bytes[40 + i]),
            en_passant: bytes[44],
            black_to_move: bytes[45] & 1 == 1,
            repetitions: bytes[46],
            variant: bytes[47],
            halfmoves: number(48) | (high >> 1 & 15) << 16,
            fullmoves: number(50) | (high >> 5) << 16,
            pockets: std::array::from_fn(|i| bytes[52 + i]),
            checks: [bytes[62], bytes[63]],
            moves: std::array::from_fn(|i| bytes[64 + i]),
        })
    }

    pub fn turn(&self) -> Color {
        Color::from_black(self.black_to_move)
    }

    /// Returns the number of half-moves played, derived from the move number.
    pub fn ply(&self) -> u32 {
        2 * (self.fullmoves.max(1) - 1) + u32::from(self.black_to_move)
    }

    pub fn occupied(&self) -> u64 {
        self.roles[0] | self.roles[1] | self.roles[2]
    }

    pub fn of_color(&self, color: Color) -> u64 {
        match color {
            Color::White => self.white,
            Color::Black => self.occupied() & !self.white,
        }
    }

    pub fn of_role(&self, role: Role) -> u64 {
        let [a, b, c] = self.roles;
        match role {
            Role::Pawn => a & !b & !c,
            Role::Knight => !a & b & !c,
            Role::Bishop => a & b,
            Role::Rook => !a & !b & c,
            Role::Queen => a & c,
            Role::King => b & c,
        }
    }

    /// Returns the number of pieces of that role in a pocket.
    pub fn pocket(&self, color: Color, role: Role) -> u8 {
        POCKET.iter().position(|&r| r == role).map_or(0, |i| self.pockets[5 * usize::from(color.is_black()) + i])
    }

    pub fn board(&self) -> Board {
        let roles = ByRole::new_with(|role| Bitboard(self.of_role(role)));
        let colors = ByColor::new_with(|color| Bitboard(self.of_color(color)));
        Board::try_from_bitboards(roles, colors).unwrap_or(Board::empty())
    }

    /// Returns the position as a `Setup` of `shakmaty`.
    pub fn setup(&self, pockets: bool, checks: bool) -> Setup {
        let by_color = |i: usize| RemainingChecks::new(u32::from(self.checks[i]).min(3));
        Setup {
            board: self.board(),
            promoted: Bitboard(self.promoted),
            pockets: pockets
                .then(|| ByColor::new_with(|color| ByRole::new_with(|role| self.pocket(color, role).min(64)))),
            turn: self.turn(),
            castling_rights: self.castling.iter().filter_map(|&square| byte_square(square)).collect(),
            ep_square: byte_square(self.en_passant),
            remaining_checks: checks.then(|| ByColor { white: by_color(0), black: by_color(1) }),
            halfmoves: self.halfmoves,
            fullmoves: NonZeroU32::new(self.fullmoves).unwrap_or(NonZeroU32::MIN),
        }
    }
}

pub fn square_byte(square: Option<Square>) -> u8 {
    square.map_or(NONE, u8::from)
}

pub fn byte_square(byte: u8) -> Option<Square> {
    Square::try_from(byte).ok()
}
