//! Endgame tablebases: the result with few pieces left, and the distance to a capture or pawn move.

use std::cmp::Reverse;
use std::path::Path;

use shakmaty::variant::{Antichess, Atomic, VariantPosition};
use shakmaty::{Move, Position};
use shakmaty_syzygy::{AmbiguousWdl, Dtz, MaybeRounded, Syzygy, SyzygyError, Tablebase};

use crate::state::Chess;
use crate::variant::Variant;

/// The tables of one variant; they exist only for chess, atomic and antichess.
pub enum Tables {
    Chess(Tablebase<shakmaty::Chess>),
    Atomic(Tablebase<Atomic>),
    Antichess(Tablebase<Antichess>),
}

/// A legal move and its result for the side that plays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    pub action: Move,
    /// 2 win, 1 win prevented by the fifty-move rule, 0 draw, -1 loss prevented by the rule, -2 loss.
    pub wdl: i8,
    /// Plies until the next capture or pawn move of the line, including this move; negative in a loss.
    pub dtz: i32,
}

impl Tables {
    /// Returns an empty set of tables, or None if there are no tables for the variant.
    pub fn of(variant: &Variant) -> Option<Self> {
        match variant.board {
            shakmaty::variant::Variant::Chess => Some(Self::Chess(Tablebase::new())),
            shakmaty::variant::Variant::Atomic => Some(Self::Atomic(Tablebase::new())),
            shakmaty::variant::Variant::Antichess => Some(Self::Antichess(Tablebase::new())),
            _ => None,
        }
    }

    /// Adds the files of a folder; returns the number of tables of the variant among them.
    pub fn add(&mut self, folder: &Path) -> std::io::Result<usize> {
        match self {
            Self::Chess(tables) => tables.add_directory(folder),
            Self::Atomic(tables) => tables.add_directory(folder),
            Self::Antichess(tables) => tables.add_directory(folder),
        }
    }

    /// Returns the largest number of pieces of any table.
    pub fn max_pieces(&self) -> usize {
        match self {
            Self::Chess(tables) => tables.max_pieces(),
            Self::Atomic(tables) => tables.max_pieces(),
            Self::Antichess(tables) => tables.max_pieces(),
        }
    }

    /// Returns the result for the side to move, 1, 0 or -1, or None if the tables do not determine it.
    ///
    /// Wins prevented by the fifty-move rule are draws. The current half-move clock is taken into account if there is a
    /// DTZ table; without one, only positions right after a capture or pawn move have a result.
    pub fn value(&self, state: &Chess) -> Option<f32> {
        if state.is_over() || state.position().board().occupied().count() > self.max_pieces() {
            return None;
        }
        let result = match (self, state.position()) {
            (Self::Chess(tables), VariantPosition::Chess(position)) => wdl(tables, position),
            (Self::Atomic(tables), VariantPosition::Atomic(position)) => wdl(tables, position),
            (Self::Antichess(tables), VariantPosition::Antichess(position)) => wdl(tables, position),
            _ => return None,
        };
        result.ok().map(|wdl| f32::from(wdl_number(wdl) / 2))
    }

    /// Returns the legal moves, best first, or None if a table is missing.
    ///
    /// Among winning moves, those that make progress soonest come first; among losing moves, those that last longest.
    pub fn ranked(&self, state: &Chess) -> Option<Vec<Ranked>> {
        if state.is_over() || state.position().board().occupied().count() > self.max_pieces() {
            return None;
        }
        let result = match (self, state.position()) {
            (Self::Chess(tables), VariantPosition::Chess(position)) => ranked(tables, position),
            (Self::Atomic(tables), VariantPosition::Atomic(position)) => ranked(tables, position),
            (Self::Antichess(tables), VariantPosition::Antichess(position)) => ranked(tables, position),
            _ => return None,
        };
        result.ok()
    }
}

fn wdl<S: Position + Clone + Syzygy>(tables: &Tablebase<S>, position: &S) -> Result<AmbiguousWdl, SyzygyError> {
    if position.halfmoves() == 0 {
        return tables.probe_wdl_after_zeroing(position).map(AmbiguousWdl::from);
    }
    tables.probe_wdl(position)
}

fn ranked<S: Position + Clone + Syzygy>(tables: &Tablebase<S>, position: &S) -> Result<Vec<Ranked>, SyzygyError> {
    let mut moves = Vec::new();
    for action in position.legal_moves() {
        let mut child = position.clone();
        child.play_unchecked(action);
        let dtz = tables.probe_dtz(&child)?;
        let is_end = child.is_checkmate() || child.variant_outcome().is_known();
        // A win on the hundredth half-move counts.
        let counter = if is_end { 0 } else { child.halfmoves() };
        let wdl = -AmbiguousWdl::from_dtz_and_halfmoves(dtz, counter);
        // The order of `Tablebase::best_move`, after the outcome with the current half-move clock.
        let is_zeroing = action.is_zeroing();
        let key = (Reverse(wdl), !is_end, is_zeroing ^ dtz.is_negative(), Reverse(dtz.ignore_rounding()));
        moves.push((key, Ranked { action, wdl: wdl_number(wdl), dtz: dtz_before_move(dtz, is_zeroing || is_end) }));
    }
    moves.sort_by_key(|(key, _)| *key);
    Ok(moves.into_iter().map(|(_, ranked)| ranked).collect())
}

fn wdl_number(wdl: AmbiguousWdl) -> i8 {
    match wdl {
        AmbiguousWdl::Loss | AmbiguousWdl::MaybeLoss => -2,
        AmbiguousWdl::BlessedLoss => -1,
        AmbiguousWdl::Draw => 0,
        AmbiguousWdl::CursedWin => 1,
        AmbiguousWdl::MaybeWin | AmbiguousWdl::Win => 2,
    }
}

/// Returns the mover's DTZ, given that of the position after the move.
fn dtz_before_move(after: MaybeRounded<Dtz>, resets: bool) -> i32 {
    let dtz = (-after).ignore_rounding();
    i32::from(if resets { Dtz(dtz.signum()) } else { dtz.add_plies_saturating(1) })
}
