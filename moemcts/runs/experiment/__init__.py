"""Experiments: arms that are trained on the same games and compared on the same openings, in one folder."""
