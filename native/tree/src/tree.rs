//! One tree: nodes in the order of their creation, edges and states beside them in flat arrays.

mod lines;
mod reuse;
mod select;
mod solver;
mod update;

pub use lines::Line;

use crate::config::Config;
use crate::error::SearchError;
use crate::game::{all_decided, Action, Agent, Player, Players, State};
use crate::rng::Rng;

pub type NodeId = u32;
pub type EdgeId = u32;
pub const NONE: u32 = u32::MAX;
pub const ROOT: NodeId = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Waits for its opponents' replies, for evaluations, or for both.
    Pending,
    Expanded,
    /// Nothing below it matters: the game is over, or decided for all players that are searched.
    Terminal,
    /// Its result under best play is known; nothing below it matters any more.
    Proven,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub parent: NodeId,
    /// Where the edges start that led here from the parent, one per seat of the parent.
    choices: u32,
    /// The next child of the parent that shares the first of these edges.
    sibling: NodeId,
    pub first_seat: u32,
    pub num_seats: u32,
    first_reply: u32,
    num_replies: u32,
    pub visits: u32,
    pub in_flight: u32,
    rows_left: u32,
    /// The edge that a node without seats keeps for its only child.
    passage: EdgeId,
    active: Players,
    pub status: Status,
    /// Plies to the end of the game along the line that proved it; 0 at an end.
    pub plies_left: u32,
}

/// A searched player that is active at a node.
#[derive(Clone, Debug)]
pub struct Seat {
    pub player: Player,
    pub first_edge: EdgeId,
    pub num_edges: u32,
    /// Edges that may be chosen: the first ones, in the order of their priors. The others wait to be sorted in.
    num_open: u32,
    /// Edges that no proof tells the result of.
    num_unproven: u32,
    /// Sum over the node's visits of the player's value, its own evaluation included.
    pub value_sum: f64,
    visited_prior: f64,
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub value_sum: f64,
    pub prior: f32,
    pub action: Action,
    pub visits: u32,
    pub in_flight: u32,
    /// The first child that this edge leads to; used on a node's first seat only.
    child: NodeId,
    /// Whether it is proven to lose; it is not gone down any more.
    is_lost: bool,
}

/// What one descent came to.
pub enum Descent {
    Leaf(NodeId),
    Terminal,
    /// It met a leaf that is already waiting for its evaluation.
    Collision,
}

/// One searched position. `A` are the agents of the players that are not searched.
pub struct Tree<S, A> {
    pub nodes: Vec<Node>,
    pub seats: Vec<Seat>,
    pub edges: Vec<Edge>,
    pub states: Vec<S>,
    choices: Vec<EdgeId>,
    replies: Vec<(Player, Action)>,
    /// The agents of `modelled` players as they are after acting at a node, `modelled.len()` per node.
    agents: Vec<A>,
    /// Each node's own evaluation, or its result at an end and where it is proven; `num_players` per node.
    pub values: Vec<f32>,
    pub num_players: usize,
    pub searched: Players,
    /// Players whose agents act natively.
    modelled: Players,
    /// Whether the root has only some of its actions.
    is_restricted: bool,
    pub rng: Rng,
    pub simulations: u32,
    pub in_flight: u32,
    pub depth_sum: u64,
    pub max_depth: u32,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    actions: Vec<Action>,
    chosen: Vec<EdgeId>,
    joint: Vec<Action>,
    priors: Vec<f64>,
}

