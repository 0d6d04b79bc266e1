"""An experiment: arms that learn from the same games and meet on the same boards, in one folder."""
