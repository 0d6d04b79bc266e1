//! The game state: a position, the relevant part of its history, and the end of the game.

use std::convert::Infallible;
use std::num::NonZeroU32;

use moemcts_tree::{hash_of, Action, Dimensions, Observe, Player, Players, State};
use shakmaty::variant::VariantPosition;
use shakmaty::{Color, Move, Position, Square};

use crate::compact::{square_byte, Compact, HISTORY, NONE};
use crate::moves::with_legal_moves;
use crate::outcome::{self, End, Termination};
use crate::planes::PlaneSet;
use crate::policy::{self, View};
use crate::seen::Seen;
use crate::variant::{Rules, Variant};
use crate::zobrist::{self, Placement};

/// A position of one of the variants; White is player 0, Black player 1.
#[derive(Clone, Debug)]
pub struct Chess {
    position: VariantPosition,
    rules: Rules,
    /// Hash of pieces, castling rights and side to move.
    placement: u64,
    /// Hash of everything that matters for repetition.
    hash: u64,
    /// Sum of hashes of the positions in `seen`.
    seen_hash: u64,
    seen: Seen,
    moves: [u8; 2 * HISTORY],
    en_passant: Option<Square>,
    repetitions: u8,
    end: Option<End>,
}

impl Chess {
    /// Returns the standard start position of a variant.
    pub fn new(rules: Rules) -> Self {
        Self::from_position(VariantPosition::new(rules.variant.board), rules)
    }

    /// Returns a position without history.
    pub fn from_position(position: VariantPosition, rules: Rules) -> Self {
        Self::with_history(position, rules, [NONE; 2 * HISTORY], Seen::default(), 0)
    }

    /// Returns a position with its last moves, the positions it can repeat and how often it occurred among them;
    /// `repetitions` is used only if `seen` is empty, as in datasets.
    pub fn with_history(
        position: VariantPosition,
        rules: Rules,
        moves: [u8; 2 * HISTORY],
        seen: Seen,
        repetitions: u8,
    ) -> Self {
        let seen_hash = seen.to_vec().into_iter().fold(0u64, |sum, key| sum.wrapping_add(zobrist::mix(key, 1)));
        let mut state = Self {
            placement: zobrist::hash_placement(&position),
            hash: 0,
            seen_hash,
            seen,
            moves,
            en_passant: None,
            repetitions: 0,
            end: None,
            position,
            rules,
        };
        state.update_derived();
        if state.seen.is_empty() {
            state.repetitions = repetitions;
            state.end = state.find_end();
        }
        state
    }

    pub fn position(&self) -> &VariantPosition {
        &self.position
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the same position as networks with other planes see it.
    pub fn with_planes(mut self, planes: &'static PlaneSet) -> Self {
        self.rules.planes = planes;
        self
    }

    pub fn variant(&self) -> &'static Variant {
        self.rules.variant
    }

    pub fn turn(&self) -> Color {
        self.position.turn()
    }

    /// Returns the number of plies played, derived from the move number.
    pub fn num_plies(&self) -> u32 {
        plies(self.position.fullmoves(), self.turn())
    }

    /// Returns the last eight moves as pairs of squares, the newest first; 64 for none.
    pub fn last_moves(&self) -> [u8; 2 * HISTORY] {
        self.moves
    }

    /// Returns the positions that the game can still repeat, oldest first.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Returns the target square of a legal en passant capture.
    pub fn en_passant(&self) -> Option<Square> {
        self.en_passant
    }

    /// Returns a 64-bit hash of everything that matters for repetition: placement, side to move, and its rights.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns how often the position occurred before.
    pub fn repetitions(&self) -> u8 {
        self.repetitions
    }

