//! A search tree: nodes in order of creation, with their edges and states in separate flat arrays.

mod descend;
mod edges;
mod expand;
mod foresight;
mod gumbel;
mod lines;
mod moves;
mod node;
mod noise;
mod proof;
mod replies;
mod reuse;
mod select;
mod solver;
mod update;

pub use descend::{Cursor, Descent, Progress};
pub use lines::{Arm, Line};
pub use node::{Node, NodeId, Seat, Status, NONE, ROOT};

use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Action, Agent, Player, Players, State, CHANCE};
use crate::memory;
use crate::rng::Rng;
use descend::Suspended;
use edges::{Edge, Edges, Slot};
use moves::Moves;
use node::Details;

/// A searched position. `A` is the type of the agents that play players that are not searched.
#[derive(Clone)]
pub struct Tree<S, A> {
    pub nodes: Vec<Node>,
    details: Vec<Details>,
    /// The seats of all nodes after the first seat of each.
    seats: Vec<Seat>,
    edges: Edges,
    moves: Moves,
    pub states: Vec<S>,
    /// Per child, the slots of the edges that led to it from seats after the first, followed by the replies if these
    /// are sampled at every descent.
    choices: Vec<u32>,
    replies: Vec<(Player, Action)>,
    /// The agents of `modelled` players, `modelled.len()` per node: their state after acting at the node, or before it
    /// if replies are sampled at every descent.
    agents: Vec<A>,
    /// Per step, the rewards of all players and the discount factors of their later values, `2 * num_players` numbers.
    steps: Vec<f64>,
    /// Each node's own evaluation, or its result if it is terminal or proven; `num_players` per node.
    pub values: Vec<f32>,
    /// Proof numbers and visit counts of scouting descents, per node; empty if nothing can be proven.
    proof_statistics: Vec<proof::ProofStatistics>,
    pub num_players: usize,
    pub searched: Players,
    /// Players played by native agents.
    pub modelled: Players,
    /// Whether the root is restricted to some of its actions.
    is_restricted: bool,
    /// Whether opponents' replies are sampled at every descent.
    pub draws_replies: bool,
    suspended: Vec<Suspended>,
    pub rng: Rng,
    pub simulations: u32,
    /// Descents that looked for proofs; they do not count as simulations.
    pub num_scouts: u32,
    pub in_flight: u32,
    pub depth_sum: u64,
    pub max_depth: u32,
    /// Actions and original priors of the root's seats before noise, in ascending order of actions; empty without
    /// noise.
    original_priors: Vec<Vec<(Action, f32)>>,
    /// Plan of the Gumbel root, per seat of the root; empty without one.
    gumbel_plans: Vec<gumbel::GumbelPlan>,
    /// Virtual policies of all seats of the root, one per check.
    virtual_policies: Vec<Vec<f64>>,
    /// Whether the last check says that the search may end.
    is_foreseen: bool,
    scratch: Scratch,
}

#[derive(Clone, Default)]
struct Scratch {
    actions: Vec<Action>,
    chosen: Vec<Slot>,
    joint: Vec<Action>,
    /// Rewards, returns or probabilities.
    numbers: Vec<f32>,
    running: Vec<f64>,
    priors: Vec<f64>,
}

