//! Random playouts.

use crate::chance;
use crate::error::SearchError;
use crate::game::{all_decided, decided, step_discount, Action, Player, Players, State, CHANCE};
use crate::rng::Rng;

/// A callback that long loops poll; true asks them to stop.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Plays random legal actions until the game is over or no player in `watched` is still playing.
///
/// Writes the discounted value of the position for each player into `values`: the rewards on the way plus the returns
/// decided at its end. A player whose return is decided is never active or rewarded again, so stopping early loses
/// nothing for `watched`. Taking more than `max_plies` steps, the maximum length of a game, is an error.
pub fn playout<S: State>(
    state: &mut S,
    watched: Players,
    discount: f64,
    max_plies: u32,
    values: &mut [f64],
    rng: &mut Rng,
) -> Result<(), SearchError<S::Error>> {
    Scratch::new(max_plies).playout(state, watched, discount, values, rng)
}

/// Buffers reused between playouts.
pub(crate) struct Scratch {
    pub(crate) joint: Vec<Action>,
    legal: Vec<Action>,
    chances: Vec<f32>,
    /// Returns or rewards.
    numbers: Vec<f32>,
    /// Discount factor of each player's later values, relative to the start of the playout.
    pub(crate) scales: Vec<f64>,
    num_steps: u32,
    max_plies: u32,
}

impl Scratch {
    /// Creates buffers for playouts of at most `max_plies` steps.
    pub(crate) fn new(max_plies: u32) -> Self {
        let (joint, legal, chances) = Default::default();
        Self { joint, legal, chances, numbers: Vec::new(), scales: Vec::new(), num_steps: 0, max_plies }
    }

    pub(crate) fn playout<S: State>(
        &mut self,
        state: &mut S,
        watched: Players,
        discount: f64,
        values: &mut [f64],
        rng: &mut Rng,
    ) -> Result<(), SearchError<S::Error>> {
        self.reset(values);
        loop {
            let players = state.active_players()?;
            if players.and(watched).is_empty() && (players.is_empty() || all_decided(state, watched)?) {
                return self.add_returns(state, Players::all(values.len()), values).map_err(Into::into);
            }
            self.sample_joint(state, players, |_| None, rng)?;
            self.play_step(state, discount, values)?;
        }
    }

    /// Resets the rewards, discount factors and step count.
    pub(crate) fn reset(&mut self, values: &mut [f64]) {
        values.fill(0.0);
        self.scales.clear();
        self.scales.resize(values.len(), 1.0);
        self.num_steps = 0;
    }

    /// Adds the decided returns of these players and sets the weight of their later values to 0.
    pub(crate) fn add_returns<S: State>(
        &mut self,
        state: &S,
        players: Players,
        values: &mut [f64],
    ) -> Result<(), S::Error> {
        self.reset_numbers(values.len());
        state.returns(&mut self.numbers)?;
        for player in players.iter() {
            values[player] += self.scales[player] * f64::from(self.numbers[player]);
            self.scales[player] = 0.0;
        }
        Ok(())
    }

    /// Plays `joint`, adds its rewards, and discounts later values for players not yet decided.
    pub(crate) fn play_step<S: State>(
        &mut self,
        state: &mut S,
        discount: f64,
        values: &mut [f64],
    ) -> Result<(), SearchError<S::Error>> {
        if self.num_steps == self.max_plies {
            return Err(SearchError::Endless { max_plies: self.max_plies });
        }
        self.num_steps += 1;
        let undiscounted = undiscounted_players(state, values.len(), discount)?;
        state.play(&self.joint)?;
        if S::HAS_REWARDS {
            self.reset_numbers(values.len());
            state.rewards(&mut self.numbers)?;
            self.add_rewards(values);
        }
        if discount != 1.0 {
            let factor = step_discount(state, discount)?;
            let open = self.scales.iter_mut().enumerate().filter(|(player, _)| !undiscounted.contains(*player));
            open.for_each(|(_, scale)| *scale *= factor);
        }
        Ok(())
    }

    fn add_rewards(&self, values: &mut [f64]) {
        for (value, (number, scale)) in values.iter_mut().zip(self.numbers.iter().zip(&self.scales)) {
            *value += scale * f64::from(*number);
        }
    }

    /// Fills `joint` with the chosen action of each active player, or a random one for players without a choice.
    pub(crate) fn sample_joint<S: State>(
        &mut self,
        state: &S,
        players: Players,
        chosen: impl Fn(Player) -> Option<Action>,
        rng: &mut Rng,
    ) -> Result<(), SearchError<S::Error>> {
        self.joint.clear();
        if players.contains(CHANCE) {
            if players != Players::CHANCE {
                return Err(SearchError::MixedChance);
            }
            chance::read_outcomes(state, &mut self.legal, &mut self.chances)?;
            self.joint.push(self.legal[chance::sample(self.chances.iter().copied(), rng)]);
            return Ok(());
        }
        for player in players.iter() {
            let action = match chosen(player) {
                Some(action) => action,
                None => {
                    self.legal.clear();
                    state.legal_actions(player, &mut self.legal)?;
                    sample_action(&self.legal, player, rng)?
                }
            };
            self.joint.push(action);
        }
        Ok(())
    }

    pub(crate) fn reset_numbers(&mut self, num_players: usize) {
        self.numbers.clear();
        self.numbers.resize(num_players, 0.0);
    }
}

/// Returns the players decided before a step if there is discounting: decided returns are not discounted.
pub(crate) fn undiscounted_players<S: State>(
    state: &S,
    num_players: usize,
    discount: f64,
) -> Result<Players, S::Error> {
    if discount == 1.0 {
        return Ok(Players::NONE);
    }
    decided(state, Players::all(num_players))
}

fn sample_action<E>(legal: &[Action], player: Player, rng: &mut Rng) -> Result<Action, SearchError<E>> {
    match legal {
        [] => Err(SearchError::NoAction(player)),
        [only] => Ok(*only),
        _ => Ok(legal[rng.below(legal.len())]),
    }
}
