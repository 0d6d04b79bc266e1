"""The native cross-entropy of policies against PyTorch's, forward and backward.

python benchmarks/cross_entropy.py [--actions 4864] [--batch-size 256] [--visited 30] [--rounds 60] [--threads 1]
                                   [--record]

Targets are played actions, or probabilities of `--visited` actions per policy, which PyTorch gets as dense rows. Both
are measured in turn; a row has the milliseconds of processor time of each, the median over rounds, and their ratio.
With PyTorch, bfloat16 logits are converted to float32 first, which its cross-entropy needs for precision; both also
return the most likely action, which a training needs for every sample.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable

import torch
from measuring.record import add_option, append
from torch import Tensor
from torch.nn import functional

from moemcts.learn.training.cross_entropy import PolicyLoss, PolicyTargets, policy_loss

DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}


def by_pytorch(logits: Tensor, targets: Tensor) -> PolicyLoss:
    """Does the same as `policy_loss` with PyTorch's functions; target probabilities are dense."""
    logits = logits.float()
    labels = targets.argmax(dim=1) if targets.ndim > 1 else targets
    return PolicyLoss(functional.cross_entropy(logits, targets, reduction="none"), logits.argmax(dim=1), labels)


def milliseconds(loss: Callable[[], PolicyLoss], logits: Tensor) -> float:
    """Returns the processor time of a loss and its gradient in milliseconds."""
    logits.grad = None
    started = time.process_time()
    loss().losses.mean().backward()
    return 1000 * (time.process_time() - started)


def visits(options: argparse.Namespace, generator: torch.Generator) -> PolicyTargets:
    """Returns random target probabilities of `--visited` random actions for each policy."""
    num, visited = options.batch_size, options.visited
    actions = torch.rand(num, options.actions, generator=generator).topk(visited, dim=1).indices
    shares = torch.softmax(torch.randn(num, visited, generator=generator), dim=1)
    return PolicyTargets(torch.arange(num + 1) * visited, actions.flatten(), shares.flatten())


def measured(options: argparse.Namespace, precision: str, *, visited: int) -> dict[str, object]:
    """Returns the row of a precision, with actions as targets or, if `visited` is not 0, with probabilities."""
    generator = torch.Generator().manual_seed(options.seed)
    drawn = torch.randn(options.batch_size, options.actions, generator=generator)
    logits = drawn.to(DTYPES[precision]).requires_grad_(True)
    if visited:
        shares = visits(options, generator)
        losses = (
            functools.partial(policy_loss, logits, shares),
            functools.partial(by_pytorch, logits, shares.dense(drawn)),
        )
    else:
        actions = torch.randint(options.actions, (options.batch_size,), generator=generator)
        losses = functools.partial(policy_loss, logits, actions), functools.partial(by_pytorch, logits, actions)
    rounds = [[milliseconds(loss, logits) for loss in losses] for _ in range(options.rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
    held = f", shares of {visited}" if visited else ""
    name = f"cross-entropy of {options.batch_size} x {options.actions:,} actions{held}, {precision}, against PyTorch's"
    return {
        "name": name,
        "value": round(theirs / ours, 2),
        "unit": "times",
        "ours": round(ours, 2),
        "theirs": round(theirs, 2),
        "runs": options.rounds,
        "seed": options.seed,
    }


def main() -> None:
    """Measures both precisions and kinds of targets and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=4864, help="of a policy; those of chess by default")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--visited", type=int, default=30, help="actions of a policy that have a share")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = [measured(options, precision, visited=number) for number in (0, options.visited) for precision in DTYPES]
    for row in rows:
        print(*row.values())
    if options.record:
        append("cross_entropy", rows)


if __name__ == "__main__":
    main()
