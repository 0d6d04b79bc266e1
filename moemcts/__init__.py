"""AlphaZero-style search with a team of phase experts, for any game.

play    position --gate--> phase --experts--> evaluation --search--> tree --SearchAgent--> move
learn   games --selfplay/import--> samples --dataset.phase_weights(gate)--> phases --scheme, trainer--> experts
judge   experts --arena.match--> results --arena.rating--> win rates and Elo with intervals --report--> tables and plots
"""

__version__ = "0.1.0"
