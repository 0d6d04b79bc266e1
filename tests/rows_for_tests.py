"""A row of a suite's results."""

ROW = {
    "suite": "tiny", "game": "a", "gate": "g", "scheme": "s", "simulations": 8, "routing": "each", "seed": 0,
    "games": 10, "points": 3.0, "low": -1.0, "high": 7.0, "loss_single": 1.0, "loss_mixture": 0.5, "hours": 0.1,
    "command": "c", "commit": "x", "machine": "m", "date": "d",
}  # fmt: skip
