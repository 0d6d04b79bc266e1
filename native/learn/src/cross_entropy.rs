//! Cross-entropy of policies against the actions that were played, and its gradient, in as few passes as possible.
//!
//! With thousands of actions, most of the numbers that a small network computes are its logits.

use crate::lanes;
use crate::number::Number;

/// A thread has as many logits at least: fewer are not worth starting one.
const WORTH_A_THREAD: usize = 1 << 16;

/// Logits `[N, A]` by rows, and the action that each row is held against.
#[derive(Clone, Copy)]
pub struct Policies<'a, T> {
    logits: &'a [T],
    actions: &'a [i64],
    num_actions: usize,
}

impl<'a, T: Number> Policies<'a, T> {
    /// Checks that there is an action for each row, and that each is one of the row's; else says what is wrong.
    pub fn new(logits: &'a [T], actions: &'a [i64], num_actions: usize) -> Result<Self, String> {
        if num_actions == 0 || logits.len() != actions.len() * num_actions {
            return Err(format!("expected an action per row, got {} for {} logits", actions.len(), logits.len()));
        }
        match actions.iter().find(|&&action| !usize::try_from(action).is_ok_and(|action| action < num_actions)) {
            Some(action) => Err(format!("expected actions below {num_actions}, got {action}")),
            None => Ok(Self { logits, actions, num_actions }),
        }
    }

    /// Returns how many rows each of so many threads does, of which there are fewer where there is little to do.
    fn share(self, num_threads: usize) -> usize {
        let num_threads = num_threads.clamp(1, (self.logits.len() / WORTH_A_THREAD).max(1));
        self.actions.len().div_ceil(num_threads).max(1)
    }

    fn split(self, num_rows: usize) -> (Self, Self) {
        let (first, others) = self.logits.split_at(num_rows * self.num_actions);
        let (of_first, of_others) = self.actions.split_at(num_rows);
        (Self { logits: first, actions: of_first, ..self }, Self { logits: others, actions: of_others, ..self })
    }

    fn rows(self) -> impl Iterator<Item = (&'a [T], usize)> {
        self.logits.chunks_exact(self.num_actions).zip(self.actions.iter().map(|&action| action as usize))
    }
}

/// What is known of each row.
///
/// The logarithm of a row's sum is in two parts: added up, they would lose the digits of small sums beside large logits.
#[derive(Debug, PartialEq)]
pub struct Losses {
    /// `-log p(action)`.
    pub losses: Vec<f32>,
    /// The largest logit.
    pub largest: Vec<f32>,
    /// The logarithm of the sum of all exponentials, each of a logit less the largest.
    pub log_sums: Vec<f32>,
    /// The first of the likeliest actions.
    pub best: Vec<i64>,
}

/// Returns the losses of policies, computed by so many threads.
pub fn losses<T: Number>(policies: Policies<T>, num_threads: usize) -> Losses {
    let num = policies.actions.len();
    let zeros = || vec![0.0; num];
    let mut found = Losses { losses: zeros(), largest: zeros(), log_sums: zeros(), best: vec![0; num] };
    let share = policies.share(num_threads);
    let sums = found.largest.chunks_mut(share).zip(found.log_sums.chunks_mut(share));
    let parts = found.losses.chunks_mut(share).zip(found.best.chunks_mut(share)).zip(sums);
    let mut left = policies;
    std::thread::scope(|scope| {
        for ((losses, best), (largest, log_sums)) in parts {
            let (mine, others) = left.split(losses.len());
            left = others;
            run(scope, share == num, move || vectorised::losses(mine, losses, best, largest, log_sums));
        }
    });
    found
}

/// Writes the gradient of the sum over rows of `factors` times losses; `largest` and `log_sums` are those of `losses`.
pub fn gradient<T: Number>(
    policies: Policies<T>,
    largest: &[f32],
    log_sums: &[f32],
    factors: &[f32],
    out: &mut [T],
    num_threads: usize,
) -> Result<(), String> {
    let num = policies.actions.len();
    let lengths = [largest.len(), log_sums.len(), factors.len()];
    if lengths != [num; 3] || out.len() != policies.logits.len() {
        return Err(format!("expected {num} rows, got {lengths:?} and {} numbers to write", out.len()));
    }
    let share = policies.share(num_threads);
    let sums = largest.chunks(share).zip(log_sums.chunks(share));
    let parts = out.chunks_mut(share * policies.num_actions).zip(factors.chunks(share)).zip(sums);
    let mut left = policies;
    std::thread::scope(|scope| {
        for ((out, factors), (largest, log_sums)) in parts {
            let (mine, others) = left.split(factors.len());
            left = others;
            run(scope, share == num, move || vectorised::gradient(mine, largest, log_sums, factors, out));
        }
    });
    Ok(())
}

