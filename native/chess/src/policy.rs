//! Policy maps: every legal move of every variant has a unique index, `plane * 64 + square`, from the point of view of
//! the side to move.
//!
//! Planes 0-55 are queen moves, `direction * 7 + distance - 1` with directions N, NE, E, SE, S, SW, W, NW; 56-63 knight
//! moves clockwise from two up, one right; 64-75 promotions, `64 + 3 * piece + file step + 1` for knight, bishop, rook,
//! queen. These are the 76 planes of the papers (CrazyAra's label list). If pawns can promote to kings, three planes
//! follow in the same order, and with drops five more: pawn, knight, bishop, rook, queen, indexed by target square.
//! CrazyAra's joint map puts drops at plane 76 and lets 44 king promotions collide with them; here they do not.

use shakmaty::variant::VariantPosition;
use shakmaty::{CastlingMode, CastlingSide, Color, File, Move, Position, Role, Square};

use moemcts_tree::Action;

/// A numbering of moves.
#[derive(Debug, PartialEq, Eq)]
pub struct PolicyMap {
    pub name: &'static str,
    king_promotions: bool,
    drops: bool,
}

/// Chess, Chess960 and all variants with the same kinds of moves: 76 planes.
pub static CHESS: PolicyMap = PolicyMap { name: "chess", king_promotions: false, drops: false };
/// With promotions to kings: 79 planes.
pub static ANTICHESS: PolicyMap = PolicyMap { name: "antichess", king_promotions: true, drops: false };
/// With drops: 81 planes.
pub static CRAZYHOUSE: PolicyMap = PolicyMap { name: "crazyhouse", king_promotions: false, drops: true };
/// With both, for one network that plays all variants: 84 planes.
pub static MULTI: PolicyMap = PolicyMap { name: "multi", king_promotions: true, drops: true };

pub static POLICY_MAPS: [&PolicyMap; 4] = [&CHESS, &ANTICHESS, &CRAZYHOUSE, &MULTI];

const KNIGHT: usize = 56;
const PROMOTION: usize = 64;
const KING_PROMOTION: usize = 76;
const MAX_PLANES: usize = 84;
const NONE: u8 = u8::MAX;

const DIRECTIONS: [(i8, i8); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];
const JUMPS: [(i8, i8); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];
const PROMOTIONS: [Role; 5] = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];
const DROPS: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// The plane of a move by its squares, or NONE if no piece moves like that.
static PLANES: [[u8; 64]; 64] = planes();
/// The target of a move by its plane and origin, or NONE outside the board.
static TARGETS: [[u8; 64]; PROMOTION] = targets();

