"""Pommerman: free-for-all, team, radio and one against one, with the reference's rules step by step."""

from moemcts_pommerman.environments import register
from moemcts_pommerman.game import Pommerman, variant, variant_ids

__all__ = ["Pommerman", "variant", "variant_ids"]

# Gymnasium finds environments in imported modules, not by entry points (since 1.0).
register()
