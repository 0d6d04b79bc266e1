//! Cross-entropy of policies against target distributions, and its gradient, in as few passes as possible.
//!
//! With thousands of actions, most outputs of a small network are logits; few have a target probability.

use crate::lanes;
use crate::number::Number;

/// Minimum number of logits per thread: fewer are not worth starting one.
const MIN_LOGITS_PER_THREAD: usize = 1 << 16;

/// Target distributions: row `i` is the range `offsets[i]..offsets[i + 1]` of actions and shares.
///
/// A row has each action at most once; a played action has a share of 1.
#[derive(Clone, Copy)]
pub struct Targets<'a> {
    offsets: &'a [i64],
    actions: &'a [i64],
    shares: &'a [f32],
}

impl<'a> Targets<'a> {
    /// Checks that the rows are contiguous and in order; the error describes the problem.
    pub fn new(offsets: &'a [i64], actions: &'a [i64], shares: &'a [f32]) -> Result<Self, String> {
        let is_contiguous = offsets.first() == Some(&0) && offsets.last() == i64::try_from(actions.len()).ok().as_ref();
        if !is_contiguous || !offsets.is_sorted() || shares.len() != actions.len() {
            let ends = (offsets.first(), offsets.last());
            let (num_actions, num_shares) = (actions.len(), shares.len());
            return Err(format!("expected rows of {num_actions} actions, got {num_shares} shares, offsets {ends:?}"));
        }
        Ok(Self { offsets, actions, shares })
    }

    fn num_rows(self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the first `num_rows` rows, and the others.
    fn split(self, num_rows: usize) -> (Self, Self) {
        (Self { offsets: &self.offsets[..=num_rows], ..self }, Self { offsets: &self.offsets[num_rows..], ..self })
    }

    fn rows(self) -> impl Iterator<Item = TargetRow<'a>> {
        self.offsets.windows(2).map(move |ends| {
            let range = ends[0] as usize..ends[1] as usize;
            TargetRow { actions: &self.actions[range.clone()], shares: &self.shares[range] }
        })
    }
}

/// The target distribution of one policy.
#[derive(Clone, Copy)]
struct TargetRow<'a> {
    actions: &'a [i64],
    shares: &'a [f32],
}

impl<'a> TargetRow<'a> {
    fn iter(self) -> impl Iterator<Item = (usize, f32)> + 'a {
        self.actions.iter().map(|&action| action as usize).zip(self.shares.iter().copied())
    }

    fn total(self) -> f32 {
        self.shares.iter().sum()
    }

    /// Returns the first action with the largest share.
    fn most_likely(self) -> i64 {
        let (mut largest_share, mut first) = (0.0, 0);
        for (action, share) in self.iter() {
            if share > largest_share || (share == largest_share && action < first) {
                (largest_share, first) = (share, action);
            }
        }
        first as i64
    }
}

/// Logits `[N, A]`, and the targets of each row.
#[derive(Clone, Copy)]
pub struct Policies<'a, T> {
    logits: &'a [T],
    targets: Targets<'a>,
    num_actions: usize,
}

impl<'a, T: Number> Policies<'a, T> {
    /// Checks that each row has targets with actions in range; the error describes the problem.
    pub fn new(logits: &'a [T], targets: Targets<'a>, num_actions: usize) -> Result<Self, String> {
        if num_actions == 0 || logits.len() != targets.num_rows() * num_actions {
            let num = targets.num_rows();
            return Err(format!("expected a target per row, got {num} for {} logits", logits.len()));
        }
        match targets.actions.iter().find(|&&action| !usize::try_from(action).is_ok_and(|action| action < num_actions))
        {
            Some(action) => Err(format!("expected actions below {num_actions}, got {action}")),
            None => Ok(Self { logits, targets, num_actions }),
        }
    }

    fn num_rows(self) -> usize {
        self.targets.num_rows()
    }

