//! Tree nodes: the fields that every descent reads, in one cache line per node, and the others beside it.

use super::edges::{EdgeId, Slot};
use super::moves::MoveId;
use crate::game::{Player, Players};

pub type NodeId = u32;
pub const NONE: u32 = u32::MAX;
pub const ROOT: NodeId = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Waiting for opponents' replies, for evaluations, or for both.
    Pending,
    Expanded,
    /// A chance node: its only seat samples, and nothing is evaluated.
    Chance,
    /// The game is over, or decided for all searched players.
    Terminal,
    /// The result under best play is known.
    Proven,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Node {
    /// The first seat; most games have no other. Meaningless if `num_seats` is 0.
    pub seat: Seat,
    pub visits: u32,
    pub in_flight: u32,
    pub parent: NodeId,
    /// The edge of the parent's first seat that led here.
    pub(super) slot: Slot,
    /// The next child of the parent that shares this edge.
    pub(super) sibling: NodeId,
    /// The index of the node's second seat.
    pub(super) first_seat: u32,
    /// The index in `choices` of the edges from the parent's other seats, and of the replies sampled there.
    pub(super) choices: u32,
    pub status: Status,
    pub num_seats: u8,
    /// Whether the steps from the parent have rewards or discounts.
    pub(super) has_steps: bool,
}

/// Fields that few descents read.
#[derive(Clone, Debug)]
pub(super) struct Details {
    pub first_reply: u32,
    /// The steps from the parent, if they have rewards or discounts.
    pub first_step: u32,
    pub num_steps: u32,
    /// The first child of a node without seats.
    pub first_child: NodeId,
    pub active: Players,
    /// Number of edges of the only seat without a proven result.
    pub num_unproven: u32,
    /// Plies to the end of the game along the proof; 0 if terminal.
    pub plies_left: u32,
    pub num_replies: u8,
    pub evaluations_left: u8,
}

/// A searched player active at a node, or chance.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Sum of the player's values over the node's visits, including its own evaluation.
    pub value_sum: f64,
    pub(super) visited_prior: f64,
    pub(super) first_move: MoveId,
    /// The number of moves, with the player in the highest byte: a separate field would not fit into the node's cache
    /// line.
    pub(super) num_moves_and_player: u32,
    pub(super) first_edge: EdgeId,
    /// Number of moves that have edges and may be selected. They come first, sorted by prior; the others are not sorted
    /// yet.
    pub(super) num_edges: u32,
}

const PLAYER_SHIFT: u32 = 24;

impl Node {
    /// Returns whether the node was evaluated for a proof but has not been visited by a simulation.
    pub(super) fn is_scouted(&self) -> bool {
        self.status == Status::Expanded && self.num_seats > 0 && self.visits == 0
    }
}

impl Seat {
    /// Largest number of actions of a seat.
    pub const MAX_MOVES: usize = (1 << PLAYER_SHIFT) - 1;

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

    /// Returns the placeholder seat of a node without seats.
    pub(super) fn placeholder() -> Self {
        Self::new(Player::from(u8::MAX), 0, 0)
    }

    #[inline]
    pub fn player(&self) -> Player {
        (self.num_moves_and_player >> PLAYER_SHIFT) as Player
    }

    #[inline]
    pub fn num_moves(&self) -> u32 {
        self.num_moves_and_player & Self::MAX_MOVES as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_a_cache_line() {
        assert_eq!(size_of::<Node>(), crate::memory::CACHE_LINE);
    }

    #[test]
    fn a_seat_knows_its_player_and_the_number_of_its_moves() {
        for (player, num_moves) in [(0, 1), (3, 218), (crate::game::CHANCE, 1_000_000)] {
            let seat = Seat::new(player, 5, num_moves);
            assert_eq!((seat.player(), seat.num_moves()), (player, num_moves));
        }
    }
}
