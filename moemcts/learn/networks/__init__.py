"""Networks: planes `[N, C, H, W]` in, logits `[N, A]` and value `[N]` or `[N, P]` out, for any board."""
