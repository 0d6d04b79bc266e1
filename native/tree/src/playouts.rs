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
/// nothing for `watched`. Taking more than `longest` steps, the maximum length of a game, is an error.
pub fn playout<S: State>(
    state: &mut S,
    watched: Players,
    discount: f64,
    longest: u32,
    values: &mut [f64],
    rng: &mut Rng,
) -> Result<(), SearchError<S::Error>> {
    Scratch::new(longest).playout(state, watched, discount, values, rng)
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
    steps: u32,
    longest: u32,
}

impl Scratch {
    /// Creates buffers for playouts of at most `longest` steps.
    pub(crate) fn new(longest: u32) -> Self {
        let (joint, legal, chances) = Default::default();
        Self { joint, legal, chances, numbers: Vec::new(), scales: Vec::new(), steps: 0, longest }
    }

    pub(crate) fn playout<S: State>(
        &mut self,
        state: &mut S,
        watched: Players,
        discount: f64,
        values: &mut [f64],
        rng: &mut Rng,
    ) -> Result<(), SearchError<S::Error>> {
        self.begin(values);
        loop {
            let players = state.active_players()?;
            if players.and(watched).is_empty() && (players.is_empty() || all_decided(state, watched)?) {
                return self.end(state, Players::all(values.len()), values).map_err(Into::into);
            }
            self.draw_joint(state, players, |_| None, rng)?;
            self.step(state, discount, values)?;
        }
    }

    /// Resets the rewards, discount factors and step count.
    pub(crate) fn begin(&mut self, values: &mut [f64]) {
        values.fill(0.0);
        self.scales.clear();
        self.scales.resize(values.len(), 1.0);
        self.steps = 0;
    }

    /// Adds the decided returns of these players and sets the weight of their later values to 0.
    pub(crate) fn end<S: State>(&mut self, state: &S, players: Players, values: &mut [f64]) -> Result<(), S::Error> {
        self.zero(values.len());
        state.returns(&mut self.numbers)?;
        for player in players.iter() {
            values[player] += self.scales[player] * f64::from(self.numbers[player]);
            self.scales[player] = 0.0;
        }
        Ok(())
    }

    /// Plays `joint`, adds its rewards, and discounts later values for players not yet decided.
    pub(crate) fn step<S: State>(
        &mut self,
        state: &mut S,
        discount: f64,
        values: &mut [f64],
    ) -> Result<(), SearchError<S::Error>> {
        if self.steps == self.longest {
            return Err(SearchError::Endless { longest: self.longest });
        }
        self.steps += 1;
        let settled = settled(state, values.len(), discount)?;
        state.play(&self.joint)?;
        if S::HAS_REWARDS {
            self.zero(values.len());
            state.rewards(&mut self.numbers)?;
            self.add(values);
        }
        if discount != 1.0 {
            let factor = step_discount(state, discount)?;
            let open = self.scales.iter_mut().enumerate().filter(|(player, _)| !settled.contains(*player));
            open.for_each(|(_, scale)| *scale *= factor);
        }
        Ok(())
    }

    fn add(&self, values: &mut [f64]) {
        for (value, (number, scale)) in values.iter_mut().zip(self.numbers.iter().zip(&self.scales)) {
            *value += scale * f64::from(*number);
        }
    }

    /// Fills `joint` with the chosen action of each active player, or a random one for players without a choice.
    pub(crate) fn draw_joint<S: State>(
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
            chance::outcomes(state, &mut self.legal, &mut self.chances)?;
            self.joint.push(self.legal[chance::draw(self.chances.iter().copied(), rng)]);
            return Ok(());
        }
        for player in players.iter() {
            let action = match chosen(player) {
                Some(action) => action,
                None => {
                    self.legal.clear();
                    state.legal_actions(player, &mut self.legal)?;
                    draw(&self.legal, player, rng)?
                }
            };
            self.joint.push(action);
        }
        Ok(())
    }

    pub(crate) fn zero(&mut self, num_players: usize) {
        self.numbers.clear();
        self.numbers.resize(num_players, 0.0);
    }
}

/// Returns the players decided before a step if there is discounting: decided returns are not discounted.
pub(crate) fn settled<S: State>(state: &S, num_players: usize, discount: f64) -> Result<Players, S::Error> {
    if discount == 1.0 {
        return Ok(Players::NONE);
    }
    decided(state, Players::all(num_players))
}

fn draw<E>(legal: &[Action], player: Player, rng: &mut Rng) -> Result<Action, SearchError<E>> {
    match legal {
        [] => Err(SearchError::NoAction(player)),
        [only] => Ok(*only),
        _ => Ok(legal[rng.below(legal.len())]),
    }
}
