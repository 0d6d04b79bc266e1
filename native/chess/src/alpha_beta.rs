//! Alpha-beta search with a simple evaluation: a deterministic classical opponent for every variant.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use moemcts_tree::{Action, State};
use shakmaty::variant::Variant as Board;
use shakmaty::{Move, Position};

use crate::evaluation::{evaluate, material};
use crate::moves::with_legal_moves;
use crate::state::{player, Chess};

/// Larger than any evaluation; a win in `n` plies scores `WIN - n`.
pub const WIN: i32 = 30_000;
/// Scores beyond this are forced wins.
const MIN_FORCED_WIN: i32 = WIN - 1_000;
/// Maximum length of a line in plies.
const MAX_PLIES: i32 = 128;
/// Plies of captures after which the static evaluation is used.
const MAX_CAPTURES: i32 = 16;
/// Plies after which the capture search no longer extends compulsory captures and checks.
const MAX_FORCED: i32 = 4;
const TABLE_SIZE: usize = 1 << 16;
const NODES_PER_CHECK: u64 = 512;

/// Limits of a search, which stops at the first one reached.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub depth: u32,
    pub nodes: u64,
    pub time: Option<Duration>,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchResult {
    pub action: Action,
    /// The score in centipawns for the side to move.
    pub score: i32,
    /// The last completed depth; 0 if there is none.
    pub depth: u32,
    pub nodes: u64,
}

/// Returns the best action, or None if the game is over; deterministic unless there is a time limit.
///
/// `stop` is polled for an early end. If that or a limit ends the search before the first depth is completed, it
/// returns the best action so far or, without one, the action with the best static evaluation.
///
/// Iterative deepening, principal variation search, a transposition table and quiescence search (Marsland, A Review of
/// Game-Tree Pruning, 1986), in which a compulsory capture cannot be declined at first.
pub fn search(state: &Chess, limits: &Limits, stop: &dyn Fn() -> bool) -> Option<SearchResult> {
    let mut search = Searcher {
        table: vec![None; TABLE_SIZE],
        history: vec![0; 64 * 64],
        limits: *limits,
        stop,
        started: Instant::now(),
        nodes: 0,
        best: None,
    };
    let mut result: Option<SearchResult> = None;
    let moves = if state.is_over() { 0 } else { with_legal_moves(state.position(), <[Move]>::len) };
    if moves == 0 {
        return None;
    }
    for depth in 1..=limits.depth.clamp(1, MAX_PLIES as u32) {
        search.best = None;
        let is_complete = search.alpha_beta(state, depth as i32, 0, -WIN, WIN).is_some();
        // The best action of the last iteration is tried first, so an incomplete iteration is no worse.
        if let Some((m, score)) = search.best {
            let depth = if is_complete { depth } else { depth - 1 };
            result = Some(SearchResult { action: state.action(m), score, depth, nodes: 0 });
        }
        let is_forced_win = search.best.is_some_and(|(_, score)| score.abs() >= MIN_FORCED_WIN);
        if !is_complete || is_forced_win || moves == 1 {
            break;
        }
    }
    result.or_else(|| best_static_move(state)).map(|result| SearchResult { nodes: search.nodes, ..result })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Exact,
    Lower,
    Upper,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    best: Option<Move>,
    score: i32,
    depth: i32,
    bound: Bound,
}

struct Searcher<'a> {
    /// By position, regardless of its history, so draws by repetition are detected only on the current line.
    table: Vec<Option<Entry>>,
    /// History heuristic: cutoffs of quiet moves by origin and target square.
    history: Vec<u32>,
    limits: Limits,
    stop: &'a dyn Fn() -> bool,
    started: Instant,
    nodes: u64,
    /// The best move at the root, and its score.
    best: Option<(Move, i32)>,
}

