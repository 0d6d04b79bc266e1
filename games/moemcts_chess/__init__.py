"""Chess, Chess960, antichess and the other variants on Lichess: one implementation, registered as several games."""
