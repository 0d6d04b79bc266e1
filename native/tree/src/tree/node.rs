//! The nodes: what every descent looks at in one cache line each, the rest beside it.

use super::edges::{EdgeId, Slot};
use super::moves::MoveId;
use crate::game::{Player, Players};

pub type NodeId = u32;
pub const NONE: u32 = u32::MAX;
pub const ROOT: NodeId = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Waits for its opponents' replies, for evaluations, or for both.
    Pending,
    Expanded,
    /// Chance moves: its one seat draws, and nothing is evaluated.
    Chance,
    /// Nothing below it matters: the game is over, or decided for all players that are searched.
    Terminal,
    /// Its result under best play is known; nothing below it matters any more.
    Proven,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Node {
    /// The first seat; in most games there is no other. It means nothing where there is none.
    pub seat: Seat,
    pub visits: u32,
    pub in_flight: u32,
    pub parent: NodeId,
    /// The edge of the parent's first seat that led here.
    pub(super) slot: Slot,
    /// The next child of the parent that shares this edge.
    pub(super) sibling: NodeId,
    /// Where the seats after the first lie.
    pub(super) first_seat: u32,
    /// Where the edges lie that led here from the parent's seats after the first, and the replies drawn there.
    pub(super) choices: u32,
    pub status: Status,
    pub num_seats: u8,
    /// Whether the way from the parent paid something or is discounted.
    pub(super) has_steps: bool,
}

/// What few descents look at.
#[derive(Clone, Debug)]
pub(super) struct Details {
    pub first_reply: u32,
    /// The steps from the parent that paid something or are discounted.
    pub first_step: u32,
    pub num_steps: u32,
    /// The first child of a node without seats.
    pub passage: NodeId,
    pub active: Players,
    /// Edges of the only seat that no proof tells the result of.
    pub num_unproven: u32,
    /// Plies to the end of the game along the line that proved it; 0 at an end.
    pub plies_left: u32,
    pub num_replies: u8,
    pub rows_left: u8,
}

/// A searched player that is active at a node, or chance.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Sum over the node's visits of the player's value, its own evaluation included.
    pub value_sum: f64,
    pub(super) visited_prior: f64,
    pub(super) first_move: MoveId,
    /// Its number of moves, and in the highest byte the player: with it, a node would be more than a cache line.
    pub(super) num_moves_and_player: u32,
    pub(super) first_edge: EdgeId,
    /// Moves that may be chosen, the first ones, in the order of their priors: these have edges. The others wait to be
    /// sorted in.
    pub(super) num_edges: u32,
}

const PLAYER_SHIFT: u32 = 24;

impl Node {
    /// Returns whether a node where players move was evaluated for a proof, and no simulation came to it yet.
    pub(super) fn is_scouted(&self) -> bool {
        self.status == Status::Expanded && self.num_seats > 0 && self.visits == 0
    }
}

impl Seat {
    /// Actions that a seat can number.
    pub const MOST_MOVES: usize = (1 << PLAYER_SHIFT) - 1;

    pub(super) fn new(player: Player, first_move: MoveId, num_moves: u32) -> Self {
        Self {
            value_sum: 0.0,
            visited_prior: 0.0,
            first_move,
            num_moves_and_player: (player as u32) << PLAYER_SHIFT | num_moves,
            first_edge: NONE,
            num_edges: 0,
        }
    }

    /// Returns the seat of a node where nobody sits.
    pub(super) fn nobody() -> Self {
        Self::new(Player::from(u8::MAX), 0, 0)
    }

    #[inline]
    pub fn player(&self) -> Player {
        (self.num_moves_and_player >> PLAYER_SHIFT) as Player
    }

    #[inline]
    pub fn num_moves(&self) -> u32 {
        self.num_moves_and_player & Self::MOST_MOVES as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_a_cache_line() {
        assert_eq!(size_of::<Node>(), crate::memory::LINE);
    }

    #[test]
    fn a_seat_knows_its_player_and_the_number_of_its_moves() {
        for (player, num_moves) in [(0, 1), (3, 218), (crate::game::CHANCE, 1_000_000)] {
            let seat = Seat::new(player, 5, num_moves);
            assert_eq!((seat.player(), seat.num_moves()), (player, num_moves));
        }
    }
}
