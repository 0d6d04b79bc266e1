//! The measures that gates are built on: phases by Lichess' rules, material, pieces, moves, and their components.

use shakmaty::Role;

use crate::compact::{Compact, NONE};

/// An endgame or middlegame has at most this many majors and minors of both sides (scalachess, Divider.scala).
const ENDGAME_PIECES: u32 = 6;
const MIDDLEGAME_PIECES: u32 = 10;
/// A back rank with fewer own pieces than this is sparse (the same file).
const BACK_RANK: u32 = 4;
/// A position with a larger mixedness is a middlegame (the same file).
const MIXED: u32 = 150;
/// Weaker signs of a middlegame, which count only in combination (thesis, section 5.1, for the mixedness).
const LESS_MIXED: u32 = 130;
const LATE_MOVE: u32 = 15;

const RANK_1: u64 = 0xFF;
const RANK_8: u64 = 0xFF << 56;

/// A number that describes a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// 0 opening, 1 middlegame, 2 endgame, by the thresholds of scalachess' Divider applied to the single position.
    Lichess,
    /// The same with the table of CrazyAra's engine, which scores eight kinds of regions that Lichess does not.
    LichessCrazyara,
    /// The same with the thesis' conjunctions, which extend the opening.
    Conjunctive,
    /// Number of majors and minors of both sides on the board.
    MajorsAndMinors,
    /// Number of White's pieces on rank 1; Black's on rank 8.
    BackRankWhite,
    BackRankBlack,
    /// How mixed the sides are: scalachess' sum over all 2x2 regions.
    Mixedness,
    /// The same with CrazyAra's table.
    MixednessCrazyara,
    /// Lost material: 24 minus the sum of 1 per knight and bishop, 2 per rook, 4 per queen.
    LostMaterial,
    /// Captured pieces: the number in the variant's start position minus the number on the board.
    LostPieces,
    /// Moves completed by both sides, derived from the move number.
    MovesCompleted,
}

impl Measure {
    pub const ALL: [(&'static str, Self); 11] = [
        ("lichess", Self::Lichess),
        ("lichess-crazyara", Self::LichessCrazyara),
        ("conjunctive", Self::Conjunctive),
        ("majors and minors", Self::MajorsAndMinors),
        ("back rank white", Self::BackRankWhite),
        ("back rank black", Self::BackRankBlack),
        ("mixedness", Self::Mixedness),
        ("mixedness-crazyara", Self::MixednessCrazyara),
        ("lost material", Self::LostMaterial),
        ("lost pieces", Self::LostPieces),
        ("moves completed", Self::MovesCompleted),
    ];

    /// Returns the measure of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, measure)| measure)
    }

    pub fn of(self, position: &Compact) -> i64 {
        match self {
            Self::Lichess => phase(position, &LICHESS),
            Self::LichessCrazyara => phase(position, &CRAZYARA),
            Self::Conjunctive => conjunctive(position),
            Self::MajorsAndMinors => majors_and_minors(position).into(),
            Self::BackRankWhite => back_ranks(position)[0].into(),
            Self::BackRankBlack => back_ranks(position)[1].into(),
            Self::Mixedness => mixedness(position, &LICHESS).into(),
            Self::MixednessCrazyara => mixedness(position, &CRAZYARA).into(),
            Self::LostMaterial => lost_material(position),
            Self::LostPieces => lost_pieces(position),
            Self::MovesCompleted => i64::from(position.fullmoves) - 1,
        }
    }
}

/// Returns Lichess' division of a whole game: the first middlegame position, and the first endgame position.
///
/// An endgame needs a middlegame before or at it, and replaces one that starts with it. Phases never go back.
pub fn division<'a>(game: impl IntoIterator<Item = &'a Compact>) -> (Option<usize>, Option<usize>) {
    let (mut middle, mut end) = (None, None);
    for (i, position) in game.into_iter().enumerate() {
        let phase = phase(position, &LICHESS);
        if middle.is_none() && phase >= 1 {
            middle = Some(i);
        }
        if phase == 2 {
            end = Some(i);
            break;
        }
    }
    (middle.filter(|&middle| end.is_none_or(|end| middle < end)), end)
}

fn phase(position: &Compact, table: &Table) -> i64 {
    let pieces = majors_and_minors(position);
    if pieces <= ENDGAME_PIECES {
        2
    } else if pieces <= MIDDLEGAME_PIECES || sparse_back_rank(position) || mixedness(position, table) > MIXED {
        1
    } else {
        0
    }
}

