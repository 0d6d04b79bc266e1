"""Learning: games become samples, samples become one expert network per phase."""
