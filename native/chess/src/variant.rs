//! The variants as data: what distinguishes one game of the family from another.

use shakmaty::variant::Variant as Board;
use shakmaty::CastlingMode;

use crate::planes::{self, PlaneSet};
use crate::policy::{self, PolicyMap};

/// One game of the family.
#[derive(Debug)]
pub struct Variant {
    /// The name under which the game is registered.
    pub name: &'static str,
    /// Its names in the `Variant` tag of PGN files, in lower case, letters and digits only.
    pub pgn_names: &'static [&'static str],
    /// The id stored in compact positions.
    pub id: u8,
    pub board: Board,
    /// Whether castling is written as king takes rook, which Chess960 requires.
    pub castling: CastlingMode,
    /// Whether the board is flipped for Black; in racing kings both sides run in the same direction.
    pub turns_board: bool,
    /// Whether the fifty-move rule applies and captures are irreversible, unlike in crazyhouse, where captured pieces
    /// return.
    pub progresses: bool,
    pub planes: &'static PlaneSet,
    pub policy: &'static PolicyMap,
}

const fn lichess(name: &'static str, id: u8, board: Board, pgn_names: &'static [&'static str]) -> Variant {
    Variant {
        name,
        pgn_names,
        id,
        board,
        castling: CastlingMode::Standard,
        turns_board: true,
        progresses: true,
        planes: &planes::MULTI,
        policy: &policy::CHESS,
    }
}

pub static VARIANTS: [Variant; 9] = [
    Variant { planes: &planes::V2, ..lichess("chess", 0, Board::Chess, &["chess", "standard", "fromposition"]) },
    Variant {
        planes: &planes::V2,
        castling: CastlingMode::Chess960,
        ..lichess("chess960", 1, Board::Chess, &["chess960", "fischerandom", "fischerrandom"])
    },
    Variant { policy: &policy::ANTICHESS, ..lichess("antichess", 2, Board::Antichess, &["antichess", "giveaway"]) },
    lichess("atomic", 3, Board::Atomic, &["atomic", "atomicchess"]),
    Variant {
        progresses: false,
        policy: &policy::CRAZYHOUSE,
        ..lichess("crazyhouse", 4, Board::Crazyhouse, &["crazyhouse"])
    },
    lichess("kingofthehill", 5, Board::KingOfTheHill, &["kingofthehill", "koth"]),
    lichess("threecheck", 6, Board::ThreeCheck, &["threecheck", "3check"]),
    lichess("horde", 7, Board::Horde, &["horde"]),
    Variant { turns_board: false, ..lichess("racingkings", 8, Board::RacingKings, &["racingkings"]) },
];

impl Variant {
    /// Returns the variant with that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        VARIANTS.iter().find(|variant| variant.name == name)
    }

    /// Returns the variant with that id.
    pub fn numbered(id: u8) -> Option<&'static Self> {
        VARIANTS.get(usize::from(id))
    }

    /// Returns whether a PGN `Variant` tag denotes this variant.
    pub fn is_called(&self, tag: &str) -> bool {
        let plain: String = tag.chars().filter(char::is_ascii_alphanumeric).collect();
        self.pgn_names.contains(&plain.to_ascii_lowercase().as_str())
    }

    pub fn is_960(&self) -> bool {
        self.castling == CastlingMode::Chess960
    }
}

/// The rules and encodings of a game: a variant, a plane set, a policy map and a maximum length.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub variant: &'static Variant,
    pub planes: &'static PlaneSet,
    pub policy: &'static PolicyMap,
    /// A game that reaches this ply is a draw.
    pub max_plies: u32,
}

impl Rules {
    /// Exceeded only by a handful of master games.
    pub const DEFAULT_MAX_PLIES: u32 = 1024;
    /// Upper bound on `max_plies`, so that counters fit into a compact position.
    pub const MAX_PLIES_LIMIT: u32 = 1_000_000;

    /// Returns the variant's own encodings and the default maximum length.
    pub fn of(variant: &'static Variant) -> Self {
        Self { variant, planes: variant.planes, policy: variant.policy, max_plies: Self::DEFAULT_MAX_PLIES }
    }
}