impl PolicyMap {
    /// Returns the map with that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        POLICY_MAPS.into_iter().find(|map| map.name == name)
    }

    pub const fn num_planes(&self) -> usize {
        self.drop_planes() + if self.drops { DROPS.len() } else { 0 }
    }

    pub const fn num_actions(&self) -> usize {
        self.num_planes() * 64
    }

    /// Returns whether every move of `other` has an index here.
    pub const fn covers(&self, other: &PolicyMap) -> bool {
        (self.king_promotions || !other.king_promotions) && (self.drops || !other.drops)
    }

    /// Returns the index of a move of `turn`; the map must cover the variant's own.
    pub fn action(&self, m: Move, turn: Color, view: View) -> Action {
        let (plane, square) = self.cell(m, turn, view);
        (plane * 64 + square) as Action
    }

    /// Returns the move with that index, or None if no piece could make it; legality is not checked.
    pub fn to_move(&self, action: Action, position: &VariantPosition, view: View) -> Option<Move> {
        let (plane, index) = (action as usize / 64, action as usize % 64);
        let turn = position.turn();
        let square = view.square(index);
        if plane >= self.drop_planes() {
            let role = *DROPS.get(plane - self.drop_planes())?;
            return (self.drops && position.board().role_at(square).is_none())
                .then_some(Move::Put { role, to: square });
        }
        let role = (position.board().color_at(square) == Some(turn)).then(|| position.board().role_at(square))??;
        if plane >= PROMOTION {
            let (piece, step) = ((plane - PROMOTION) / 3, (plane - PROMOTION) % 3);
            let up = usize::from(TARGETS[0][index]);
            if role != Role::Pawn || up == usize::from(NONE) {
                return None;
            }
            let file = (index % 8 + step).checked_sub(1).filter(|&file| file < 8)?;
            let to = view.square(up - index % 8 + file);
            return Some(Move::Normal {
                role,
                from: square,
                capture: position.board().role_at(to),
                to,
                promotion: Some(PROMOTIONS[piece]),
            });
        }
        let target = TARGETS[plane][index];
        (target != NONE).then(|| plain(position, role, square, view.square(usize::from(target)), view.castling))
    }

    /// Appends the indices of the moves in ascending order.
    pub fn actions(&self, moves: &[Move], turn: Color, view: View, out: &mut Vec<Action>) {
        let mut squares = [0u64; MAX_PLANES];
        let mut planes = 0u128;
        for &m in moves {
            let (plane, square) = self.cell(m, turn, view);
            squares[plane] |= 1 << square;
            planes |= 1 << plane;
        }
        out.reserve(moves.len());
        while planes != 0 {
            let plane = planes.trailing_zeros() as usize;
            planes &= planes - 1;
            let mut rest = squares[plane];
            while rest != 0 {
                out.push((plane as u32) << 6 | rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    const fn drop_planes(&self) -> usize {
        KING_PROMOTION + if self.king_promotions { 3 } else { 0 }
    }

    fn cell(&self, m: Move, turn: Color, view: View) -> (usize, usize) {
        let (from, to) = match m {
            Move::Put { role, to } => return (self.drop_planes() + role as usize - 1, view.index(to)),
            Move::Castle { .. } => castling_squares(m, turn, view.castling),
            Move::Normal { from, to, .. } | Move::EnPassant { from, to } => (from, to),
        };
        let (from, to) = (view.index(from), view.index(to));
        match m.promotion() {
            Some(role) => {
                let piece = role as usize - Role::Knight as usize;
                (PROMOTION + 3 * piece + (to % 8 + 1 - from % 8), from)
            }
            None => (usize::from(PLANES[from][to]), from),
        }
    }
}

/// The point of view, and how castling is encoded.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub flipped: bool,
    pub castling: CastlingMode,
}

impl View {
    fn index(self, square: Square) -> usize {
        usize::from(square) ^ if self.flipped { 56 } else { 0 }
    }

    fn square(self, index: usize) -> Square {
        Square::new((index ^ if self.flipped { 56 } else { 0 }) as u32)
    }
}

/// Returns the squares that encode a move: for castling e1g1, or king takes rook in Chess960; a drop has no origin.
pub fn squares(m: Move, turn: Color, castling: CastlingMode) -> (Option<Square>, Square) {
    match m {
        Move::Castle { .. } => {
            let (from, to) = castling_squares(m, turn, castling);
            (Some(from), to)
        }
        _ => (m.from(), m.to()),
    }
}

fn castling_squares(m: Move, turn: Color, castling: CastlingMode) -> (Square, Square) {
    let (from, rook) = (m.from().unwrap_or(m.to()), m.to());
    match castling {
        CastlingMode::Chess960 => (from, rook),
        CastlingMode::Standard => (from, CastlingSide::from_king_side(from < rook).king_to(turn)),
    }
}

fn plain(position: &VariantPosition, role: Role, from: Square, to: Square, castling: CastlingMode) -> Move {
    let board = position.board();
    let turn = position.turn();
    let rook = match (role, castling) {
        (Role::King, CastlingMode::Chess960) => {
            Some(to).filter(|&to| position.castles().castling_rights().contains(to) && position.us().contains(to))
        }
        (Role::King, CastlingMode::Standard) if from.file() == File::E && from.distance(to) == 2 => {
            position.castles().rook(turn, CastlingSide::from_king_side(from < to))
        }
        _ => None,
    };
    match (role, rook) {
        (_, Some(rook)) => Move::Castle { king: from, rook },
        (Role::Pawn, _) if from.file() != to.file() && board.role_at(to).is_none() => Move::EnPassant { from, to },
        _ => Move::Normal { role, from, capture: board.role_at(to), to, promotion: None },
    }
}

const fn planes() -> [[u8; 64]; 64] {
    let targets = targets();
    let mut planes = [[NONE; 64]; 64];
    let mut plane = 0;
    while plane < PROMOTION {
        let mut from = 0;
        while from < 64 {
            let to = targets[plane][from];
            if to != NONE {
                planes[from][to as usize] = plane as u8;
            }
            from += 1;
        }
        plane += 1;
    }
    planes
}

const fn targets() -> [[u8; 64]; PROMOTION] {
    let mut targets = [[NONE; 64]; PROMOTION];
    let mut plane = 0;
    while plane < PROMOTION {
        let ((dx, dy), distance) =
            if plane < KNIGHT { (DIRECTIONS[plane / 7], plane as i8 % 7 + 1) } else { (JUMPS[plane - KNIGHT], 1) };
        let mut from = 0;
        while from < 64 {
            let x = from as i8 % 8 + dx * distance;
            let y = from as i8 / 8 + dy * distance;
            if x >= 0 && x < 8 && y >= 0 && y < 8 {
                targets[plane][from] = (8 * y + x) as u8;
            }
            from += 1;
        }
        plane += 1;
    }
    targets
}
