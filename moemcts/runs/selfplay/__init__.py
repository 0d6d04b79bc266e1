"""Self-play: games, trainings and promotions, generation by generation, in one folder."""