impl Searcher<'_> {
    /// Returns the score for the side to move, or None if a limit is reached.
    fn alpha_beta(&mut self, state: &Chess, depth: i32, ply: i32, mut alpha: i32, beta: i32) -> Option<i32> {
        if let Some(score) = terminal_score(state, ply) {
            self.nodes += 1;
            return Some(score);
        }
        let depth = if state.position().is_check() && ply > 0 { depth + 1 } else { depth };
        if depth <= 0 || ply >= MAX_PLIES {
            return self.quiescence(state, ply, 0, alpha, beta);
        }
        self.count_node()?;
        let key = state.hash();
        let slot = key as usize % TABLE_SIZE;
        let entry = self.table[slot].filter(|entry| entry.key == key);
        if let Some(entry) = entry.filter(|entry| ply > 0 && entry.depth >= depth) {
            let score = from_table(entry.score, ply);
            match entry.bound {
                Bound::Exact => return Some(score),
                Bound::Lower if score >= beta => return Some(score),
                Bound::Upper if score <= alpha => return Some(score),
                _ => {}
            }
        }
        let original_alpha = alpha;
        let mut best: Option<(Move, i32)> = None;
        for m in self.ordered_moves(state, entry.and_then(|entry| entry.best), |_| true) {
            let mut child = state.clone();
            child.play_move(m);
            let score = match best {
                None => -self.alpha_beta(&child, depth - 1, ply + 1, -beta, -alpha)?,
                Some(_) => {
                    let null_window_score = -self.alpha_beta(&child, depth - 1, ply + 1, -alpha - 1, -alpha)?;
                    match null_window_score > alpha && null_window_score < beta {
                        true => -self.alpha_beta(&child, depth - 1, ply + 1, -beta, -alpha)?,
                        false => null_window_score,
                    }
                }
            };
            if best.is_none_or(|(_, best_score)| score > best_score) {
                best = Some((m, score));
                if ply == 0 {
                    self.best = best;
                }
            }
            alpha = alpha.max(score);
            if alpha >= beta {
                if !m.is_capture() {
                    self.history[history_index(m)] += (depth * depth) as u32;
                }
                break;
            }
        }
        let (best, score) = best?;
        let bound = match score {
            score if score >= beta => Bound::Lower,
            score if score <= original_alpha => Bound::Upper,
            _ => Bound::Exact,
        };
        self.table[slot] = Some(Entry { key, best: Some(best), score: to_table(score, ply), depth, bound });
        Some(score)
    }

    /// Quiescence search: returns the score after captures and promotions have been played out.
    fn quiescence(&mut self, state: &Chess, ply: i32, depth: i32, mut alpha: i32, beta: i32) -> Option<i32> {
        self.count_node()?;
        if let Some(score) = terminal_score(state, ply) {
            return Some(score);
        }
        let position = state.position();
        let has_capture = || with_legal_moves(position, |moves| moves.iter().any(|m| m.is_capture()));
        let must_take = state.variant().board == Board::Antichess && has_capture();
        let is_forced = depth < MAX_FORCED && (must_take || position.is_check());
        let mut best = -WIN;
        if !is_forced {
            best = evaluate(state);
            alpha = alpha.max(best);
            if alpha >= beta || depth >= MAX_CAPTURES {
                return Some(best);
            }
        }
        for m in self.ordered_moves(state, None, |m| is_forced || m.is_capture() || m.is_promotion()) {
            let mut child = state.clone();
            child.play_move(m);
            let score = -self.quiescence(&child, ply + 1, depth + 1, -beta, -alpha)?;
            best = best.max(score);
            alpha = alpha.max(score);
            if alpha >= beta {
                break;
            }
        }
        Some(best)
    }

    /// Counts a node; None if a limit is reached.
    fn count_node(&mut self) -> Option<()> {
        self.nodes += 1;
        let is_due = self.nodes.is_multiple_of(NODES_PER_CHECK);
        let is_late =
            is_due && (self.limits.time.is_some_and(|limit| self.started.elapsed() >= limit) || (self.stop)());
        (self.nodes <= self.limits.nodes && !is_late).then_some(())
    }

    /// Returns moves in search order: the known best move, captures (most valuable victim first), promotions, others by
    /// history.
    fn ordered_moves(&self, state: &Chess, hash_move: Option<Move>, is_wanted: impl Fn(Move) -> bool) -> Vec<Move> {
        let rank = |m: Move| match (m, m.capture()) {
            _ if Some(m) == hash_move => i64::MAX,
            (_, Some(victim)) => (1 << 40) + i64::from(16 * material(victim) - material(m.role())),
            _ if m.is_promotion() => 1 << 39,
            _ => i64::from(self.history[history_index(m)]),
        };
        let filter_moves = |moves: &[Move]| moves.iter().copied().filter(|&m| is_wanted(m)).collect();
        let mut moves: Vec<Move> = with_legal_moves(state.position(), filter_moves);
        moves.sort_by_cached_key(|&m| Reverse(rank(m)));
        moves
    }
}

/// Returns the action with the best static evaluation after it; the first of several.
fn best_static_move(state: &Chess) -> Option<SearchResult> {
    let static_score = |m: Move| {
        let mut child = state.clone();
        child.play_move(m);
        -terminal_score(&child, 1).unwrap_or_else(|| evaluate(&child))
    };
    let best = with_legal_moves(state.position(), |moves| {
        // `min_by_key` returns the first of equal elements.
        moves.iter().map(|&m| (m, static_score(m))).min_by_key(|&(_, score)| Reverse(score))
    });
    best.map(|(m, score)| SearchResult { action: state.action(m), score, depth: 0, nodes: 0 })
}

/// Returns the score if the game is over or the position is a repetition.
fn terminal_score(state: &Chess, ply: i32) -> Option<i32> {
    if !state.is_over() {
        return (ply > 0 && state.repetitions() > 0).then_some(0);
    }
    let mut returns = [0.0; 2];
    let Ok(()) = state.returns(&mut returns);
    let own = returns[player(state.turn())];
    Some(if own > 0.0 {
        WIN - ply
    } else if own < 0.0 {
        ply - WIN
    } else {
        0
    })
}

/// In the table, wins are relative to the position rather than the root.
fn to_table(score: i32, ply: i32) -> i32 {
    match score {
        score if score >= MIN_FORCED_WIN => score + ply,
        score if score <= -MIN_FORCED_WIN => score - ply,
        score => score,
    }
}

fn from_table(score: i32, ply: i32) -> i32 {
    match score {
        score if score >= MIN_FORCED_WIN => score - ply,
        score if score <= -MIN_FORCED_WIN => score + ply,
        score => score,
    }
}

fn history_index(m: Move) -> usize {
    usize::from(m.from().unwrap_or(m.to())) * 64 + usize::from(m.to())
}
