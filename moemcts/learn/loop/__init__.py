"""Self-play: generations of games become a window of samples, from which the next experts learn."""
