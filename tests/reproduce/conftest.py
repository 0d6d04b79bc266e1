"""Disables the drawing of figures in these reports."""

from figures_for_tests import no_drawing

__all__ = ["no_drawing"]
