//! Node expansion: plays a step and records the actions available after it.

use super::edges::{Edge, Slot};
use super::moves::Moves;
use super::node::{Details, Node, NodeId, Seat, Status, NONE};
use super::{Scratch, Tree};
use crate::chance;
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{
    all_decided, checked_active_players, decided, step_discount, Action, Agent, Player, Players, State, CHANCE,
};
use crate::memory;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Plays the chosen edges and the opponents' replies, and adds the resulting node.
    pub(super) fn expand(
        &mut self,
        node: NodeId,
        chosen: &[Slot],
        agents: Option<Vec<A>>,
        config: &Config,
    ) -> Result<NodeId, SearchError<S::Error>> {
        // Drops the state left behind if a game failed here.
        self.states.truncate(self.nodes.len());
        self.states.extend_from_within(node as usize..=node as usize);
        let mut joint = std::mem::take(&mut self.scratch.joint);
        joint.clear();
        let (slots, drawn) = chosen.split_at(self.nodes[node as usize].num_seats.into());
        let mut actions = self.seats_of(node).zip(slots).map(|(seat, &slot)| self.action(seat, slot));
        let mut replies = self.replies_of(node).iter().map(|&(_, action)| action).chain(drawn.iter().copied());
        let opponents = self.opponents(node);
        for player in self.details[node as usize].active.iter() {
            joint.extend(if opponents.contains(player) { replies.next() } else { actions.next() });
        }
        drop(actions);
        let first_step = self.steps.len();
        self.play_step(&joint, config)?;
        self.scratch.joint = joint;
        let agents = agents.unwrap_or_else(|| self.agents_of(node));
        let child = self.add_node(agents, node, first_step, config)?;
        self.link(node, child, slots.first().copied());
        self.nodes[child as usize].choices = self.choices.len() as u32;
        self.choices.extend_from_slice(&chosen[slots.len().min(1)..]);
        self.update_proof_numbers(child);
        Ok(child)
    }

    /// Prepends a child to its parent's list of children: that of the edge in this slot of the first seat, if there is
    /// one.
    pub(super) fn link(&mut self, parent: NodeId, child: NodeId, slot: Option<Slot>) {
        let first_child = match slot {
            Some(slot) => {
                let first_edge = self.nodes[parent as usize].seat.first_edge;
                let edge = self.edges.get_mut(first_edge, slot);
                edge.prefetch_hint = self.nodes[child as usize].seat.first_edge;
                &mut edge.child
            }
            None => &mut self.details[parent as usize].first_child,
        };
        let sibling = std::mem::replace(first_child, child);
        let record = &mut self.nodes[child as usize];
        record.slot = slot.unwrap_or(NONE);
        record.sibling = sibling;
    }

    /// Adds a node for the newest state with its seats, after playing through positions where only modelled players
    /// move.
    pub(super) fn add_node(
        &mut self,
        mut agents: Vec<A>,
        parent: NodeId,
        first_step: usize,
        config: &Config,
    ) -> Result<NodeId, SearchError<S::Error>> {
        let node = self.nodes.len() as NodeId;
        let start = node as usize * self.num_players;
        self.values.truncate(start);
        self.values.resize(start + self.num_players, 0.0);
        let first_reply = self.replies.len();
        let (status, active) = loop {
            let state = &self.states[node as usize];
            let active = checked_active_players(state, self.num_players)?;
            if active.and(self.searched).is_empty() && self.is_decided(state, active)? {
                state.returns(&mut self.values[start..])?;
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
                    self.replies.push((player, agent.act(state, player, &mut self.rng)?));
                }
            }
            if !active.without(self.modelled).is_empty() {
                break (Status::Pending, active);
            }
            let joint: Vec<Action> = self.replies.drain(first_reply..).map(|(_, action)| action).collect();
            self.play_step(&joint, config)?;
        };
        let first_seat = self.seats.len();
        let mut seat = Seat::placeholder();
        let mut num_seats = 0;
        match status {
            Status::Pending => {
                for player in active.and(self.searched).iter() {
                    let next = self.new_seat(player, config)?;
                    if num_seats == 0 {
                        seat = next;
                    } else {
                        self.seats.push(next);
                    }
                    num_seats += 1;
                }
            }
            Status::Chance => {
                seat = self.new_chance()?;
                num_seats = 1;
            }
            _ => {}
        }
        let num_steps = ((self.steps.len() - first_step) / (2 * self.num_players)) as u32;
        self.details.push(Details {
            first_reply: first_reply as u32,
            first_step: first_step as u32,
            num_steps,
            first_child: NONE,
            active,
            num_unproven: seat.num_moves(),
            plies_left: 0,
            num_replies: (self.replies.len() - first_reply) as u8,
            evaluations_left: num_seats,
        });
        memory::reserve(&mut self.nodes, 1);
        self.nodes.push(Node {
            seat,
            visits: 0,
            in_flight: 0,
            parent,
            slot: NONE,
            sibling: NONE,
            first_seat: first_seat as u32,
            choices: 0,
            status,
            num_seats,
            has_steps: num_steps > 0,
        });
        self.agents.append(&mut agents);
        Ok(node)
    }

    fn new_seat(&mut self, player: Player, config: &Config) -> Result<Seat, SearchError<S::Error>> {
        let actions = &mut self.scratch.actions;
        actions.clear();
        self.states[self.nodes.len()].search_actions(player, actions)?;
        checked_seat(player, actions, &mut self.moves, config)
    }

    /// Returns the seat of chance, whose priors are its probabilities; all its edges are open, as it samples among
    /// them.
    fn new_chance(&mut self) -> Result<Seat, SearchError<S::Error>> {
        let Scratch { actions, numbers: chances, .. } = &mut self.scratch;
        chance::read_outcomes(&self.states[self.nodes.len()], actions, chances)?;
        self.moves.widen(actions.iter().copied().max().unwrap_or(0));
        let first_move = self.moves.extend(actions);
        self.moves.priors[first_move as usize..].copy_from_slice(chances);
        let num_edges = actions.len() as u32;
        let first_edge = self.edges.reserve(num_edges, num_edges);
        let edges = self.edges.block_mut(first_edge, num_edges);
        edges.iter_mut().zip(chances).for_each(|(edge, prior)| *edge = Edge::new(*prior));
        Ok(Seat { first_edge, num_edges, ..Seat::new(CHANCE, first_move, num_edges) })
    }

    /// Plays a joint action in the newest state, and records its rewards and discount factors if they change any value.
    fn play_step(&mut self, joint: &[Action], config: &Config) -> Result<(), SearchError<S::Error>> {
        let undiscounted = if config.discount == 1.0 {
            Players::NONE
        } else {
            self.decided(&self.states[self.nodes.len()], self.searched, config)?
        };
        let state = &mut self.states[self.nodes.len()];
        state.play(joint)?;
        if !S::HAS_REWARDS && config.discount == 1.0 {
            return Ok(());
        }
        let rewards = &mut self.scratch.numbers;
        rewards.clear();
        rewards.resize(self.num_players, 0.0);
        state.rewards(rewards)?;
        let discount = if config.discount == 1.0 { 1.0 } else { step_discount(state, config.discount)? };
        if discount != 1.0 || rewards.iter().any(|&reward| reward != 0.0) {
            self.steps.extend(rewards.iter().map(|&reward| f64::from(reward)));
            let factor = |player| if undiscounted.contains(player) { 1.0 } else { discount };
            self.steps.extend((0..self.num_players).map(factor));
        }
        Ok(())
    }

    /// Returns which of these players are decided while others play on. The game is queried only if that is possible:
    /// not if one player is searched, whose end is the tree's, nor in two-player fixed-sum games.
    pub(super) fn decided(&self, state: &S, players: Players, config: &Config) -> Result<Players, S::Error> {
        if self.searched.len() == 1 || (self.num_players == 2 && config.utility_sum.is_some()) {
            return Ok(Players::NONE);
        }
        decided(state, players)
    }

    /// Returns whether the results of the searched players, none of whom is active, are all decided.
    fn is_decided(&self, state: &S, active: Players) -> Result<bool, S::Error> {
        if active.is_empty() {
            return Ok(true);
        }
        all_decided(state, self.searched)
    }
}

/// Returns a player's seat with these moves, after checking that they are within the policy.
pub(super) fn checked_seat<E>(
    player: Player,
    actions: &[Action],
    moves: &mut Moves,
    config: &Config,
) -> Result<Seat, SearchError<E>> {
    let Some(&last) = actions.last() else { return Err(SearchError::NoAction(player)) };
    let num_actions = config.num_actions;
    if let Some(pair) = actions.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(SearchError::ActionOrder { player, actions: [pair[0], pair[1]] });
    }
    if last as usize >= num_actions {
        return Err(SearchError::ActionRange { action: last, num_actions });
    }
    if actions.len() > Seat::MAX_MOVES {
        return Err(SearchError::TooManyActions { player, most: Seat::MAX_MOVES });
    }
    Ok(Seat::new(player, moves.extend(actions), actions.len() as u32))
}
