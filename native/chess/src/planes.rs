//! Input planes: lists of features, each with some 8x8 planes, from one side's point of view.
//!
//! Row 0 is rank 1 of the viewing side: for Black the ranks are reversed but not the files, and P1 is the viewing side.
//! In racing kings nothing is reversed.

use std::cell::OnceCell;

use shakmaty::{Bitboard, Board, ByColor, Color, Role};

use crate::attacks::{blockers, check_squares, hanging, Attacks};
use crate::compact::{Compact, NONE};
use crate::features::Feature::{self, *};
use crate::outcome::checkers;
use crate::variant::{Variant, VARIANTS};

/// An ordered list of features.
#[derive(Debug, PartialEq, Eq)]
pub struct PlaneSet {
    pub name: &'static str,
    pub features: &'static [Feature],
}

const V2_FEATURES: [Feature; 13] = [
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
];

const MULTI_FEATURES: [Feature; 18] = [
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
];

/// Attacks, and what follows from them.
const ATTACK_FEATURES: [Feature; 5] = [Feature::Attacks, AttackedTwice, Hanging, Blockers, CheckSquares];

/// The 39 planes of CrazyAra's version 1 for chess.
pub static V1: PlaneSet = PlaneSet {
    name: "v1",
    features: &[Pieces, Repetition, EnPassant, Colour, MoveNumber, Castling, Halfmoves, Is960, LastMoves],
};

/// The 52 planes called "Inputs V2.0" in the papers.
pub static V2: PlaneSet = PlaneSet { name: "v2", features: &V2_FEATURES };

/// The 79 planes for any variant: CrazyAra's 80 without the move number, plus the colour, which racing kings and horde
/// need.
pub static MULTI: PlaneSet = PlaneSet { name: "multi", features: &MULTI_FEATURES };

/// The 62 planes of `multi` that represent the rules, without the additions of version 2.
pub static MULTI_PLAIN: PlaneSet = PlaneSet { name: "multi-plain", features: MULTI_FEATURES.split_at(12).0 };

/// 74 planes from which small networks learn faster: those of `v2`, then the attack features.
pub static ATTACKS: PlaneSet =
    PlaneSet { name: "attacks", features: &concatenate::<18>(&V2_FEATURES, &ATTACK_FEATURES) };

/// 101 planes: those of `multi`, then the attack features.
pub static MULTI_ATTACKS: PlaneSet =
    PlaneSet { name: "multi-attacks", features: &concatenate::<23>(&MULTI_FEATURES, &ATTACK_FEATURES) };

pub static PLANE_SETS: [&PlaneSet; 6] = [&V1, &V2, &MULTI, &MULTI_PLAIN, &ATTACKS, &MULTI_ATTACKS];

const MAX_PLANES: usize = 101;
const CHECKERBOARD: u64 = 0x55AA_55AA_55AA_55AA;
const ALL: u64 = u64::MAX;

/// Returns the concatenation of two lists of features, `N` in total.
const fn concatenate<const N: usize>(first: &[Feature], second: &[Feature]) -> [Feature; N] {
    let mut features = [Pieces; N];
    let mut i = 0;
    while i < N {
        features[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    features
}

impl PlaneSet {
    /// Returns the set with that name.
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

    /// Returns the planes from the point of view of `viewer`, bit-packed.
    pub fn encode(&self, position: &Compact, viewer: Color) -> Planes {
        let variant = Variant::numbered(position.variant).unwrap_or(&VARIANTS[0]);
        let flipped = variant.turns_board && viewer.is_black();
        let encoder = Encoder { position, variant, viewer, flipped, board: OnceCell::new(), attacks: OnceCell::new() };
        let mut planes = Planes::default();
        for &feature in self.features {
            encoder.encode(feature, &mut planes);
        }
        planes
    }
}

/// The planes of one position, each a set of squares with a common value.
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

    /// Returns the squares and the value of each plane.
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

/// A position from one side's point of view.
struct Encoder<'a> {
    position: &'a Compact,
    variant: &'static Variant,
    viewer: Color,
    flipped: bool,
    board: OnceCell<Board>,
    attacks: OnceCell<ByColor<Attacks>>,
}

impl Encoder<'_> {
    fn encode(&self, feature: Feature, out: &mut Planes) {
        let position = self.position;
        let sides = [self.viewer, !self.viewer];
        let unit = feature.unit();
        match feature {
            Pieces => {
                for side in sides {
                    Role::ALL.iter().for_each(|&role| out.push_squares(self.orient(self.pieces(side, role))));
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
                    out.push_squares(self.orient(position.promoted & position.of_color(side)));
                }
            }
            EnPassant => out.push_squares(self.square_plane(position.en_passant)),
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
                let counts_checks = self.variant.board == shakmaty::variant::Variant::ThreeCheck;
                for side in sides {
                    let left = position.checks[usize::from(side.is_black())];
                    out.push_flag(counts_checks && left <= 1);
                    out.push_flag(counts_checks && left <= 2);
                }
            }
            Is960 => out.push_flag(self.variant.is_960()),
            VariantOneHot => {
                let plain = VARIANTS.iter().filter(|variant| !variant.is_960());
                plain.for_each(|variant| out.push_flag(variant.board == self.variant.board));
            }
            LastMoves => position.moves.iter().for_each(|&square| out.push_squares(self.square_plane(square))),
            PieceMasks => {
                for side in sides {
                    out.push_squares(self.orient(position.of_color(side)));
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
                let giving = checkers(self.board(), self.variant.board, position.turn());
                out.push_squares(self.orient(giving.0));
            }
            MaterialCount(n) => {
                Role::ALL[..n].iter().for_each(|&role| out.push_number(self.count(sides[0], role) / unit));
            }
            Feature::Attacks => {
                for side in sides {
                    for squares in self.attacks().get(side).by_role.iter() {
                        out.push_squares(self.orient(squares.0));
                    }
                }
            }
            AttackedTwice => {
                sides.iter().for_each(|&side| out.push_squares(self.orient(self.attacks().get(side).twice.0)))
            }
            Hanging => {
                for side in sides {
                    out.push_squares(self.orient(hanging(self.board(), self.attacks(), side).0));
                }
            }
            Blockers => sides.iter().for_each(|&side| out.push_squares(self.orient(blockers(self.board(), side).0))),
            CheckSquares => {
                let squares = check_squares(self.board(), self.viewer);
                squares.iter().for_each(|squares| out.push_squares(self.orient(squares.0)));
            }
        }
    }

    fn board(&self) -> &Board {
        self.board.get_or_init(|| self.position.board())
    }

    fn attacks(&self) -> &ByColor<Attacks> {
        self.attacks.get_or_init(|| ByColor::new_with(|color| Attacks::of(self.board(), color)))
    }

    /// Returns squares from the viewer's point of view.
    fn orient(&self, squares: u64) -> u64 {
        if self.flipped {
            squares.swap_bytes()
        } else {
            squares
        }
    }

    /// Returns the plane of one square from the viewer's point of view, empty if there is none.
    fn square_plane(&self, square: u8) -> u64 {
        if square < NONE {
            self.orient(1 << square)
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
