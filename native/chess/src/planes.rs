//! Input planes: lists of features, each a few 8x8 planes, seen by one side.
//!
//! Row 0 is rank 1 of the viewing side: for Black the ranks are reversed and the files kept, and P1 is the viewing
//! side. In racing kings nothing is reversed.

use shakmaty::{Bitboard, Color, Role};

use crate::compact::{Compact, HISTORY, NONE};
use crate::outcome::checkers;
use crate::variant::{Variant, VARIANTS};

/// Some planes that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// P1 pawns, knights, bishops, rooks, queens, king; P2 the same.
    Pieces,
    /// The position occurred at least once before; at least twice.
    Repetition,
    /// P1 pawns, knights, bishops, rooks, queens in hand over 16; P2 the same.
    Pockets,
    /// P1 pieces that were pawns; P2 the same.
    Promoted,
    /// The target of a legal en passant capture.
    EnPassant,
    /// One where White looks.
    Colour,
    /// The move number over 500.
    MoveNumber,
    /// P1 may castle to the king side, to the queen side; P2 the same.
    Castling,
    /// Half-moves since the last capture or pawn move over 50.
    Halfmoves,
    /// P1 needs one check more, at most two; P2 the same.
    RemainingChecks,
    /// One in Chess960.
    Is960,
    /// One plane for each variant but Chess960, which has its own.
    VariantOneHot,
    /// From and to of the last eight moves, the newest first; drops have no from; castling as in the policy.
    LastMoves,
    /// P1 pieces; P2 pieces.
    PieceMasks,
    /// Alternating zeros and ones, `[0, 0]` zero.
    Checkerboard,
    /// P1 minus P2 pieces over 8, for the first n of pawns, knights, bishops, rooks, queens, kings.
    MaterialDifference(usize),
    /// Each side has exactly one bishop, on squares of different colours.
    OppositeBishops,
    /// Pieces that give check.
    Checkers,
    /// P1 pieces over 8, for the first n kinds.
    MaterialCount(usize),
}

/// An ordered list of features.
#[derive(Debug, PartialEq, Eq)]
pub struct PlaneSet {
    pub name: &'static str,
    pub features: &'static [Feature],
}

use Feature::*;

/// The 39 planes of CrazyAra's version 1 for chess.
pub static V1: PlaneSet = PlaneSet {
    name: "v1",
    features: &[Pieces, Repetition, EnPassant, Colour, MoveNumber, Castling, Halfmoves, Is960, LastMoves],
};

/// The 52 planes that the papers call "Inputs V2.0".
pub static V2: PlaneSet = PlaneSet {
    name: "v2",
    features: &[
        Pieces,
        Repetition,
        EnPassant,
        Castling,
        Halfmoves,
        LastMoves,
        Is960,
        PieceMasks,
        Checkerboard,
        MaterialDifference(5),
        OppositeBishops,
        Checkers,
        MaterialCount(5),
    ],
};

/// The 79 planes for any variant: CrazyAra's 80 without the move number, and with the colour, which racing kings and
/// horde need.
pub static MULTI: PlaneSet = PlaneSet {
    name: "multi",
    features: &[
        Pieces,
        Repetition,
        Pockets,
        Promoted,
        EnPassant,
        Colour,
        Castling,
        Halfmoves,
        RemainingChecks,
        Is960,
        VariantOneHot,
        LastMoves,
        PieceMasks,
        Checkerboard,
        MaterialDifference(6),
        OppositeBishops,
        Checkers,
        MaterialCount(6),
    ],
};

/// The 62 planes of `multi` that the rules need, without those that the second version of the inputs adds.
pub static MULTI_PLAIN: PlaneSet = PlaneSet {
    name: "multi-plain",
    features: &[
        Pieces,
        Repetition,
        Pockets,
        Promoted,
        EnPassant,
        Colour,
        Castling,
        Halfmoves,
        RemainingChecks,
        Is960,
        VariantOneHot,
        LastMoves,
    ],
};

