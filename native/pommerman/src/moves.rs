//! Intended moves within one step, and the resolution of conflicts: S3, S4 and S6 of the reference's step.

use crate::geometry::MAX_CELLS;
use crate::state::MAX_BOMBS;
use crate::MAX_PLAYERS;

pub(crate) const NONE: u8 = u8::MAX;

/// Current and intended cells of agents and bombs during a step. Only living agents are included, in order of id.
pub(crate) struct Moves {
    pub(crate) num_agents: usize,
    pub(crate) id: [u8; MAX_PLAYERS],
    pub(crate) agent_from: [u8; MAX_PLAYERS],
    pub(crate) agent_to: [u8; MAX_PLAYERS],
    pub(crate) bomb_from: [u8; MAX_BOMBS],
    pub(crate) bomb_to: [u8; MAX_BOMBS],
    pub(crate) agents_at: [u8; MAX_CELLS],
    pub(crate) bombs_at: [u8; MAX_CELLS],
    /// By bomb, the agent that kicks it (an index into `id`), and by agent, the bomb that it kicks.
    pub(crate) kicker: [u8; MAX_BOMBS],
    pub(crate) kicked: [u8; MAX_PLAYERS],
}

/// The border between two cells, and the agent or the bomb that crossed it first.
#[derive(Clone, Copy)]
struct Crossing {
    low: u8,
    high: u8,
    agent: u8,
    bomb: u8,
}

impl Moves {
    pub(crate) fn new() -> Self {
        Self {
            num_agents: 0,
            id: [0; MAX_PLAYERS],
            agent_from: [0; MAX_PLAYERS],
            agent_to: [0; MAX_PLAYERS],
            bomb_from: [0; MAX_BOMBS],
            bomb_to: [0; MAX_BOMBS],
            agents_at: [0; MAX_CELLS],
            bombs_at: [0; MAX_CELLS],
            kicker: [NONE; MAX_BOMBS],
            kicked: [NONE; MAX_PLAYERS],
        }
    }

    pub(crate) fn push_agent(&mut self, id: u8, from: u8, to: u8) {
        let k = self.num_agents;
        (self.id[k], self.agent_from[k], self.agent_to[k]) = (id, from, to);
        self.num_agents += 1;
    }

    pub(crate) fn send_agent(&mut self, k: usize, to: u8) {
        self.agent_to[k] = to;
        self.agents_at[to as usize] += 1;
    }

    pub(crate) fn send_bomb(&mut self, index: usize, to: u8) {
        self.bomb_to[index] = to;
        self.bombs_at[to as usize] += 1;
    }

    /// S3: no two objects swap cells. Against an agent only the bomb yields; the collision is resolved in S5.
    pub(crate) fn resolve_swaps(&mut self, num_bombs: usize) {
        // Borders stay taken when the object that crossed them is sent back.
        let mut crossings = [Crossing { low: 0, high: 0, agent: NONE, bomb: NONE }; MAX_PLAYERS + MAX_BOMBS];
        let mut num_crossings = 0;
        for k in 0..self.num_agents {
            let (from, to) = (self.agent_from[k], self.agent_to[k]);
            if from == to {
                continue;
            }
            let (low, high) = (from.min(to), from.max(to));
            match crossings[..num_crossings].iter().find(|crossing| crossing.low == low && crossing.high == high) {
                Some(crossing) => {
                    let other = crossing.agent as usize;
                    self.agent_to[other] = self.agent_from[other];
                    self.agent_to[k] = from;
                }
                None => {
                    crossings[num_crossings] = Crossing { low, high, agent: k as u8, bomb: NONE };
                    num_crossings += 1;
                }
            }
        }
        for index in 0..num_bombs {
            let (from, to) = (self.bomb_from[index], self.bomb_to[index]);
            if from == to {
                continue;
            }
            let (low, high) = (from.min(to), from.max(to));
            match crossings[..num_crossings].iter().find(|crossing| crossing.low == low && crossing.high == high) {
                Some(crossing) => {
                    self.bomb_to[index] = from;
                    if crossing.bomb != NONE {
                        let other = crossing.bomb as usize;
                        self.bomb_to[other] = self.bomb_from[other];
                    }
                }
                None => {
                    crossings[num_crossings] = Crossing { low, high, agent: NONE, bomb: index as u8 };
                    num_crossings += 1;
                }
            }
        }
    }

    /// S4: objects contending with one of their kind for a cell stay where they are, until nothing changes.
    pub(crate) fn resolve_conflicts(&mut self, num_bombs: usize) {
        for &to in &self.agent_to[..self.num_agents] {
            self.agents_at[to as usize] += 1;
        }
        for &to in &self.bomb_to[..num_bombs] {
            self.bombs_at[to as usize] += 1;
        }
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for k in 0..self.num_agents {
                let to = self.agent_to[k] as usize;
                if self.agent_to[k] != self.agent_from[k] && (self.agents_at[to] > 1 || self.bombs_at[to] > 1) {
                    self.send_agent(k, self.agent_from[k]);
                    has_changed = true;
                }
            }
            for index in 0..num_bombs {
                let to = self.bomb_to[index] as usize;
                if self.bomb_to[index] != self.bomb_from[index] && (self.bombs_at[to] > 1 || self.agents_at[to] > 1) {
                    self.send_bomb(index, self.bomb_from[index]);
                    has_changed = true;
                }
            }
        }
    }

    /// S6: moves that conflict after kicks and bounces are undone; a kick whose kicker stays is cancelled.
    pub(crate) fn resolve_kick_conflicts(&mut self, num_bombs: usize) {
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for k in 0..self.num_agents {
                let to = self.agent_to[k] as usize;
                if self.agent_to[k] != self.agent_from[k] && (self.agents_at[to] > 1 || self.bombs_at[to] != 0) {
                    if self.kicked[k] != NONE {
                        let index = std::mem::replace(&mut self.kicked[k], NONE) as usize;
                        self.kicker[index] = NONE;
                        self.send_bomb(index, self.bomb_from[index]);
                    }
                    self.send_agent(k, self.agent_from[k]);
                    has_changed = true;
                }
            }
            for index in 0..num_bombs {
                let to = self.bomb_to[index] as usize;
                if self.bomb_to[index] == self.bomb_from[index] && self.kicker[index] == NONE {
                    continue;
                }
                if self.bombs_at[to] > 1 || self.agents_at[to] != 0 {
                    self.send_bomb(index, self.bomb_from[index]);
                    if self.kicker[index] != NONE {
                        let k = std::mem::replace(&mut self.kicker[index], NONE) as usize;
                        self.kicked[k] = NONE;
                        self.send_agent(k, self.agent_from[k]);
                    }
                    has_changed = true;
                }
            }
        }
    }
}