/// After the thesis, section 5.1: castling, a weaker mixedness and a move counter, each only in combination.
///
/// A position is a middlegame if it is not an endgame, neither side can castle any more, and two of these hold:
/// mixedness above 130, at most 10 majors and minors, a sparse back rank, more than 15 moves begun.
fn conjunctive(position: &Compact) -> i64 {
    let pieces = majors_and_minors(position);
    if pieces <= ENDGAME_PIECES {
        return 2;
    }
    let can_castle = position.castling.iter().any(|&rook| rook < NONE);
    let signs = [
        mixedness(position, &LICHESS) > LESS_MIXED,
        pieces <= MIDDLEGAME_PIECES,
        sparse_back_rank(position),
        position.fullmoves > LATE_MOVE,
    ];
    (!can_castle && signs.iter().filter(|&&sign| sign).count() >= 2).into()
}

fn majors_and_minors(position: &Compact) -> u32 {
    (position.occupied() & !position.of_role(Role::Pawn) & !position.of_role(Role::King)).count_ones()
}

fn back_ranks(position: &Compact) -> [u32; 2] {
    let black = position.occupied() & !position.white;
    [(position.white & RANK_1).count_ones(), (black & RANK_8).count_ones()]
}

fn sparse_back_rank(position: &Compact) -> bool {
    back_ranks(position).iter().any(|&pieces| pieces < BACK_RANK)
}

fn lost_material(position: &Compact) -> i64 {
    let worth = [(Role::Knight, 1), (Role::Bishop, 1), (Role::Rook, 2), (Role::Queen, 4)];
    24 - worth.iter().map(|&(role, worth)| worth * i64::from(position.of_role(role).count_ones())).sum::<i64>()
}

fn lost_pieces(position: &Compact) -> i64 {
    let start = match crate::variant::Variant::numbered(position.variant).map(|variant| variant.board) {
        Some(shakmaty::variant::Variant::Horde) => 52,
        Some(shakmaty::variant::Variant::RacingKings) => 16,
        _ => 32,
    };
    start - i64::from(position.occupied().count_ones())
}

/// Scores of 2x2 regions, by their lower rank from White's side and the squares occupied by each side.
type Table = [[[u8; 16]; 16]; 7];

static LICHESS: Table = table(Scores::Lichess);
static CRAZYARA: Table = table(Scores::CrazyAra);

fn mixedness(position: &Compact, table: &Table) -> u32 {
    let (white, black) = (position.white, position.occupied() & !position.white);
    let mut sum = 0;
    for (y, scores) in table.iter().enumerate() {
        let (white, black) = (white >> (8 * y), black >> (8 * y));
        for x in 0..7 {
            sum += u32::from(scores[region(white, x)][region(black, x)]);
        }
    }
    sum
}

/// Returns which of the four squares of the region at file `x` of the two lowest ranks are set.
fn region(squares: u64, x: usize) -> usize {
    (squares >> x & 3 | squares >> (x + 6) & 12) as usize
}

#[derive(Clone, Copy)]
enum Scores {
    Lichess,
    CrazyAra,
}

const fn table(scores: Scores) -> Table {
    let mut table = [[[0; 16]; 16]; 7];
    let mut y = 0;
    while y < 7 {
        let mut pair = 0u32;
        while pair < 256 {
            let (white, black) = (pair / 16, pair % 16);
            let counts = (white.count_ones(), black.count_ones());
            table[y][white as usize][black as usize] = match scores {
                Scores::Lichess => lichess(y as u8 + 1, counts),
                Scores::CrazyAra => crazyara(y as u8 + 1, counts),
            };
            pair += 1;
        }
        y += 1;
    }
    table
}

/// scalachess, Divider.scala, since commit 0be471fc (2025-06-03), the same for both sides.
const fn lichess(y: u8, squares: (u32, u32)) -> u8 {
    match squares {
        (0, 1) => 1 + y,
        (0, 2) if y < 6 => 2 + (6 - y),
        (0, 3 | 4) if y < 7 => 3 + (7 - y),
        (1, 0) => 1 + (8 - y),
        (1, 1) => 5 + y.abs_diff(4),
        (1, 2) => 4 + (7 - y),
        (1, 3) => 5 + (7 - y),
        (2, 0) if y > 2 => 2 + (y - 2),
        (2, 1) => 4 + (y - 1),
        (2, 2) => 7,
        (3 | 4, 0) if y > 1 => 3 + (y - 1),
        (3, 1) => 5 + (y - 1),
        _ => 0,
    }
}

/// CrazyAra, engine/src/environments/chess_related/board.cpp, `score_region`: the older table of Lichess, with the
/// constant outside the condition, so that even an undeveloped army counts as mixed. The start position scores 70.
const fn crazyara(y: u8, squares: (u32, u32)) -> u8 {
    match squares {
        (0, 2) => 2 + 6u8.saturating_sub(y),
        (0, 3 | 4) => 3 + 7u8.saturating_sub(y),
        (1, 1) => 5 + y.abs_diff(3),
        (1, 2) => 10 - y,
        (1, 3) => 11 - y,
        (2, 0) => 2 + y.saturating_sub(2),
        (2, 1) => 4 + y,
        (3 | 4, 0) => 3 + y.saturating_sub(1),
        (3, 1) => 5 + y,
        _ => lichess(y, squares),
    }
}