pub static PLANE_SETS: [&PlaneSet; 4] = [&V1, &V2, &MULTI, &MULTI_PLAIN];

const MAX_PLANES: usize = 80;
const CHECKERBOARD: u64 = 0x55AA_55AA_55AA_55AA;
const ALL: u64 = u64::MAX;

impl Feature {
    pub const fn num_planes(self) -> usize {
        match self {
            Pieces => 12,
            Pockets => 10,
            LastMoves => 2 * HISTORY,
            Castling | RemainingChecks => 4,
            Repetition | Promoted | PieceMasks => 2,
            VariantOneHot => VARIANTS.len() - 1,
            MaterialDifference(n) | MaterialCount(n) => n,
            EnPassant | Colour | MoveNumber | Halfmoves | Is960 | Checkerboard | OppositeBishops | Checkers => 1,
        }
    }

    /// Returns what the numbers of the feature are divided by.
    pub const fn unit(self) -> f32 {
        match self {
            Pockets => 16.0,
            MoveNumber => 500.0,
            Halfmoves => 50.0,
            MaterialDifference(_) | MaterialCount(_) => 8.0,
            _ => 1.0,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Pieces => "pieces",
            Repetition => "repetition",
            Pockets => "pockets",
            Promoted => "promoted",
            EnPassant => "en passant",
            Colour => "colour",
            MoveNumber => "move number",
            Castling => "castling",
            Halfmoves => "halfmoves",
            RemainingChecks => "remaining checks",
            Is960 => "is960",
            VariantOneHot => "variant",
            LastMoves => "last moves",
            PieceMasks => "piece masks",
            Checkerboard => "checkerboard",
            MaterialDifference(_) => "material difference",
            OppositeBishops => "opposite bishops",
            Checkers => "checkers",
            MaterialCount(_) => "material count",
        }
    }
}

impl PlaneSet {
    /// Returns the set of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PLANE_SETS.into_iter().find(|set| set.name == name)
    }

    pub const fn num_planes(&self) -> usize {
        let mut planes = 0;
        let mut i = 0;
        while i < self.features.len() {
            planes += self.features[i].num_planes();
            i += 1;
        }
        planes
    }

    /// Returns the planes as `viewer` sees them, bit-packed.
    pub fn encode(&self, position: &Compact, viewer: Color) -> Planes {
        let variant = Variant::numbered(position.variant).unwrap_or(&VARIANTS[0]);
        let sight = Sight { position, variant, viewer, flipped: variant.turns_board && viewer.is_black() };
        let mut planes = Planes::default();
        for &feature in self.features {
            sight.encode(feature, &mut planes);
        }
        planes
    }
}

/// Planes of one position, each a set of squares that all have the same number.
#[derive(Clone, Debug)]
pub struct Planes {
    len: usize,
    squares: [u64; MAX_PLANES],
    numbers: [f32; MAX_PLANES],
}

impl Default for Planes {
    fn default() -> Self {
        Self { len: 0, squares: [0; MAX_PLANES], numbers: [0.0; MAX_PLANES] }
    }
}

impl Planes {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the squares of each plane and their number.
    pub fn iter(&self) -> impl Iterator<Item = (u64, f32)> + '_ {
        self.squares[..self.len].iter().copied().zip(self.numbers[..self.len].iter().copied())
    }

    /// Writes the planes `[C, 8, 8]` into `out`, which is zero on entry.
    pub fn write(&self, out: &mut [f32]) {
        for ((squares, number), plane) in self.iter().zip(out.chunks_exact_mut(64)) {
            if squares == ALL {
                plane.fill(number);
                continue;
            }
            let mut rest = squares;
            while rest != 0 {
                plane[rest.trailing_zeros() as usize] = number;
                rest &= rest - 1;
            }
        }
    }

    fn push(&mut self, squares: u64, number: f32) {
        self.squares[self.len] = squares;
        self.numbers[self.len] = number;
        self.len += 1;
    }

    fn push_squares(&mut self, squares: u64) {
        self.push(squares, 1.0);
    }

    fn push_number(&mut self, number: f32) {
        self.push(if number == 0.0 { 0 } else { ALL }, number);
    }

    fn push_flag(&mut self, flag: bool) {
        self.push_squares(if flag { ALL } else { 0 });
    }
}