    /// Returns the number of rows per thread; fewer than `num_threads` threads are used if there is little to do.
    fn rows_per_thread(self, num_threads: usize) -> usize {
        let num_threads = num_threads.clamp(1, (self.logits.len() / MIN_LOGITS_PER_THREAD).max(1));
        self.num_rows().div_ceil(num_threads).max(1)
    }

    fn split(self, num_rows: usize) -> (Self, Self) {
        let (first, rest) = self.logits.split_at(num_rows * self.num_actions);
        let (first_targets, rest_targets) = self.targets.split(num_rows);
        (Self { logits: first, targets: first_targets, ..self }, Self { logits: rest, targets: rest_targets, ..self })
    }

    fn rows(self) -> impl Iterator<Item = (&'a [T], TargetRow<'a>)> {
        self.logits.chunks_exact(self.num_actions).zip(self.targets.rows())
    }
}

/// The results for each row.
///
/// The log-sum-exp of a row is kept in two parts: added up, small sums would lose digits next to large logits.
#[derive(Debug, PartialEq)]
pub struct Losses {
    /// `-log p(action)`, weighted by the shares.
    pub losses: Vec<f32>,
    /// The largest logit.
    pub largest: Vec<f32>,
    /// The logarithm of the sum of `exp(logit - largest)`.
    pub log_sums: Vec<f32>,
    /// The first action with the largest logit.
    pub best: Vec<i64>,
    /// The first action with the largest share of the targets.
    pub target_actions: Vec<i64>,
}

/// Returns the losses of policies, computed with at most `num_threads` threads.
pub fn losses<T: Number>(policies: Policies<T>, num_threads: usize) -> Losses {
    let num_rows = policies.num_rows();
    let zeros = || vec![0.0; num_rows];
    let target_actions = policies.targets.rows().map(TargetRow::most_likely).collect();
    let mut result =
        Losses { losses: zeros(), largest: zeros(), log_sums: zeros(), best: vec![0; num_rows], target_actions };
    let rows_per_thread = policies.rows_per_thread(num_threads);
    let sums = result.largest.chunks_mut(rows_per_thread).zip(result.log_sums.chunks_mut(rows_per_thread));
    let parts = result.losses.chunks_mut(rows_per_thread).zip(result.best.chunks_mut(rows_per_thread)).zip(sums);
    let mut remaining = policies;
    std::thread::scope(|scope| {
        for ((losses, best), (largest, log_sums)) in parts {
            let (part, rest) = remaining.split(losses.len());
            remaining = rest;
            run_task(scope, rows_per_thread == num_rows, move || {
                vectorised::losses(part, losses, best, largest, log_sums)
            });
        }
    });
    result
}

/// Writes the gradient of the sum over rows of `factors` times the losses; `largest` and `log_sums` are those of
/// `losses`.
pub fn gradient<T: Number>(
    policies: Policies<T>,
    largest: &[f32],
    log_sums: &[f32],
    factors: &[f32],
    out: &mut [T],
    num_threads: usize,
) -> Result<(), String> {
    let num_rows = policies.num_rows();
    let lengths = [largest.len(), log_sums.len(), factors.len()];
    if lengths != [num_rows; 3] || out.len() != policies.logits.len() {
        return Err(format!("expected {num_rows} rows, got {lengths:?} and {} numbers to write", out.len()));
    }
    let rows_per_thread = policies.rows_per_thread(num_threads);
    let sums = largest.chunks(rows_per_thread).zip(log_sums.chunks(rows_per_thread));
    let parts = out.chunks_mut(rows_per_thread * policies.num_actions).zip(factors.chunks(rows_per_thread)).zip(sums);
    let mut remaining = policies;
    std::thread::scope(|scope| {
        for ((out, factors), (largest, log_sums)) in parts {
            let (part, rest) = remaining.split(factors.len());
            remaining = rest;
            run_task(scope, rows_per_thread == num_rows, move || {
                vectorised::gradient(part, largest, log_sums, factors, out)
            });
        }
    });
    Ok(())
}

/// Runs a task in its own thread, or in the current one if it is the only task.
fn run_task<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    is_only_task: bool,
    task: impl FnOnce() + Send + 'scope,
) {
    if is_only_task {
        task();
    } else {
        scope.spawn(task);
    }
}