    pub fn termination(&self) -> Option<Termination> {
        self.end.map(|end| end.termination)
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the point of view and castling notation of the policy.
    pub fn view(&self) -> View {
        View { flipped: self.variant().turns_board && self.turn().is_black(), castling: self.variant().castling }
    }

    /// Returns the policy index of a move of the side to move.
    pub fn action(&self, m: Move) -> Action {
        self.rules.policy.action(m, self.turn(), self.view())
    }

    /// Returns the legal move with that index, or None if there is none.
    pub fn legal_move(&self, action: Action) -> Option<Move> {
        self.to_move(action).filter(|&m| !self.is_over() && self.position.is_legal(m))
    }

    /// Returns the number of the next move as in movetext, `12. ` or `12... `.
    pub fn position_number(&self) -> String {
        format!("{}{} ", self.position.fullmoves(), if self.turn().is_white() { "." } else { "..." })
    }

    /// Plays a legal move.
    pub fn play_move(&mut self, m: Move) {
        let before = Placement::of(&self.position);
        let (from, to) = policy::squares(m, self.turn(), self.variant().castling);
        self.moves.copy_within(..2 * (HISTORY - 1), 2);
        self.moves[0] = square_byte(from);
        self.moves[1] = u8::from(to);
        self.position.play_unchecked(m);
        self.placement = zobrist::update(self.placement, &before, &self.position);
        let is_irreversible = before.castling() != self.position.castles().castling_rights()
            || self.variant().progresses && self.position.halfmoves() == 0;
        if is_irreversible {
            self.seen.clear();
            self.seen_hash = 0;
        } else {
            self.seen.push(self.hash);
            self.seen_hash = self.seen_hash.wrapping_add(zobrist::mix(self.hash, 1));
        }
        self.update_derived();
    }

    fn to_move(&self, action: Action) -> Option<Move> {
        self.rules.policy.to_move(action, &self.position, self.view())
    }

    /// Updates everything derived from the position and its history.
    fn update_derived(&mut self) {
        self.en_passant = self.position.legal_ep_square();
        self.hash = self.placement ^ zobrist::hash_rest(&self.position, self.en_passant);
        // A position cannot recur before the fourth half-move.
        self.repetitions = match self.seen.len() {
            0..=3 => 0,
            _ => self.seen.count(self.hash).min(u8::MAX.into()) as u8,
        };
        self.end = self.find_end();
    }

    fn find_end(&self) -> Option<End> {
        outcome::end(&self.position, &self.rules, self.repetitions, self.num_plies())
    }
}

impl State for Chess {
    type Error = Infallible;

    /// Derived from the move number, so that a position read from a FEN has a ply.
    fn ply(&self) -> Result<u32, Infallible> {
        Ok(self.num_plies())
    }

    fn active_players(&self) -> Result<Players, Infallible> {
        Ok(if self.is_over() { Players::NONE } else { Players::one(player(self.turn())) })
    }

    fn legal_actions(&self, player_: Player, out: &mut Vec<Action>) -> Result<(), Infallible> {
        if !self.is_over() && player_ == player(self.turn()) {
            let policy = self.rules.policy;
            with_legal_moves(&self.position, |moves| policy.actions(moves, self.turn(), self.view(), out));
        }
        Ok(())
    }

    /// Plays a legal action; an index without a move is ignored.
    fn play(&mut self, joint: &[Action]) -> Result<(), Infallible> {
        if let Some(m) = joint.first().and_then(|&action| self.to_move(action)) {
            self.play_move(m);
        }
        Ok(())
    }

    fn returns(&self, out: &mut [f32]) -> Result<(), Infallible> {
        out.fill(0.0);
        if let Some(winner) = self.end.and_then(|end| end.winner) {
            out[player(winner)] = 1.0;
            out[player(!winner)] = -1.0;
        }
        Ok(())
    }

    fn is_decided(&self, _: Player) -> Result<bool, Infallible> {
        Ok(self.is_over())
    }

    /// Hashes the position, the repetitions of it and of the positions before it, both counters, the last moves and the
    /// rules.
    fn key(&self) -> Result<u64, Infallible> {
        let counters = u64::from(self.position.halfmoves()) << 32 | u64::from(self.num_plies());
        let rules = u64::from(self.variant().id) << 32 | u64::from(self.rules.max_plies);
        let [newer, older] = [0, 8].map(|i| u64::from_le_bytes(std::array::from_fn(|j| self.moves[i + j])));
        let past = [self.seen_hash, u64::from(self.repetitions), counters, rules, newer, older];
        Ok(past.into_iter().fold(self.hash, zobrist::mix))
    }

    fn position_key(&self) -> Result<u64, Infallible> {
        Ok(self.hash)
    }
}

impl Observe for Chess {
    fn dimensions(&self) -> Dimensions {
        Dimensions {
            num_players: 2,
            num_actions: self.rules.policy.num_actions(),
            observation: [self.rules.planes.num_planes(), 8, 8],
        }
    }

    fn rules_key(&self) -> u64 {
        let Rules { variant, planes, policy, max_plies } = self.rules;
        hash_of(&(variant.id, planes.name, policy.name, max_plies))
    }

    /// The planes of the game's set; for the player not to move, as if it were to move.
    fn observe(&self, player: Player, out: &mut [f32]) -> Result<(), Infallible> {
        self.rules.planes.encode(&Compact::of(self), color(player)).write(out);
        Ok(())
    }
}

/// Returns the number of plies played before a position, derived from the move number.
pub fn plies(fullmoves: NonZeroU32, turn: Color) -> u32 {
    (fullmoves.get() - 1).saturating_mul(2).saturating_add(turn.is_black().into())
}

pub fn player(color: Color) -> Player {
    usize::from(color.is_black())
}

pub fn color(player: Player) -> Color {
    Color::from_black(player == 1)
}