/// One side looking at a position.
struct Sight<'a> {
    position: &'a Compact,
    variant: &'static Variant,
    viewer: Color,
    flipped: bool,
}

impl Sight<'_> {
    fn encode(&self, feature: Feature, out: &mut Planes) {
        let position = self.position;
        let sides = [self.viewer, !self.viewer];
        let unit = feature.unit();
        match feature {
            Pieces => {
                for side in sides {
                    Role::ALL.iter().for_each(|&role| out.push_squares(self.seen(self.pieces(side, role))));
                }
            }
            Repetition => (1..=2).for_each(|times| out.push_flag(position.repetitions >= times)),
            Pockets => {
                for side in sides {
                    let pocket = &position.pockets[5 * usize::from(side.is_black())..][..5];
                    pocket.iter().for_each(|&count| out.push_number(f32::from(count) / unit));
                }
            }
            Promoted => {
                for side in sides {
                    out.push_squares(self.seen(position.promoted & position.of_color(side)));
                }
            }
            EnPassant => out.push_squares(self.square(position.en_passant)),
            Colour => out.push_flag(self.viewer.is_white()),
            MoveNumber => out.push_number(position.fullmoves as f32 / unit),
            Castling => {
                for side in sides {
                    let rooks = &position.castling[2 * usize::from(side.is_black())..][..2];
                    rooks.iter().for_each(|&rook| out.push_flag(rook != NONE));
                }
            }
            Halfmoves => out.push_number(position.halfmoves as f32 / unit),
            RemainingChecks => {
                let counts = self.variant.board == shakmaty::variant::Variant::ThreeCheck;
                for side in sides {
                    let left = position.checks[usize::from(side.is_black())];
                    out.push_flag(counts && left <= 1);
                    out.push_flag(counts && left <= 2);
                }
            }
            Is960 => out.push_flag(self.variant.is_960()),
            VariantOneHot => {
                let plain = VARIANTS.iter().filter(|variant| !variant.is_960());
                plain.for_each(|variant| out.push_flag(variant.board == self.variant.board));
            }
            LastMoves => position.moves.iter().for_each(|&square| out.push_squares(self.square(square))),
            PieceMasks => {
                for side in sides {
                    out.push_squares(self.seen(position.of_color(side)));
                }
            }
            Checkerboard => out.push_squares(CHECKERBOARD),
            MaterialDifference(n) => {
                for role in &Role::ALL[..n] {
                    out.push_number((self.count(sides[0], *role) - self.count(sides[1], *role)) / unit);
                }
            }
            OppositeBishops => out.push_flag(self.has_opposite_bishops()),
            Checkers => {
                let giving = checkers(&position.board(), self.variant.board, position.turn());
                out.push_squares(self.seen(giving.0));
            }
            MaterialCount(n) => {
                Role::ALL[..n].iter().for_each(|&role| out.push_number(self.count(sides[0], role) / unit));
            }
        }
    }

    fn seen(&self, squares: u64) -> u64 {
        if self.flipped {
            squares.swap_bytes()
        } else {
            squares
        }
    }

    fn square(&self, square: u8) -> u64 {
        if square < NONE {
            self.seen(1 << square)
        } else {
            0
        }
    }

    fn pieces(&self, side: Color, role: Role) -> u64 {
        self.position.of_color(side) & self.position.of_role(role)
    }

    fn count(&self, side: Color, role: Role) -> f32 {
        self.pieces(side, role).count_ones() as f32
    }

    fn has_opposite_bishops(&self) -> bool {
        let [ours, theirs] = [self.viewer, !self.viewer].map(|side| Bitboard(self.pieces(side, Role::Bishop)));
        match (ours.single_square(), theirs.single_square()) {
            (Some(ours), Some(theirs)) => ours.is_light() != theirs.is_light(),
            _ => false,
        }
    }
}