impl<S, A> Default for Tree<S, A> {
    /// Returns bare ground, to be planted.
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            seats: Vec::new(),
            edges: Vec::new(),
            states: Vec::new(),
            choices: Vec::new(),
            replies: Vec::new(),
            agents: Vec::new(),
            values: Vec::new(),
            num_players: 0,
            searched: Players::NONE,
            modelled: Players::NONE,
            is_restricted: false,
            rng: Rng::new(0),
            simulations: 0,
            in_flight: 0,
            depth_sum: 0,
            max_depth: 0,
            scratch: Scratch::default(),
        }
    }
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Starts anew from a root, in the memory of what grew here before.
    ///
    /// `agents` act, in ascending order, for players that are neither searched nor answered for from outside.
    pub fn plant(
        &mut self,
        root: S,
        num_players: usize,
        searched: Players,
        agents: Vec<(Player, A)>,
        rng: Rng,
    ) -> Result<(), SearchError<S::Error>> {
        self.nodes.clear();
        self.seats.clear();
        self.edges.clear();
        self.states.clear();
        self.choices.clear();
        self.replies.clear();
        self.agents.clear();
        self.values.clear();
        self.num_players = num_players;
        self.searched = searched;
        self.modelled = agents.iter().map(|(player, _)| *player).collect();
        self.is_restricted = false;
        self.rng = rng;
        self.in_flight = 0;
        self.add(root, agents.into_iter().map(|(_, agent)| agent).collect(), NONE)?;
        Ok(())
    }

    /// Searches no other actions of `player` at the root just planted than these, in ascending order.
    pub fn restrict(&mut self, player: Player, actions: &[Action]) -> Result<(), SearchError<S::Error>> {
        let mut legal = Vec::new();
        self.states[ROOT as usize].legal_actions(player, &mut legal)?;
        let kept: Vec<Action> = legal.iter().copied().filter(|action| actions.contains(action)).collect();
        if kept.is_empty() || actions.iter().any(|action| !legal.contains(action)) {
            return Err(SearchError::RootActions { player, legal, got: actions.to_vec() });
        }
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.player == player) else { return Ok(()) };
        // The seat's edges move to the end; those it had stay behind unused.
        seat.first_edge = self.edges.len() as EdgeId;
        seat.num_edges = kept.len() as u32;
        seat.num_unproven = seat.num_edges;
        self.edges.extend(kept.into_iter().map(Edge::new));
        self.is_restricted = true;
        Ok(())
    }

    pub fn is_done(&self, config: &Config) -> bool {
        let root = &self.nodes[ROOT as usize];
        matches!(root.status, Status::Terminal | Status::Proven)
            || (root.visits > 0 || self.in_flight > 0)
                && (self.simulations + self.in_flight >= config.limits.simulations
                    || self.nodes.len() >= config.limits.nodes as usize)
    }

    /// Goes down from the root by the best action of each seat until something new, known or waiting is met.
    pub fn descend(&mut self, config: &Config) -> Result<Descent, SearchError<S::Error>> {
        let mut at = ROOT;
        let mut depth = 0;
        if self.nodes[ROOT as usize].status == Status::Pending {
            if self.nodes[ROOT as usize].in_flight > 0 {
                return Ok(Descent::Collision);
            }
            self.hold(ROOT);
            return Ok(Descent::Leaf(ROOT));
        }
        loop {
            let mut chosen = std::mem::take(&mut self.scratch.chosen);
            self.choose(at, config, &mut chosen);
            let child = self.child(at, &chosen);
            let next = match child {
                Some(child) => child,
                None => self.grow(at, &chosen)?,
            };
            self.scratch.chosen = chosen;
            depth += 1;
            at = next;
            match self.nodes[at as usize].status {
                Status::Expanded => {}
                Status::Terminal | Status::Proven => {
                    self.record_depth(depth);
                    self.finish(at, 0);
                    if child.is_none() && self.solves(config) {
                        self.prove_above(at);
                    }
                    return Ok(Descent::Terminal);
                }
                Status::Pending if child.is_some() => return Ok(Descent::Collision),
                Status::Pending => {
                    self.record_depth(depth);
                    self.hold(at);
                    return Ok(Descent::Leaf(at));
                }
            }
        }
    }

    /// Returns the players whose views a pending leaf waits for, ascending.
    pub fn viewers(&self, node: NodeId) -> impl Iterator<Item = Player> + '_ {
        self.seats_of(node).iter().map(|seat| seat.player)
    }

    /// Returns the players whose replies have to come from outside.
    pub fn awaited(&self, node: NodeId) -> Players {
        self.nodes[node as usize].active.without(self.searched).without(self.modelled)
    }

    /// Notes what players outside reply at a pending leaf, ascending; returns whether the leaf still waits for evaluations.
    ///
    /// A leaf where nobody searched is active needs none: the next descent goes through it.
    pub fn reply(&mut self, node: NodeId, replies: &[(Player, Action)]) -> bool {
        let modelled = self.replies_of(node).to_vec();
        let first = self.replies.len() as u32;
        self.replies.extend(modelled);
        self.replies.extend_from_slice(replies);
        self.replies[first as usize..].sort_unstable();
        let record = &mut self.nodes[node as usize];
        record.first_reply = first;
        record.num_replies += replies.len() as u32;
        if record.num_seats > 0 {
            return true;
        }
        record.status = Status::Expanded;
        record.visits = 1;
        self.release(node);
        false
    }

    pub fn seats_of(&self, node: NodeId) -> &[Seat] {
        let node = &self.nodes[node as usize];
        &self.seats[node.first_seat as usize..(node.first_seat + node.num_seats) as usize]
    }

    pub fn edges_of(&self, seat: &Seat) -> &[Edge] {
        &self.edges[seat.first_edge as usize..(seat.first_edge + seat.num_edges) as usize]
    }

    /// Returns the child that the chosen edges lead to. With one seat the chain has one link.
    fn child(&self, node: NodeId, chosen: &[EdgeId]) -> Option<NodeId> {
        let mut child = self.edges[self.anchor(node, chosen) as usize].child;
        while child != NONE {
            let start = self.nodes[child as usize].choices as usize;
            // The first seat's edge is the one whose chain this is.
            if chosen.iter().enumerate().skip(1).all(|(i, edge)| self.choices[start + i] == *edge) {
                return Some(child);
            }
            child = self.nodes[child as usize].sibling;
        }
        None
    }

    /// Returns the edge that holds the children reached by `chosen`; a node without seats keeps one for its only child.
    fn anchor(&self, node: NodeId, chosen: &[EdgeId]) -> EdgeId {
        match chosen.first() {
            Some(&edge) => edge,
            None => self.nodes[node as usize].passage,
        }
    }

    /// Plays the chosen edges and the opponents' replies, and adds the node they lead to.
    fn grow(&mut self, node: NodeId, chosen: &[EdgeId]) -> Result<NodeId, SearchError<S::Error>> {
        let mut state = self.states[node as usize].clone();
        let mut joint = std::mem::take(&mut self.scratch.joint);
        joint.clear();
        let mut edges = chosen.iter().map(|&edge| self.edges[edge as usize].action);
        let mut replies = self.replies_of(node).iter().map(|&(_, action)| action);
        for player in self.nodes[node as usize].active.iter() {
            joint.extend(if self.searched.contains(player) { edges.next() } else { replies.next() });
        }
        state.play(&joint)?;
        self.scratch.joint = joint;
        let stride = self.modelled.len();
        let agents = self.agents[node as usize * stride..(node as usize + 1) * stride].to_vec();
        let child = self.add(state, agents, node)?;
        let anchor = self.anchor(node, chosen) as usize;
        let record = &mut self.nodes[child as usize];
        record.choices = self.choices.len() as u32;
        record.sibling = self.edges[anchor].child;
        self.choices.extend_from_slice(chosen);
        self.edges[anchor].child = child;
        Ok(child)
    }

    /// Adds a node with its seats and edges, after playing on through positions where only modelled players move.
    fn add(&mut self, mut state: S, mut agents: Vec<A>, parent: NodeId) -> Result<NodeId, SearchError<S::Error>> {
        let node = self.nodes.len() as NodeId;
        let start = self.values.len();
        self.values.resize(start + self.num_players, 0.0);
        let first_reply = self.replies.len();
        let (status, active) = loop {
            let active = state.active_players()?;
            if active.and(self.searched).is_empty() && self.is_decided(&state, active)? {
                let values = &mut self.values[start..];
                state.returns(values)?;
                break (Status::Terminal, active);
            }
            for (agent, player) in agents.iter_mut().zip(self.modelled.iter()) {
                if active.contains(player) {
                    self.replies.push((player, agent.act(&state, player, &mut self.rng)?));
                }
            }
            if !active.without(self.modelled).is_empty() {
                break (Status::Pending, active);
            }
            let joint: Vec<Action> = self.replies.drain(first_reply..).map(|(_, action)| action).collect();
            state.play(&joint)?;
        };
        let first_seat = self.seats.len();
        if status == Status::Pending {
            for player in active.and(self.searched).iter() {
                self.add_seat(&state, player)?;
            }
        }
        let num_seats = (self.seats.len() - first_seat) as u32;
        let passage = self.add_passage(num_seats, status);
        self.nodes.push(Node {
            parent,
            choices: 0,
            sibling: NONE,
            first_seat: first_seat as u32,
            num_seats,
            first_reply: first_reply as u32,
            num_replies: (self.replies.len() - first_reply) as u32,
            visits: 0,
            in_flight: 0,
            rows_left: num_seats,
            passage,
            active,
            status,
            plies_left: 0,
        });
        self.states.push(state);
        self.agents.append(&mut agents);
        Ok(node)
    }

    fn add_passage(&mut self, num_seats: u32, status: Status) -> EdgeId {
        if num_seats > 0 || status == Status::Terminal {
            return NONE;
        }
        self.edges.push(Edge::new(0));
        self.edges.len() as EdgeId - 1
    }

    fn add_seat(&mut self, state: &S, player: Player) -> Result<(), SearchError<S::Error>> {
        let mut actions = std::mem::take(&mut self.scratch.actions);
        actions.clear();
        state.search_actions(player, &mut actions)?;
        if actions.is_empty() {
            return Err(SearchError::NoAction(player));
        }
        self.seats.push(Seat {
            player,
            first_edge: self.edges.len() as u32,
            num_edges: actions.len() as u32,
            num_open: 0,
            num_unproven: actions.len() as u32,
            value_sum: 0.0,
            visited_prior: 0.0,
        });
        self.edges.extend(actions.iter().map(|&action| Edge::new(action)));
        self.scratch.actions = actions;
        Ok(())
    }

    /// Returns whether nothing is left to be decided for the searched players, none of whom is active.
    fn is_decided(&self, state: &S, active: Players) -> Result<bool, S::Error> {
        if active.is_empty() {
            return Ok(true);
        }
        all_decided(state, self.searched)
    }

    fn record_depth(&mut self, depth: u32) {
        self.depth_sum += u64::from(depth);
        self.max_depth = self.max_depth.max(depth);
    }

    fn replies_of(&self, node: NodeId) -> &[(Player, Action)] {
        let node = &self.nodes[node as usize];
        &self.replies[node.first_reply as usize..(node.first_reply + node.num_replies) as usize]
    }
}

impl Edge {
    fn new(action: Action) -> Self {
        Self { value_sum: 0.0, prior: 0.0, action, visits: 0, in_flight: 0, child: NONE, is_lost: false }
    }
}
