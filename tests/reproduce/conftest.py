"""Figures of these reports are not drawn."""

from figures_for_tests import no_drawing

__all__ = ["no_drawing"]