#[inline(always)]
fn compute_losses<T: Number>(
    policies: Policies<T>,
    losses: &mut [f32],
    best: &mut [i64],
    largest: &mut [f32],
    log_sums: &mut [f32],
) {
    for (i, (row, target)) in policies.rows().enumerate() {
        let max_logit = lanes::largest(row);
        largest[i] = max_logit;
        log_sums[i] = lanes::sum_of_exps(row, max_logit).ln();
        losses[i] =
            target.iter().map(|(action, share)| share * ((max_logit - row[action].to_f32()) + log_sums[i])).sum();
        best[i] = row.iter().position(|logit| logit.to_f32() == max_logit).unwrap_or(0) as i64;
    }
}

#[inline(always)]
fn compute_gradient<T: Number>(
    policies: Policies<T>,
    largest: &[f32],
    log_sums: &[f32],
    factors: &[f32],
    out: &mut [T],
) {
    let outs = out.chunks_exact_mut(policies.num_actions).zip(factors);
    let sums = largest.iter().zip(log_sums);
    for (((row, target), (out, &factor)), (&max_logit, &log_sum)) in policies.rows().zip(outs).zip(sums) {
        let total = target.total();
        let probability = |logit: T| total * lanes::exp((logit.to_f32() - max_logit) - log_sum);
        for (gradient, &logit) in out.iter_mut().zip(row) {
            *gradient = T::from_f32(factor * probability(logit));
        }
        for (action, share) in target.iter() {
            out[action] = T::from_f32(factor * (probability(row[action]) - share));
        }
    }
}

/// The same with the widest vectors of the CPU: compiled several times, dispatched at run time.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod vectorised {
    use super::{compute_gradient, compute_losses, Number, Policies};

    macro_rules! dispatch {
        ($name:ident, $body:ident, $($argument:ident: $kind:ty),*) => {
            pub fn $name<T: Number>(policies: Policies<T>, $($argument: $kind),*) {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
                fn with_avx512<T: Number>(policies: Policies<T>, $($argument: $kind),*) {
                    $body(policies, $($argument),*);
                }
                #[target_feature(enable = "avx2")]
                fn with_avx2<T: Number>(policies: Policies<T>, $($argument: $kind),*) {
                    $body(policies, $($argument),*);
                }
                let has_512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
                if has_512 && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512dq") {
                    // SAFETY: the CPU supports the features that this was compiled for.
                    unsafe { with_avx512(policies, $($argument),*) }
                } else if is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    unsafe { with_avx2(policies, $($argument),*) }
                } else {
                    $body(policies, $($argument),*);
                }
            }
        };
    }

    dispatch!(
        losses,
        compute_losses,
        losses: &mut [f32],
        best: &mut [i64],
        largest: &mut [f32],
        log_sums: &mut [f32]
    );
    dispatch!(gradient, compute_gradient, largest: &[f32], log_sums: &[f32], factors: &[f32], out: &mut [T]);
}

#[cfg(not(target_arch = "x86_64"))]
mod vectorised {
    pub(super) use super::{compute_gradient as gradient, compute_losses as losses};
}

#[cfg(test)]
mod tests {
    use super::{gradient, losses, Policies, Targets};
    use crate::number::{Bf16, Number};

    const NUM_ACTIONS: usize = 37;

    fn logits() -> Vec<f32> {
        (0..5 * NUM_ACTIONS).map(|i| ((i * 7919 % 1000) as f32 - 500.0) / 60.0).collect()
    }

    /// Returns the cross-entropy of one action and its gradient, by definition.
    fn expected(row: &[f32], action: usize) -> (f64, Vec<f64>) {
        let sum: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        let mut gradient: Vec<f64> = row.iter().map(|&x| f64::from(x).exp() / sum).collect();
        gradient[action] -= 1.0;
        (sum.ln() - f64::from(row[action]), gradient)
    }

