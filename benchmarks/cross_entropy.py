"""The native cross-entropy of policies against PyTorch's, forward and backward.

python benchmarks/cross_entropy.py [--actions 4864] [--batch-size 256] [--rounds 60] [--threads 1] [--record]

Both take turns; a row has the milliseconds of processor time of each, the median over rounds, and their ratio. With
PyTorch, logits in bfloat16 become 32 bits first, as its cross-entropy needs them to be exact; both also say which
action is the likeliest, as a training does of every sample.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from record import add_option, append
from torch import Tensor
from torch.nn import functional

from moemcts.learn.training.cross_entropy import PolicyLoss, policy_loss

DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}


def by_pytorch(logits: Tensor, actions: Tensor) -> PolicyLoss:
    """Returns what `policy_loss` does, by PyTorch's own functions."""
    logits = logits.float()
    return PolicyLoss(functional.cross_entropy(logits, actions, reduction="none"), logits.argmax(dim=1))


def milliseconds(loss: Callable[[Tensor, Tensor], PolicyLoss], logits: Tensor, actions: Tensor) -> float:
    """Returns the processor time of a loss and its gradient."""
    logits.grad = None
    started = time.process_time()
    loss(logits, actions).losses.mean().backward()
    return 1000 * (time.process_time() - started)


def measured(options: argparse.Namespace, precision: str) -> dict[str, object]:
    """Returns the row of logits of a precision."""
    generator = torch.Generator().manual_seed(options.seed)
    drawn = torch.randn(options.batch_size, options.actions, generator=generator)
    logits = drawn.to(DTYPES[precision]).requires_grad_(True)
    actions = torch.randint(options.actions, (options.batch_size,), generator=generator)
    rounds = [
        [milliseconds(loss, logits, actions) for loss in (policy_loss, by_pytorch)] for _ in range(options.rounds)
    ]
    ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
    return {
        "name": f"cross-entropy of {options.batch_size} x {options.actions:,} actions, {precision}, against PyTorch's",
        "value": round(theirs / ours, 2),
        "unit": "times",
        "ours": round(ours, 2),
        "theirs": round(theirs, 2),
        "runs": options.rounds,
        "seed": options.seed,
    }


def main() -> None:
    """Measures both precisions and prints; appends to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=4864, help="of a policy; those of chess by default")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = [measured(options, precision) for precision in DTYPES]
    for row in rows:
        print(*row.values())
    if options.record:
        append("cross_entropy", rows)


if __name__ == "__main__":
    main()
