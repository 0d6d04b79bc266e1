//! Position hashes, updated incrementally from the changes on the board, whatever the variant.

use shakmaty::variant::VariantPosition;
use shakmaty::{Bitboard, Board, Color, Position, Role, Square};

const fn finalize(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

const fn table<const N: usize>(stream: u64) -> [u64; N] {
    let mut numbers = [0; N];
    let mut i = 0;
    while i < N {
        numbers[i] = finalize(stream << 32 | i as u64);
        i += 1;
    }
    numbers
}

static PIECES: [u64; 12 * 64] = table(1);
static CASTLING: [u64; 64] = table(2);
static EN_PASSANT: [u64; 64] = table(3);
static PROMOTED: [u64; 64] = table(4);
const BLACK_TO_MOVE: u64 = finalize(5 << 32);

/// Returns a hash of both numbers that depends on their order.
pub fn mix(a: u64, b: u64) -> u64 {
    finalize(a.rotate_left(23) ^ b.wrapping_mul(0xD6E8_FEB8_6659_FD93))
}

/// Returns the hash of pieces, promoted pieces, castling rights and side to move, updated from that before a move.
pub fn update(hash: u64, before: &Placement, after: &VariantPosition) -> u64 {
    let mut hash = hash ^ BLACK_TO_MOVE;
    let board = after.board();
    for color in Color::ALL {
        let changed = before.board.by_color(color) | board.by_color(color);
        for role in Role::ALL {
            let piece = role.of(color);
            let moved = (before.board.by_piece(piece) ^ board.by_piece(piece)) & changed;
            hash ^= xor_of(&PIECES[64 * piece_index(color, role)..], moved);
        }
    }
    hash ^= xor_of(&CASTLING, before.castling ^ after.castles().castling_rights());
    hash ^ xor_of(&PROMOTED, before.promoted ^ after.promoted())
}

/// Returns the same hash, computed from scratch.
pub fn hash_placement(position: &VariantPosition) -> u64 {
    let empty = Placement { board: Board::empty(), castling: Bitboard::EMPTY, promoted: Bitboard::EMPTY };
    let hash = update(0, &empty, position);
    if position.turn().is_white() {
        hash ^ BLACK_TO_MOVE
    } else {
        hash
    }
}

/// Returns the hash of the rest of what matters for repetition: en passant, pockets and remaining checks.
pub fn hash_rest(position: &VariantPosition, legal_en_passant: Option<Square>) -> u64 {
    let mut hash = legal_en_passant.map_or(0, |square| EN_PASSANT[usize::from(square)]);
    if let Some(pockets) = position.pockets() {
        for (color, pocket) in pockets.zip_color() {
            for (role, count) in pocket.zip_role() {
                hash ^= mix(piece_index(color, role) as u64 + 100, u64::from(count));
            }
        }
    }
    if let Some(checks) = position.remaining_checks() {
        let counts = u64::from(u32::from(checks.white)) << 8 | u64::from(u32::from(checks.black));
        hash ^= mix(200, counts);
    }
    hash
}

/// The part of a position that incremental hashing compares.
#[derive(Clone)]
pub struct Placement {
    board: Board,
    castling: Bitboard,
    promoted: Bitboard,
}

impl Placement {
    pub fn of(position: &VariantPosition) -> Self {
        Self {
            board: position.board().clone(),
            castling: position.castles().castling_rights(),
            promoted: position.promoted(),
        }
    }

    pub fn castling(&self) -> Bitboard {
        self.castling
    }
}

fn piece_index(color: Color, role: Role) -> usize {
    6 * usize::from(color.is_black()) + role as usize - 1
}

fn xor_of(numbers: &[u64], squares: Bitboard) -> u64 {
    squares.into_iter().fold(0, |sum, square| sum ^ numbers[usize::from(square)])
}