    const OFFSETS: [i64; 6] = [0, 1, 2, 3, 4, 5];
    const ACTIONS: [i64; 5] = [0, 36, 16, 15, 20];
    const SHARES: [f32; 5] = [1.0; 5];
    const TARGETS: Targets = Targets { offsets: &OFFSETS, actions: &ACTIONS, shares: &SHARES };
    const FACTORS: [f32; 5] = [1.0, 0.5, 0.0, 2.0, -1.0];

    #[test]
    fn they_are_what_the_definition_says() {
        let logits = logits();
        let policies = Policies::new(&logits, TARGETS, NUM_ACTIONS).unwrap();
        let result = losses(policies, 1);
        let mut out = vec![0.0; logits.len()];
        gradient(policies, &result.largest, &result.log_sums, &FACTORS, &mut out, 1).unwrap();
        for (i, row) in logits.chunks(NUM_ACTIONS).enumerate() {
            let (loss, gradient) = expected(row, ACTIONS[i] as usize);
            assert!((f64::from(result.losses[i]) - loss).abs() < 3e-6);
            assert!(row.iter().all(|&logit| logit <= row[result.best[i] as usize]));
            for (j, one) in gradient.iter().enumerate() {
                assert!((f64::from(out[i * NUM_ACTIONS + j]) - one * f64::from(FACTORS[i])).abs() < 1e-6);
            }
        }
    }

    /// Returns targets with one action per row, each with a share of 1.
    fn played<'a>(offsets: &'a [i64], actions: &'a [i64]) -> Targets<'a> {
        Targets::new(offsets, actions, &[1.0; 100][..actions.len()]).unwrap()
    }

