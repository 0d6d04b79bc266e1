"""Chess, Chess960, antichess and the other variants that Lichess plays: one board, several registrations."""