/// Does a task in a thread of its own, or right here where it is the only one.
fn run<'scope>(scope: &'scope std::thread::Scope<'scope, '_>, is_only: bool, task: impl FnOnce() + Send + 'scope) {
    if is_only {
        task();
    } else {
        scope.spawn(task);
    }
}

#[inline(always)]
fn losses_of_rows<T: Number>(
    policies: Policies<T>,
    losses: &mut [f32],
    best: &mut [i64],
    largest: &mut [f32],
    log_sums: &mut [f32],
) {
    for (i, (row, action)) in policies.rows().enumerate() {
        let most = lanes::largest(row);
        largest[i] = most;
        log_sums[i] = lanes::sum_of_exps(row, most).ln();
        losses[i] = (most - row[action].widen()) + log_sums[i];
        best[i] = row.iter().position(|logit| logit.widen() == most).unwrap_or(0) as i64;
    }
}

#[inline(always)]
fn gradient_of_rows<T: Number>(
    policies: Policies<T>,
    largest: &[f32],
    log_sums: &[f32],
    factors: &[f32],
    out: &mut [T],
) {
    let outs = out.chunks_exact_mut(policies.num_actions).zip(factors);
    let sums = largest.iter().zip(log_sums);
    for (((row, action), (out, &factor)), (&most, &log_sum)) in policies.rows().zip(outs).zip(sums) {
        let probability = |logit: T| lanes::exp((logit.widen() - most) - log_sum);
        for (gradient, &logit) in out.iter_mut().zip(row) {
            *gradient = T::narrow(factor * probability(logit));
        }
        out[action] = T::narrow(factor * (probability(row[action]) - 1.0));
    }
}

/// The same for the widest vectors that the processor has: compiled several times, chosen when called.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod vectorised {
    use super::{gradient_of_rows, losses_of_rows, Number, Policies};

    macro_rules! widest {
        ($name:ident, $body:ident, $($argument:ident: $kind:ty),*) => {
            pub fn $name<T: Number>(policies: Policies<T>, $($argument: $kind),*) {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
                fn widest<T: Number>(policies: Policies<T>, $($argument: $kind),*) {
                    $body(policies, $($argument),*);
                }
                #[target_feature(enable = "avx2")]
                fn wide<T: Number>(policies: Policies<T>, $($argument: $kind),*) {
                    $body(policies, $($argument),*);
                }
                let has_512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
                if has_512 && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512dq") {
                    // SAFETY: the processor has what this was compiled for.
                    unsafe { widest(policies, $($argument),*) }
                } else if is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    unsafe { wide(policies, $($argument),*) }
                } else {
                    $body(policies, $($argument),*);
                }
            }
        };
    }

    widest!(
        losses,
        losses_of_rows,
        losses: &mut [f32],
        best: &mut [i64],
        largest: &mut [f32],
        log_sums: &mut [f32]
    );
    widest!(gradient, gradient_of_rows, largest: &[f32], log_sums: &[f32], factors: &[f32], out: &mut [T]);
}

#[cfg(not(target_arch = "x86_64"))]
mod vectorised {
    pub(super) use super::{gradient_of_rows as gradient, losses_of_rows as losses};
}

#[cfg(test)]
mod tests {
    use super::{gradient, losses, Policies};
    use crate::number::{Bf16, Number};

    const NUM_ACTIONS: usize = 37;

    fn logits() -> Vec<f32> {
        (0..5 * NUM_ACTIONS).map(|i| ((i * 7919 % 1000) as f32 - 500.0) / 60.0).collect()
    }

    fn wanted(row: &[f32], action: usize) -> (f64, Vec<f64>) {
        let sum: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        let mut gradient: Vec<f64> = row.iter().map(|&x| f64::from(x).exp() / sum).collect();
        gradient[action] -= 1.0;
        (sum.ln() - f64::from(row[action]), gradient)
    }

    const ACTIONS: [i64; 5] = [0, 36, 16, 15, 20];
    const FACTORS: [f32; 5] = [1.0, 0.5, 0.0, 2.0, -1.0];