    #[test]
    fn shares_of_several_actions_are_weighed() {
        let logits = logits();
        let (offsets, actions) = ([0, 3, 4, 4, 6, 7], [5, 0, 30, 36, 9, 2, 20]);
        // The third row has no target; the last row's do not sum to one, as with rounded shares.
        let shares = [0.25, 0.5, 0.25, 1.0, 0.5, 0.5, 0.75];
        let policies = Policies::new(&logits, Targets::new(&offsets, &actions, &shares).unwrap(), NUM_ACTIONS).unwrap();
        let result = losses(policies, 1);
        assert_eq!(result.target_actions, [0, 36, 0, 2, 20]);
        let mut out = vec![0.0; logits.len()];
        gradient(policies, &result.largest, &result.log_sums, &FACTORS, &mut out, 1).unwrap();
        for (i, row) in logits.chunks(NUM_ACTIONS).enumerate() {
            let (mut loss, mut gradient) = (0.0, [0.0; NUM_ACTIONS]);
            for j in offsets[i] as usize..offsets[i + 1] as usize {
                let (of_action, by_action) = expected(row, actions[j] as usize);
                loss += f64::from(shares[j]) * of_action;
                gradient.iter_mut().zip(by_action).for_each(|(sum, one)| *sum += f64::from(shares[j]) * one);
            }
            assert!((f64::from(result.losses[i]) - loss).abs() < 3e-6);
            for (one, expected) in out[i * NUM_ACTIONS..].iter().zip(gradient) {
                assert!((f64::from(*one) - expected * f64::from(FACTORS[i])).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn halves_of_the_digits_are_rounded_once() {
        let rounded: Vec<Bf16> = logits().iter().map(|&logit| Bf16::from_f32(logit)).collect();
        let exact: Vec<f32> = rounded.iter().map(|logit| logit.to_f32()).collect();
        let (short, long) = (
            Policies::new(&rounded, TARGETS, NUM_ACTIONS).unwrap(),
            Policies::new(&exact, TARGETS, NUM_ACTIONS).unwrap(),
        );
        let result = losses(short, 1);
        assert_eq!(result, losses(long, 1));
        let (mut narrow, mut wide) = (vec![0; rounded.len()], vec![0.0; rounded.len()]);
        gradient(short, &result.largest, &result.log_sums, &FACTORS, &mut narrow, 1).unwrap();
        gradient(long, &result.largest, &result.log_sums, &FACTORS, &mut wide, 1).unwrap();
        assert_eq!(narrow, wide.iter().map(|&one| Bf16::from_f32(one)).collect::<Vec<_>>());
    }

    #[test]
    fn far_from_zero_the_gradient_still_sums_to_nothing() {
        let row: Vec<f32> = (0..1000).map(|i| 1e4 + (i * 7919 % 1000) as f32 / 250.0).collect();
        let policies = Policies::new(&row, played(&[0, 1], &[500]), 1000).unwrap();
        let result = losses(policies, 1);
        let (loss, _) = expected(&row.iter().map(|logit| logit - 1e4).collect::<Vec<_>>(), 500);
        assert!((f64::from(result.losses[0]) - loss).abs() < 3e-6);
        let mut out = vec![0.0; 1000];
        gradient(policies, &result.largest, &result.log_sums, &[1.0], &mut out, 1).unwrap();
        assert!(out.iter().map(|&one| f64::from(one)).sum::<f64>().abs() < 1e-6);
    }

    #[test]
    fn threads_change_nothing() {
        let (num_rows, num_actions) = (67, 4864);
        let logits: Vec<f32> = (0..num_rows * num_actions).map(|i| (i * 7919 % 10007) as f32 / 900.0).collect();
        let actions: Vec<i64> = (0..num_rows as i64).map(|i| i * 71).collect();
        let factors: Vec<f32> = (0..num_rows).map(|i| i as f32 / 7.0).collect();
        let offsets: Vec<i64> = (0..=num_rows as i64).collect();
        let policies = Policies::new(&logits, played(&offsets, &actions), num_actions).unwrap();
        assert_eq!(policies.rows_per_thread(3), 23);
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
        assert_eq!(Policies::new(&logits, TARGETS, NUM_ACTIONS).unwrap().rows_per_thread(32), ACTIONS.len());
    }

    #[test]
    fn equal_logits_have_their_first_as_the_best() {
        let result = losses(Policies::new(&[1.0, 3.0, 3.0], played(&[0, 1], &[2]), 3).unwrap(), 1);
        assert_eq!((result.best, result.target_actions), (vec![1], vec![2]));
    }

    #[test]
    fn what_is_no_number_is_seen_in_the_loss() {
        let mut logits = logits();
        logits[3] = f32::NAN;
        logits[NUM_ACTIONS] = f32::INFINITY;
        let result = losses(Policies::new(&logits, TARGETS, NUM_ACTIONS).unwrap(), 1);
        assert!(result.losses[0].is_nan() && !result.losses[1].is_finite() && result.losses[2].is_finite());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(Policies::new(&[0.0; 6], played(&[0, 1], &[0]), 3).is_err());
        assert!(Policies::new(&[0.0; 6], played(&[0, 1, 2], &[0, 3]), 3).is_err());
        assert!(Policies::new(&[0.0; 6], played(&[0, 1, 2], &[0, -1]), 3).is_err());
        for offsets in [&[][..], &[0, 1], &[1, 2], &[0, 2, 1, 2], &[-1, 2]] {
            assert!(Targets::new(offsets, &[0, 1], &[1.0; 2]).is_err());
        }
        assert!(Targets::new(&[0, 2], &[0, 1], &[1.0]).is_err());
        let policies = Policies::new(&[0.0; 6], played(&[0, 1, 2], &[0, 1]), 3).unwrap();
        assert!(gradient(policies, &[0.0], &[0.0; 2], &[1.0; 2], &mut [0.0; 6], 1).is_err());
        assert!(gradient(policies, &[0.0; 2], &[0.0; 2], &[1.0; 2], &mut [0.0; 5], 1).is_err());
    }

    #[test]
    fn no_rows_are_no_losses() {
        let policies = Policies::<f32>::new(&[], played(&[0], &[]), 3).unwrap();
        assert!(losses(policies, 2).losses.is_empty());
        gradient(policies, &[], &[], &[], &mut [], 2).unwrap();
    }
}
