//! One tree: nodes in the order of their creation, edges and states beside them in flat arrays.

mod lines;
mod proof;
mod reuse;
mod select;
mod solver;
mod update;

pub use lines::Line;

use crate::chance;
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{all_decided, step_discount, Action, Agent, Player, Players, State, CHANCE};
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
    /// Chance moves: its one seat draws, and nothing is evaluated.
    Chance,
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
    /// The steps from the parent that paid something or are discounted.
    first_step: u32,
    num_steps: u32,
    /// The edge that a node without seats keeps for its only child.
    passage: EdgeId,
    active: Players,
    pub status: Status,
    /// Plies to the end of the game along the line that proved it; 0 at an end.
    pub plies_left: u32,
}

/// A searched player that is active at a node, or chance.
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
    /// It waits at a node for replies of players outside.
    Suspended(NodeId),
}

/// A descent that waits for replies of players outside, and these once they came.
///
/// Where replies are kept, that is where nobody searched is active; elsewhere they come together with evaluations.
struct Suspended {
    node: NodeId,
    depth: u32,
    replies: Option<Vec<(Player, Action)>>,
}

/// One searched position. `A` are the agents of the players that are not searched.
pub struct Tree<S, A> {
    pub nodes: Vec<Node>,
    pub seats: Vec<Seat>,
    pub edges: Vec<Edge>,
    pub states: Vec<S>,
    /// Per child the edges that led to it, and the replies where these are drawn at every descent.
    choices: Vec<EdgeId>,
    replies: Vec<(Player, Action)>,
    /// The agents of `modelled` players as they are after acting at a node, or before where replies are drawn at every
    /// descent; `modelled.len()` per node.
    agents: Vec<A>,
    /// Per step the rewards of all players and the discount, `num_players + 1` numbers.
    steps: Vec<f64>,
    /// Each node's own evaluation, or its result at an end and where it is proven; `num_players` per node.
    pub values: Vec<f32>,
    /// Proof numbers and more, per node; none where nothing is proven.
    prospects: Vec<proof::Prospect>,
    pub num_players: usize,
    pub searched: Players,
    /// Players whose agents act natively.
    modelled: Players,
    /// Whether the root has only some of its actions.
    is_restricted: bool,
    /// Whether opponents reply anew at every descent.
    pub draws_replies: bool,
    suspended: Vec<Suspended>,
    pub rng: Rng,
    pub simulations: u32,
    /// Descents that looked for proofs; they are no simulations.
    pub num_scouts: u32,
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
    rewards: Vec<f32>,
    running: Vec<f64>,
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
            steps: Vec::new(),
            values: Vec::new(),
            prospects: Vec::new(),
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
        config: &Config,
    ) -> Result<(), SearchError<S::Error>> {
        if root.active_players()?.contains(CHANCE) {
            return Err(SearchError::ChanceRoot);
        }
        self.nodes.clear();
        self.seats.clear();
        self.edges.clear();
        self.states.clear();
        self.choices.clear();
        self.replies.clear();
        self.agents.clear();
        self.steps.clear();
        self.suspended.clear();
        self.values.clear();
        self.prospects.clear();
        self.num_players = num_players;
        self.searched = searched;
        self.modelled = agents.iter().map(|(player, _)| *player).collect();
        self.is_restricted = false;
        self.draws_replies = config.draws_replies;
        self.rng = rng;
        self.in_flight = 0;
        self.add(root, agents.into_iter().map(|(_, agent)| agent).collect(), NONE, 0, config)?;
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
        if self.nodes[ROOT as usize].status == Status::Pending {
            if self.nodes[ROOT as usize].in_flight > 0 {
                return Ok(Descent::Collision);
            }
            self.hold(ROOT);
            return Ok(Descent::Leaf(ROOT));
        }
        if self.is_scout_due(config) {
            return self.scout(config);
        }
        self.go_down(ROOT, 0, None, config)
    }

    /// Goes on with the first descent whose replies came, if there is one.
    pub fn resume(&mut self, config: &Config) -> Result<Option<Descent>, SearchError<S::Error>> {
        let Some(i) = self.suspended.iter().position(|descent| descent.replies.is_some()) else { return Ok(None) };
        let Suspended { node, depth, replies } = self.suspended.remove(i);
        self.release(node);
        self.go_down(node, depth, replies, config).map(Some)
    }

    /// Returns how many descents wait for replies.
    pub fn num_suspended(&self) -> usize {
        self.suspended.len()
    }

    /// Goes down from a node; `given` are the replies there of players outside.
    fn go_down(
        &mut self,
        mut at: NodeId,
        mut depth: u32,
        mut given: Option<Vec<(Player, Action)>>,
        config: &Config,
    ) -> Result<Descent, SearchError<S::Error>> {
        loop {
            if self.draws_replies && given.is_none() && !self.outside(at).is_empty() {
                return Ok(self.suspend(at, depth));
            }
            let mut chosen = std::mem::take(&mut self.scratch.chosen);
            match self.nodes[at as usize].status {
                Status::Chance => self.draw(at, &mut chosen),
                _ => self.choose(at, config, &mut chosen),
            }
            let agents = if self.draws_replies { self.draw_replies(at, given.take(), &mut chosen)? } else { None };
            let child = self.child(at, &chosen);
            let next = match child {
                Some(child) => child,
                None => self.grow(at, &chosen, agents, config)?,
            };
            self.scratch.chosen = chosen;
            depth += 1;
            at = next;
            match self.nodes[at as usize].status {
                Status::Expanded if self.nodes[at as usize].is_scouted() => {
                    self.record_depth(depth);
                    self.finish(at, 0);
                    return Ok(Descent::Terminal);
                }
                Status::Expanded | Status::Chance => {}
                Status::Terminal | Status::Proven => {
                    self.record_depth(depth);
                    self.finish(at, 0);
                    if child.is_none() && self.solves(config) {
                        self.prove_above(at);
                    }
                    return Ok(Descent::Terminal);
                }
                // It waits for a proof's sake only: its evaluation will do for this descent too.
                Status::Pending if child.is_some() && self.is_only_scouted(at) => {
                    self.record_depth(depth);
                    self.hold(at);
                    return Ok(Descent::Terminal);
                }
                Status::Pending if child.is_some() => return Ok(Descent::Collision),
                Status::Pending if self.nodes[at as usize].num_seats == 0 => return Ok(self.suspend(at, depth)),
                Status::Pending => {
                    self.record_depth(depth);
                    self.hold(at);
                    return Ok(Descent::Leaf(at));
                }
            }
        }
    }

    fn suspend(&mut self, node: NodeId, depth: u32) -> Descent {
        self.hold(node);
        self.suspended.push(Suspended { node, depth, replies: None });
        Descent::Suspended(node)
    }

    /// Returns the players whose views a pending leaf waits for, ascending.
    pub fn viewers(&self, node: NodeId) -> impl Iterator<Item = Player> + '_ {
        self.seats_of(node).iter().map(|seat| seat.player)
    }

    /// Returns the players whose replies a pending leaf waits for.
    pub fn awaited(&self, leaf: NodeId) -> Players {
        if self.draws_replies {
            Players::NONE
        } else {
            self.outside(leaf)
        }
    }

    /// Returns the players active at a node whose replies have to come from outside.
    pub fn outside(&self, node: NodeId) -> Players {
        self.opponents(&self.nodes[node as usize]).without(self.modelled)
    }

    /// Notes what players outside reply, ascending: at a pending leaf, or to the first descent that waits at a node.
    pub fn reply(&mut self, node: NodeId, replies: &[(Player, Action)]) {
        let waiting = self.suspended.iter_mut().find(|descent| descent.node == node && descent.replies.is_none());
        let is_suspended = waiting.is_some();
        if let Some(descent) = waiting {
            descent.replies = Some(replies.to_vec());
        }
        if self.draws_replies {
            return;
        }
        let modelled = self.replies_of(node).to_vec();
        let first = self.replies.len() as u32;
        self.replies.extend(modelled);
        self.replies.extend_from_slice(replies);
        self.replies[first as usize..].sort_unstable();
        let record = &mut self.nodes[node as usize];
        record.first_reply = first;
        record.num_replies += replies.len() as u32;
        if is_suspended {
            record.status = Status::Expanded;
        }
    }

    pub fn seats_of(&self, node: NodeId) -> &[Seat] {
        let node = &self.nodes[node as usize];
        &self.seats[node.first_seat as usize..(node.first_seat + node.num_seats) as usize]
    }

    pub fn edges_of(&self, seat: &Seat) -> &[Edge] {
        &self.edges[seat.first_edge as usize..(seat.first_edge + seat.num_edges) as usize]
    }

    /// Returns the child that the chosen edges, and the replies behind them, lead to.
    ///
    /// With one seat and kept replies the chain has one link.
    fn child(&self, node: NodeId, chosen: &[EdgeId]) -> Option<NodeId> {
        let mut child = self.edges[self.anchor(node, chosen) as usize].child;
        // The first seat's edge is the one whose chain this is.
        let first = self.nodes[node as usize].num_seats.min(1) as usize;
        while child != NONE {
            let start = self.nodes[child as usize].choices as usize;
            if chosen.iter().enumerate().skip(first).all(|(i, edge)| self.choices[start + i] == *edge) {
                return Some(child);
            }
            child = self.nodes[child as usize].sibling;
        }
        None
    }

    /// Returns the edge that holds the children reached by `chosen`; a node without seats keeps one for its only child.
    fn anchor(&self, node: NodeId, chosen: &[EdgeId]) -> EdgeId {
        match chosen.first() {
            Some(&edge) if self.nodes[node as usize].num_seats > 0 => edge,
            _ => self.nodes[node as usize].passage,
        }
    }

    /// Draws what chance does at a node.
    fn draw(&mut self, node: NodeId, chosen: &mut Vec<EdgeId>) {
        let seat = &self.seats[self.nodes[node as usize].first_seat as usize];
        let edges = &self.edges[seat.first_edge as usize..(seat.first_edge + seat.num_edges) as usize];
        let outcome = chance::draw(edges.iter().map(|edge| edge.prior), &mut self.rng);
        chosen.clear();
        chosen.push(seat.first_edge + outcome as EdgeId);
    }

    /// Appends fresh replies of a node's opponents, by player; returns the native agents as they are afterwards.
    fn draw_replies(
        &mut self,
        node: NodeId,
        given: Option<Vec<(Player, Action)>>,
        chosen: &mut Vec<u32>,
    ) -> Result<Option<Vec<A>>, S::Error> {
        let active = self.nodes[node as usize].active;
        let mut agents = self.agents_of(node);
        let mut replies = given.unwrap_or_default();
        for (agent, player) in agents.iter_mut().zip(self.modelled.iter()) {
            if active.contains(player) {
                replies.push((player, agent.act(&self.states[node as usize], player, &mut self.rng)?));
            }
        }
        replies.sort_unstable();
        chosen.extend(replies.into_iter().map(|(_, action)| action));
        Ok(Some(agents))
    }

    /// Plays the chosen edges and the opponents' replies, and adds the node they lead to.
    fn grow(
        &mut self,
        node: NodeId,
        chosen: &[EdgeId],
        agents: Option<Vec<A>>,
        config: &Config,
    ) -> Result<NodeId, SearchError<S::Error>> {
        let mut state = self.states[node as usize].clone();
        let mut joint = std::mem::take(&mut self.scratch.joint);
        joint.clear();
        let (edges, drawn) = chosen.split_at(self.nodes[node as usize].num_seats as usize);
        let mut edges = edges.iter().map(|&edge| self.edges[edge as usize].action);
        let mut replies = self.replies_of(node).iter().map(|&(_, action)| action).chain(drawn.iter().copied());
        let opponents = self.opponents(&self.nodes[node as usize]);
        for player in self.nodes[node as usize].active.iter() {
            joint.extend(if opponents.contains(player) { replies.next() } else { edges.next() });
        }
        let first_step = self.steps.len();
        state.play(&joint)?;
        self.note_step(&state, config)?;
        self.scratch.joint = joint;
        let agents = agents.unwrap_or_else(|| self.agents_of(node));
        let child = self.add(state, agents, node, first_step, config)?;
        let anchor = self.anchor(node, chosen) as usize;
        let record = &mut self.nodes[child as usize];
        record.choices = self.choices.len() as u32;
        record.sibling = self.edges[anchor].child;
        self.choices.extend_from_slice(chosen);
        self.edges[anchor].child = child;
        self.number(child);
        Ok(child)
    }

    /// Adds a node with its seats and edges, after playing on through positions where only modelled players move.
    fn add(
        &mut self,
        mut state: S,
        mut agents: Vec<A>,
        parent: NodeId,
        first_step: usize,
        config: &Config,
    ) -> Result<NodeId, SearchError<S::Error>> {
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
            if active.contains(CHANCE) {
                if active != Players::CHANCE {
                    return Err(SearchError::MixedChance);
                }
                break (Status::Chance, active);
            }
            if self.draws_replies {
                let is_searched = !active.and(self.searched).is_empty();
                break (if is_searched { Status::Pending } else { Status::Expanded }, active);
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
            self.note_step(&state, config)?;
        };
        let first_seat = self.seats.len();
        match status {
            Status::Pending => {
                for player in active.and(self.searched).iter() {
                    self.add_seat(&state, player)?;
                }
            }
            Status::Chance => self.add_chance(&state)?,
            _ => {}
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
            first_step: first_step as u32,
            num_steps: ((self.steps.len() - first_step) / (self.num_players + 1)) as u32,
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
        self.seats.push(Seat::new(player, self.edges.len() as EdgeId, actions.len() as u32));
        self.edges.extend(actions.iter().map(|&action| Edge::new(action)));
        self.scratch.actions = actions;
        Ok(())
    }

    /// Adds the seat of chance, whose priors are its probabilities.
    fn add_chance(&mut self, state: &S) -> Result<(), SearchError<S::Error>> {
        let mut actions = std::mem::take(&mut self.scratch.actions);
        let mut chances = std::mem::take(&mut self.scratch.rewards);
        chance::outcomes(state, &mut actions, &mut chances)?;
        self.seats.push(Seat::new(CHANCE, self.edges.len() as EdgeId, actions.len() as u32));
        let outcomes = actions.iter().zip(&chances);
        self.edges.extend(outcomes.map(|(&action, &prior)| Edge { prior, ..Edge::new(action) }));
        self.scratch.actions = actions;
        self.scratch.rewards = chances;
        Ok(())
    }

    /// Notes what the step into a position paid and left of later values, if it changes anything.
    fn note_step(&mut self, state: &S, config: &Config) -> Result<(), S::Error> {
        if !S::HAS_REWARDS && config.discount == 1.0 {
            return Ok(());
        }
        let rewards = &mut self.scratch.rewards;
        rewards.clear();
        rewards.resize(self.num_players, 0.0);
        state.rewards(rewards)?;
        let discount = if config.discount == 1.0 { 1.0 } else { step_discount(state, config.discount)? };
        if discount != 1.0 || rewards.iter().any(|&reward| reward != 0.0) {
            self.steps.extend(rewards.iter().map(|&reward| f64::from(reward)));
            self.steps.push(discount);
        }
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

    /// Returns the players active at a node that are not searched.
    fn opponents(&self, node: &Node) -> Players {
        node.active.without(self.searched).without(Players::CHANCE)
    }

    /// Returns how many replies are kept with each child of a node.
    fn num_drawn(&self, node: &Node) -> u32 {
        if self.draws_replies {
            self.opponents(node).len() as u32
        } else {
            0
        }
    }

    fn agents_of(&self, node: NodeId) -> Vec<A> {
        let stride = self.modelled.len();
        self.agents[node as usize * stride..(node as usize + 1) * stride].to_vec()
    }

    fn replies_of(&self, node: NodeId) -> &[(Player, Action)] {
        let node = &self.nodes[node as usize];
        &self.replies[node.first_reply as usize..(node.first_reply + node.num_replies) as usize]
    }
}

impl Node {
    /// Returns whether a node where players move was evaluated for a proof, and no simulation came to it yet.
    fn is_scouted(&self) -> bool {
        self.status == Status::Expanded && self.num_seats > 0 && self.visits == 0
    }
}

impl Seat {
    fn new(player: Player, first_edge: EdgeId, num_edges: u32) -> Self {
        Self { player, first_edge, num_edges, num_open: 0, num_unproven: num_edges, value_sum: 0.0, visited_prior: 0.0 }
    }
}

impl Edge {
    fn new(action: Action) -> Self {
        Self { value_sum: 0.0, prior: 0.0, action, visits: 0, in_flight: 0, child: NONE, is_lost: false }
    }
}