impl<S, A> Default for Tree<S, A> {
    /// Returns an empty tree, to be initialised by `reset`.
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            details: Vec::new(),
            seats: Vec::new(),
            edges: Edges::default(),
            moves: Moves::default(),
            states: Vec::new(),
            choices: Vec::new(),
            replies: Vec::new(),
            agents: Vec::new(),
            steps: Vec::new(),
            values: Vec::new(),
            proof_statistics: Vec::new(),
            num_players: 0,
            searched: Players::NONE,
            modelled: Players::NONE,
            is_restricted: false,
            draws_replies: false,
            suspended: Vec::new(),
            rng: Rng::new(0),
            simulations: 0,
            num_scouts: 0,
            in_flight: 0,
            depth_sum: 0,
            max_depth: 0,
            original_priors: Vec::new(),
            gumbel_plans: Vec::new(),
            virtual_policies: Vec::new(),
            is_foreseen: false,
            scratch: Scratch::default(),
        }
    }
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Starts a new tree at a root, reusing the memory of the previous one.
    ///
    /// `agents` play, in ascending order, the players that are neither searched nor external.
    pub fn reset(
        &mut self,
        root: S,
        num_players: usize,
        searched: Players,
        agents: Vec<(Player, A)>,
        rng: Rng,
        config: &Config,
    ) -> Result<(), SearchError<S::Error>> {
        if root.active_players()?.contains(CHANCE) {
            return Err(SearchError::ChanceRoot);
        }
        self.nodes.clear();
        self.details.clear();
        self.seats.clear();
        self.edges.clear();
        self.moves.clear(config.num_actions);
        self.states.clear();
        self.choices.clear();
        self.replies.clear();
        self.agents.clear();
        self.steps.clear();
        self.suspended.clear();
        self.original_priors.clear();
        self.gumbel_plans.clear();
        self.values.clear();
        self.proof_statistics.clear();
        self.num_players = num_players;
        self.searched = searched;
        self.modelled = agents.iter().map(|(player, _)| *player).collect();
        self.is_restricted = false;
        self.draws_replies = config.draws_replies;
        self.rng = rng;
        self.in_flight = 0;
        self.states.push(root);
        self.add_node(agents.into_iter().map(|(_, agent)| agent).collect(), NONE, 0, config)?;
        Ok(())
    }

    /// Restricts the actions of `player` at the root of a new tree to these, in ascending order.
    pub fn restrict(
        &mut self,
        player: Player,
        actions: &[Action],
        config: &Config,
    ) -> Result<(), SearchError<S::Error>> {
        let mut legal = Vec::new();
        self.states[ROOT as usize].legal_actions(player, &mut legal)?;
        let kept: Vec<Action> = legal.iter().copied().filter(|action| actions.contains(action)).collect();
        if kept.is_empty() || actions.iter().any(|action| !legal.contains(action)) {
            return Err(SearchError::RootActions { player, legal, got: actions.to_vec() });
        }
        let Some(seat) = (0..self.nodes[ROOT as usize].num_seats).find(|&i| self.seat(ROOT, i).player() == player)
        else {
            return Ok(());
        };
        // The seat's moves are appended at the end; its previous ones are left unused.
        *self.seat_mut(ROOT, seat) = expand::checked_seat::<S::Error>(player, &kept, &mut self.moves, config)?;
        self.details[ROOT as usize].num_unproven = kept.len() as u32;
        self.is_restricted = true;
        Ok(())
    }

    /// Returns whether a limit is reached, or an early end is due; runs the check for early ends if it is due.
    #[inline]
    pub fn is_over(&mut self, config: &Config) -> bool {
        self.check_early_end(config);
        self.is_foreseen || self.is_limit_reached(config) || self.is_move_certain(config)
    }

    /// Returns whether a limit is reached, counting what suspended descents will still add: a node after the reply, and
    /// one before the next reply if replies are sampled at every descent.
    pub fn is_limit_reached(&self, config: &Config) -> bool {
        let num_nodes = self.nodes.len() + self.suspended.len() * (1 + usize::from(self.draws_replies));
        let root = &self.nodes[ROOT as usize];
        matches!(root.status, Status::Terminal | Status::Proven)
            || self.is_full(config)
            || (root.visits > 0 || self.in_flight > 0)
                && (self.simulations + self.in_flight >= config.limits.simulations
                    || num_nodes >= config.limits.nodes as usize)
    }

    /// Returns whether an array has reached its maximum length, or the root its maximum visit count.
    fn is_full(&self, config: &Config) -> bool {
        let lens = [self.nodes.len(), self.seats.len(), self.moves.priors.len(), self.edges.len()];
        let more = [self.choices.len(), self.replies.len(), self.steps.len()];
        let root = &self.nodes[ROOT as usize];
        lens.into_iter().chain(more).fold(0, usize::max) >= config.limits.entries
            || root.visits.saturating_add(root.in_flight) == u32::MAX
    }

    /// Returns whether smart pruning applies: for each seat of the root, one action leads all others by more visits
    /// than are left.
    fn is_move_certain(&self, config: &Config) -> bool {
        let Some(planned) = config.smart_pruning else { return false };
        let left = planned.max(config.limits.simulations).saturating_sub(self.simulations);
        let is_ahead = |seat: &Seat| {
            let (mut first, mut second) = (0, 0);
            for edge in self.edges_of(seat) {
                second = second.max(first.min(edge.visits));
                first = first.max(edge.visits);
            }
            seat.num_moves() == 1 || first - second > left
        };
        self.nodes[ROOT as usize].status == Status::Expanded && self.seats_of(ROOT).all(is_ahead)
    }

    /// Returns whether the search ends early because more simulations would hardly change its recommendation.
    pub fn is_foreseen(&self) -> bool {
        self.is_foreseen
    }

    /// Returns the plies to the end of the game along the line that proved the root.
    pub fn plies_left(&self) -> Option<u32> {
        let is_proven = self.nodes[ROOT as usize].status == Status::Proven;
        is_proven.then(|| self.details[ROOT as usize].plies_left)
    }

    /// Returns the searched players active at a node in ascending order, or chance.
    pub fn viewers(&self, node: NodeId) -> impl Iterator<Item = Player> + '_ {
        self.seats_of(node).map(Seat::player)
    }

    pub fn seats_of(&self, node: NodeId) -> impl Iterator<Item = &Seat> + '_ {
        (0..self.nodes[node as usize].num_seats).map(move |i| self.seat(node, i))
    }

    #[inline]
    fn seat(&self, node: NodeId, i: u8) -> &Seat {
        match i {
            0 => &self.nodes[node as usize].seat,
            _ => &self.seats[self.nodes[node as usize].first_seat as usize + usize::from(i) - 1],
        }
    }

    #[inline]
    fn seat_mut(&mut self, node: NodeId, i: u8) -> &mut Seat {
        match i {
            0 => &mut self.nodes[node as usize].seat,
            _ => &mut self.seats[self.nodes[node as usize].first_seat as usize + usize::from(i) - 1],
        }
    }

    /// Returns the opened edges of a seat.
    fn edges_of(&self, seat: &Seat) -> &[Edge] {
        self.edges.block(seat.first_edge, seat.num_edges)
    }

    fn edge(&self, seat: &Seat, slot: Slot) -> &Edge {
        self.edges.get(seat.first_edge, slot)
    }

    fn action(&self, seat: &Seat, slot: Slot) -> Action {
        self.moves.action(seat.first_move + slot)
    }

    /// Returns the first of the children reached by `chosen`; a node without seats has a single list of children.
    fn first_child(&self, node: NodeId, chosen: &[Slot]) -> NodeId {
        let record = &self.nodes[node as usize];
        match record.num_seats {
            0 => self.details[node as usize].first_child,
            _ => self.edge(&record.seat, chosen[0]).child,
        }
    }

    /// Returns the child reached by the chosen edges and the replies after them; `first_child` is the first of those
    /// that share the first edge.
    ///
    /// With one seat and replies sampled once per node, the list has a single entry.
    #[inline(always)]
    fn child(&self, node: NodeId, first_child: NodeId, chosen: &[Slot]) -> Option<NodeId> {
        let mut child = first_child;
        if chosen.len() > 1 || self.draws_replies {
            let rest = &chosen[self.nodes[node as usize].num_seats.min(1).into()..];
            // A call to memcmp takes longer than comparing these few numbers.
            let is_other = |child: &Node| rest.iter().zip(&self.choices[child.choices as usize..]).any(|(a, b)| a != b);
            while child != NONE && is_other(&self.nodes[child as usize]) {
                child = self.nodes[child as usize].sibling;
            }
        }
        (child != NONE).then_some(child)
    }

    /// Returns the slots of the edges that led to a child from its parent's seats.
    fn choices_of(&self, child: NodeId) -> impl Iterator<Item = Slot> + '_ {
        let record = &self.nodes[child as usize];
        let num_seats = usize::from(self.nodes[record.parent as usize].num_seats);
        let rest = &self.choices[record.choices as usize..][..num_seats.saturating_sub(1)];
        (num_seats > 0).then_some(record.slot).into_iter().chain(rest.iter().copied())
    }

    /// Prefetches what a descent to a child reads next.
    #[inline]
    fn prefetch(&self, child: NodeId, prefetch_hint: edges::EdgeId) {
        memory::prefetch(&self.nodes, child as usize);
        self.edges.prefetch(prefetch_hint);
    }
}
