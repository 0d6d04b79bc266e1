//! Measures steps per second on one thread: the forward model, and free-for-alls of four SimpleAgents.

use std::hint::black_box;
use std::time::Instant;

use moemcts_pommerman::{variant, Corners, Scripted, State};
use moemcts_tree::Rng;

fn main() {
    let rules = variant::find("PommeFFACompetition-v0").expect("a registered id").rules;
    let mut rng = Rng::new(1);
    let states = middle_games(rules, &mut rng);
    let actions: Vec<[u8; 4]> = (0..1 << 12).map(|_| std::array::from_fn(|_| rng.below(6) as u8)).collect();
    let rate = |name: &str, count: usize, run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        println!("{name}: {:.0} per second", count as f64 / start.elapsed().as_secs_f64());
    };
    let steps = 4_000_000;
    rate("clone and step", steps, &mut || {
        for i in 0..steps {
            let mut state = black_box(&states[i % states.len()]).clone();
            state.step(actions[i % actions.len()]);
            black_box(&state);
        }
    });
    let mut planes = vec![0.0; 23 * 121];
    rate("planes of one view", 200_000, &mut || {
        for i in 0..200_000 {
            planes.fill(0.0);
            states[i % states.len()].planes(i % 4, black_box(&mut planes));
        }
    });
    rate("keys", steps, &mut || {
        for i in 0..steps {
            black_box(states[i % states.len()].hash());
        }
    });
    rate("packed and unpacked", 200_000, &mut || {
        for i in 0..200_000 {
            black_box(State::unpack(&states[i % states.len()].pack()).expect("a record"));
        }
    });
    rate("SimpleAgent decisions", steps, &mut || {
        let mut agent = Scripted::from_name("simple").expect("a name");
        for i in 0..steps {
            let state = &states[i % states.len()];
            let living = (i..i + 4).map(|player| player % 4).find(|&player| state.agents()[player].alive);
            black_box(agent.choose(state, living.unwrap_or(0), &mut rng));
        }
    });
    let mut rng = Rng::new(2);
    let (mut steps, start) = (0, Instant::now());
    for _ in 0..300 {
        steps += play(rules, &mut rng);
    }
    println!("four SimpleAgents: {:.0} steps per second", f64::from(steps) / start.elapsed().as_secs_f64());
}

fn play(rules: moemcts_pommerman::Rules, rng: &mut Rng) -> u32 {
    let mut state = State::new(rules, Corners::Standard, rng);
    let mut agents = [Scripted::from_name("simple").expect("a name"); 4];
    while !state.is_over() {
        let actions = std::array::from_fn(|player| agents[player].choose(&state, player, rng));
        state.step(actions);
    }
    u32::from(state.step_count())
}

/// Returns states from step 50 on of games between SimpleAgents.
fn middle_games(rules: moemcts_pommerman::Rules, rng: &mut Rng) -> Vec<State> {
    let mut states = Vec::new();
    for _ in 0..100 {
        let mut state = State::new(rules, Corners::Standard, rng);
        let mut agents = [Scripted::from_name("simple").expect("a name"); 4];
        while !state.is_over() && state.step_count() < 250 {
            let actions = std::array::from_fn(|player| agents[player].choose(&state, player, rng));
            state.step(actions);
            if state.step_count() > 50 && state.step_count().is_multiple_of(10) && !state.is_over() {
                states.push(state.clone());
            }
        }
    }
    states
}
