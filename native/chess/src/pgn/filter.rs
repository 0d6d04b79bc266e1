//! Filters of games.

use shakmaty::Color;

use crate::variant::Variant;

/// The relevant tags of a game.
#[derive(Clone, Debug, Default)]
pub struct Header {
    pub variant: Option<String>,
    pub fen: Option<String>,
    /// Of White and Black; 0 if unknown.
    pub elo: [u16; 2],
    /// Year, month and day as one number, 20171231; unknown parts are 0.
    pub date: u32,
    /// The result by its tag: 1 White won, 0 draw, -1 Black won.
    pub result: Option<i8>,
}

/// Conditions on games; all must hold.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Both players need at least this rating; unrated players fail.
    pub min_elo: u16,
    pub min_plies: u32,
    pub max_plies: u32,
    /// The accepted results.
    pub results: Vec<i8>,
    /// First and last accepted date.
    pub since: u32,
    pub until: u32,
}

impl Default for Filter {
    fn default() -> Self {
        Self { min_elo: 0, min_plies: 0, max_plies: u32::MAX, results: vec![1, 0, -1], since: 0, until: u32::MAX }
    }
}

/// Why a valid game was filtered out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    Variant,
    Elo,
    Length,
    Result,
    Date,
}

impl Rejection {
    pub const ALL: [Self; 5] = [Self::Variant, Self::Elo, Self::Length, Self::Result, Self::Date];

    pub fn name(self) -> &'static str {
        match self {
            Self::Variant => "variant",
            Self::Elo => "elo",
            Self::Length => "length",
            Self::Result => "result",
            Self::Date => "date",
        }
    }
}

impl Filter {
    /// Returns why the tags alone exclude a game.
    pub fn header_rejection(&self, header: &Header, variant: &Variant) -> Option<Rejection> {
        let is_right_variant = match &header.variant {
            Some(tag) => variant.is_called(tag),
            None => variant.name == "chess",
        };
        if !is_right_variant {
            return Some(Rejection::Variant);
        }
        if header.elo.iter().any(|&elo| elo < self.min_elo) {
            return Some(Rejection::Elo);
        }
        if header.date < self.since || header.date > self.until {
            return Some(Rejection::Date);
        }
        None
    }

    /// Returns why a game with that result and length is excluded.
    pub fn game_rejection(&self, result: Option<i8>, plies: usize) -> Option<Rejection> {
        if !result.is_some_and(|result| self.results.contains(&result)) {
            return Some(Rejection::Result);
        }
        let range = self.min_plies as usize..=self.max_plies as usize;
        (!range.contains(&plies)).then_some(Rejection::Length)
    }
}

impl Header {
    /// Parses one tag.
    pub fn read_tag(&mut self, name: &[u8], value: &str) {
        match name {
            b"Variant" => self.variant = Some(value.to_owned()),
            b"FEN" => self.fen = Some(value.to_owned()),
            b"WhiteElo" => self.elo[0] = value.parse().unwrap_or(0),
            b"BlackElo" => self.elo[1] = value.parse().unwrap_or(0),
            b"Date" | b"UTCDate" => self.date = self.date.max(parse_date(value)),
            b"Result" => self.result = parse_result(value),
            _ => {}
        }
    }
}

/// Returns 1 if White won, 0 for a draw, -1 if Black won.
pub fn result(winner: Option<Color>) -> i8 {
    match winner {
        Some(Color::White) => 1,
        None => 0,
        Some(Color::Black) => -1,
    }
}

fn parse_result(text: &str) -> Option<i8> {
    match text {
        "1-0" => Some(1),
        "0-1" => Some(-1),
        "1/2-1/2" => Some(0),
        _ => None,
    }
}

fn parse_date(text: &str) -> u32 {
    let mut parts = text.split(['.', '-', '/']).map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = |limit: u32| parts.next().filter(|&part| part <= limit).unwrap_or(0);
    10_000 * next(9999) + 100 * next(12) + next(31)
}
