"""Pommerman: free-for-all, team, radio and one against one, with the reference's rules step for step."""

from moemcts_pommerman.game import Pommerman, variant, variant_ids

__all__ = ["Pommerman", "variant", "variant_ids"]