    #[test]
    fn they_are_what_the_definition_says() {
        let logits = logits();
        let policies = Policies::new(&logits, &ACTIONS, NUM_ACTIONS).unwrap();
        let found = losses(policies, 1);
        let mut out = vec![0.0; logits.len()];
        gradient(policies, &found.largest, &found.log_sums, &FACTORS, &mut out, 1).unwrap();
        for (i, row) in logits.chunks(NUM_ACTIONS).enumerate() {
            let (loss, gradient) = wanted(row, ACTIONS[i] as usize);
            assert!((f64::from(found.losses[i]) - loss).abs() < 3e-6);
            assert!(row.iter().all(|&logit| logit <= row[found.best[i] as usize]));
            for (j, one) in gradient.iter().enumerate() {
                assert!((f64::from(out[i * NUM_ACTIONS + j]) - one * f64::from(FACTORS[i])).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn halves_of_the_digits_are_rounded_once() {
        let rounded: Vec<Bf16> = logits().iter().map(|&logit| Bf16::narrow(logit)).collect();
        let exact: Vec<f32> = rounded.iter().map(|logit| logit.widen()).collect();
        let (short, long) = (
            Policies::new(&rounded, &ACTIONS, NUM_ACTIONS).unwrap(),
            Policies::new(&exact, &ACTIONS, NUM_ACTIONS).unwrap(),
        );
        let found = losses(short, 1);
        assert_eq!(found, losses(long, 1));
        let (mut narrow, mut wide) = (vec![0; rounded.len()], vec![0.0; rounded.len()]);
        gradient(short, &found.largest, &found.log_sums, &FACTORS, &mut narrow, 1).unwrap();
        gradient(long, &found.largest, &found.log_sums, &FACTORS, &mut wide, 1).unwrap();
        assert_eq!(narrow, wide.iter().map(|&one| Bf16::narrow(one)).collect::<Vec<_>>());
    }

    #[test]
    fn far_from_zero_the_gradient_still_sums_to_nothing() {
        let row: Vec<f32> = (0..1000).map(|i| 1e4 + (i * 7919 % 1000) as f32 / 250.0).collect();
        let policies = Policies::new(&row, &[500], 1000).unwrap();
        let found = losses(policies, 1);
        let (loss, _) = wanted(&row.iter().map(|logit| logit - 1e4).collect::<Vec<_>>(), 500);
        assert!((f64::from(found.losses[0]) - loss).abs() < 3e-6);
        let mut out = vec![0.0; 1000];
        gradient(policies, &found.largest, &found.log_sums, &[1.0], &mut out, 1).unwrap();
        assert!(out.iter().map(|&one| f64::from(one)).sum::<f64>().abs() < 1e-6);
    }

    #[test]
    fn threads_change_nothing() {
        let (num_rows, num_actions) = (67, 4864);
        let logits: Vec<f32> = (0..num_rows * num_actions).map(|i| (i * 7919 % 10007) as f32 / 900.0).collect();
        let actions: Vec<i64> = (0..num_rows as i64).map(|i| i * 71).collect();
        let factors: Vec<f32> = (0..num_rows).map(|i| i as f32 / 7.0).collect();
        let policies = Policies::new(&logits, &actions, num_actions).unwrap();
        assert_eq!(policies.share(3), 23);
        let alone = losses(policies, 1);
        let mut out = vec![0.0; logits.len()];
        gradient(policies, &alone.largest, &alone.log_sums, &factors, &mut out, 1).unwrap();
        for num_threads in [0, 2, 3, 64] {
            assert_eq!(losses(policies, num_threads), alone);
            let mut shared = vec![0.0; logits.len()];
            gradient(policies, &alone.largest, &alone.log_sums, &factors, &mut shared, num_threads).unwrap();
            assert_eq!(shared, out);
        }
    }

    #[test]
    fn little_is_done_by_one_thread() {
        let logits = logits();
        assert_eq!(Policies::new(&logits, &ACTIONS, NUM_ACTIONS).unwrap().share(32), ACTIONS.len());
    }

    #[test]
    fn equal_logits_have_their_first_as_the_best() {
        let found = losses(Policies::new(&[1.0, 3.0, 3.0], &[2], 3).unwrap(), 1);
        assert_eq!(found.best, [1]);
    }

    #[test]
    fn what_is_no_number_is_seen_in_the_loss() {
        let mut logits = logits();
        logits[3] = f32::NAN;
        logits[NUM_ACTIONS] = f32::INFINITY;
        let found = losses(Policies::new(&logits, &ACTIONS, NUM_ACTIONS).unwrap(), 1);
        assert!(found.losses[0].is_nan() && !found.losses[1].is_finite() && found.losses[2].is_finite());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(Policies::new(&[0.0; 6], &[0], 3).is_err());
        assert!(Policies::new(&[0.0; 6], &[0, 3], 3).is_err());
        assert!(Policies::new(&[0.0; 6], &[0, -1], 3).is_err());
        let policies = Policies::new(&[0.0; 6], &[0, 1], 3).unwrap();
        assert!(gradient(policies, &[0.0], &[0.0; 2], &[1.0; 2], &mut [0.0; 6], 1).is_err());
        assert!(gradient(policies, &[0.0; 2], &[0.0; 2], &[1.0; 2], &mut [0.0; 5], 1).is_err());
    }

    #[test]
    fn no_rows_are_no_losses() {
        let policies = Policies::<f32>::new(&[], &[], 3).unwrap();
        assert!(losses(policies, 2).losses.is_empty());
        gradient(policies, &[], &[], &[], &mut [], 2).unwrap();
    }
}
