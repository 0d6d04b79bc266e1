//! The interface between the search and games.

use crate::error::SearchError;
use crate::rng::Rng;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The index of a player, `0..num_players`, or `CHANCE`.
pub type Player = usize;

/// The pseudo-player that is active at chance nodes; it is not counted in `num_players`.
pub const CHANCE: Player = 31;

/// An index into the policy output of a network, `0..num_actions`.
pub type Action = u32;

/// A set of at most 31 players, and chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Players(u32);

impl Players {
    pub const NONE: Self = Self(0);
    pub const CHANCE: Self = Self(1 << CHANCE);
    pub const MAX: usize = 31;

    /// Returns the players `0..num_players`.
    pub fn all(num_players: usize) -> Self {
        debug_assert!(num_players <= Self::MAX);
        Self(((1u64 << num_players) - 1) as u32)
    }

    pub fn one(player: Player) -> Self {
        Self(1 << player)
    }

    pub fn with(self, player: Player) -> Self {
        Self(self.0 | 1 << player)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn contains(self, player: Player) -> bool {
        self.0 >> player & 1 == 1
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the players in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Player> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let player = rest.trailing_zeros() as Player;
                rest &= rest - 1;
                player
            })
        })
    }
}

impl FromIterator<Player> for Players {
    fn from_iter<I: IntoIterator<Item = Player>>(players: I) -> Self {
        players.into_iter().fold(Self::NONE, Self::with)
    }
}

/// A position of a game: a self-contained value that is cheap to clone.
///
/// The contract is that of `moemcts.game.Game`. `Error` is `Infallible` for a game written in Rust, and the
/// interpreter's exception for one written in Python.
pub trait State: Clone {
    type Error;

    /// Whether the game has rewards before its end.
    const HAS_REWARDS: bool = false;

    /// Returns how many half-moves (or simultaneous steps) were played since the start of the game.
    fn ply(&self) -> Result<u32, Self::Error>;

    /// Returns the players to move: none exactly when the game is over, only `CHANCE` at a chance node.
    fn active_players(&self) -> Result<Players, Self::Error>;

    /// Appends the legal actions of an active player, ascending.
    fn legal_actions(&self, player: Player, out: &mut Vec<Action>) -> Result<(), Self::Error>;

    /// Appends the legal actions worth searching: a non-empty subset of the legal ones, in the same order.
    fn search_actions(&self, player: Player, out: &mut Vec<Action>) -> Result<(), Self::Error> {
        self.legal_actions(player, out)
    }

    /// Plays one legal action per active player, in ascending order of players.
    fn play(&mut self, joint: &[Action]) -> Result<(), Self::Error>;

    /// Appends the probability of each legal action of `CHANCE` at a chance node.
    fn chances(&self, _out: &mut Vec<f32>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes the reward of each player for the step into this position; `out` is zero on entry.
    fn rewards(&self, _out: &mut [f32]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes the return of each player whose result is decided, in `[-1, 1]`, and 0 for the others.
    fn returns(&self, out: &mut [f32]) -> Result<(), Self::Error>;

    /// Returns whether the return of a player is final; such a player is never active again.
    fn is_decided(&self, player: Player) -> Result<bool, Self::Error>;

    /// Returns a 64-bit hash of everything that the rest of the game depends on.
    fn key(&self) -> Result<u64, Self::Error>;

    /// Returns a 64-bit hash of the current position, regardless of its history.
    fn position_key(&self) -> Result<u64, Self::Error> {
        self.key()
    }
}

/// Returns the players to move; an error if one of them is not a player of the game.
pub(crate) fn checked_active_players<S: State>(
    state: &S,
    num_players: usize,
) -> Result<Players, SearchError<S::Error>> {
    let active = state.active_players()?;
    let mut unknown = active.without(Players::all(num_players)).without(Players::CHANCE).iter();
    match unknown.next() {
        Some(player) => Err(SearchError::UnknownPlayer { player, num_players }),
        None => Ok(active),
    }
}

/// Returns whether the returns of all these players are final.
pub(crate) fn all_decided<S: State>(state: &S, players: Players) -> Result<bool, S::Error> {
    for player in players.iter() {
        if !state.is_decided(player)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns which of these players' returns are final.
pub(crate) fn decided<S: State>(state: &S, players: Players) -> Result<Players, S::Error> {
    let mut found = Players::NONE;
    for player in players.iter() {
        if state.is_decided(player)? {
            found = found.with(player);
        }
    }
    Ok(found)
}

/// Returns the discount factor of the step into a position, for players undecided before it. A chance node is part of
/// the step into it, so its factor is 1.
pub(crate) fn step_discount<S: State>(state: &S, discount: f64) -> Result<f64, S::Error> {
    Ok(if state.active_players()?.contains(CHANCE) { 1.0 } else { discount })
}

/// Returns a 64-bit hash of a value.
pub fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The sizes that depend on a game's variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions {
    pub num_players: usize,
    pub num_actions: usize,
    /// Planes, rows, columns.
    pub observation: [usize; 3],
}

/// A state that can be encoded for a network.
pub trait Observe: State {
    fn dimensions(&self) -> Dimensions;

    /// Returns a 64-bit hash of the game's rules and encodings, the same for all of its positions.
    fn rules_key(&self) -> u64;

    /// Writes the observation planes `[C, H, W]` of `player` into `out`, which is zero on entry.
    fn observe(&self, player: Player, out: &mut [f32]) -> Result<(), Self::Error>;
}

/// A native agent that plays a player that is not searched; a value whose memory is kept per node.
pub trait Agent<S: State>: Clone {
    fn act(&mut self, state: &S, player: Player, rng: &mut Rng) -> Result<Action, S::Error>;

    /// Returns whether another agent has the same script and settings, regardless of memory.
    fn plays_like(&self, other: &Self) -> bool;
}

/// The agent type of games without native scripted agents; it has no values.
#[derive(Clone, Copy, Debug)]
pub enum NoAgent {}

impl<S: State> Agent<S> for NoAgent {
    fn act(&mut self, _: &S, _: Player, _: &mut Rng) -> Result<Action, S::Error> {
        match *self {}
    }

    fn plays_like(&self, _: &Self) -> bool {
        match *self {}
    }
}
