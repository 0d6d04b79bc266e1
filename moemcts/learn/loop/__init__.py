"""Self-play: generations of games fill a window of samples, on which the next experts are trained."""
