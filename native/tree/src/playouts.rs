//! Random playouts: all that the rules alone tell of a position.

use crate::chance;
use crate::error::SearchError;
use crate::game::{all_decided, decided, step_discount, Action, Player, Players, State, CHANCE};
use crate::rng::Rng;

/// Asked again and again by loops that may take long: whether to end.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Plays random legal actions until the game is over, or no player in `watched` plays on.
///
/// Leaves in `values` what the position was worth: what was paid on the way and what is decided then, discounted. A
/// player whose return is decided is never active or paid again, so nothing is lost to those watched. It is an error
/// where that takes more than `longest` steps, which no game has.
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

/// What playouts write on, kept from one to the next.
pub(crate) struct Scratch {
    pub(crate) joint: Vec<Action>,
    legal: Vec<Action>,
    chances: Vec<f32>,
    /// Returns or rewards.
    numbers: Vec<f32>,
    /// What a later value of each player is worth where the playout began.
    pub(crate) scales: Vec<f64>,
    steps: u32,
    longest: u32,
}

impl Scratch {
    /// For playouts of at most so many steps.
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

    /// Forgets what was paid, and how long it took.
    pub(crate) fn begin(&mut self, values: &mut [f64]) {
        values.fill(0.0);
        self.scales.clear();
        self.scales.resize(values.len(), 1.0);
        self.steps = 0;
    }

    /// Adds what is decided for these players, whose later values are worth nothing then.
    pub(crate) fn end<S: State>(&mut self, state: &S, players: Players, values: &mut [f64]) -> Result<(), S::Error> {
        self.zero(values.len());
        state.returns(&mut self.numbers)?;
        for player in players.iter() {
            values[player] += self.scales[player] * f64::from(self.numbers[player]);
            self.scales[player] = 0.0;
        }
        Ok(())
    }

    /// Plays `joint`, adds what that paid, and lowers what later values are worth to those for whom there will be some.
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

    /// Draws `joint`: of each active player what is chosen for it, else a random action.
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

/// Returns for whom all is decided before a step, where it matters: what is decided is not discounted.
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
