"""Writes docs/assets/flow.svg, the data flow diagram.

python scripts/flow.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

PATH = Path(__file__).parent.parent / "docs" / "assets" / "flow.svg"
WIDTH, HEIGHT, BOX, TALL = 960, 452, 138, 56
INK, SOFT, RULE, CARD = "#26313a", "#5f6b75", "#c9c1ae", "#fffdf8"
ROWS = (
    ("play", 66, "#1f7a8c", ("position", "gate", "experts", "search", "agent", "decision")),
    ("learn", 206, "#c07a14", ("games", "records", "phase weights", "scheme", "trainer", "experts ")),
    ("judge", 346, "#a4436a", ("agents", "schedule", "records ", "rating", "intervals", "report")),
)
UNDER = {
    "position": "views [N]",
    "gate": "weights [N, K]",
    "experts": "logits [N, A], value",
    "search": "visits, values",
    "agent": "one per view",
    "decision": "action, policy, phase",
    "games": "played or imported",
    "records": "bytes, not planes",
    "phase weights": "[samples, K]",
    "scheme": "who sees what",
    "trainer": "stages of steps",
    "experts ": "weights, manifest",
    "agents": "experts, engines, scripts",
    "schedule": "seats, openings, seeds",
    "records ": "one per game",
    "rating": "Elo, SPRT",
    "intervals": "by game, by seed",
    "report": "tables, plots, page",
}


def text(x: float, y: float, words: str, size: int, colour: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" {more}>{escape(words)}</text>'


def picture() -> str:
    """Returns the diagram as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Inter, Segoe UI, '
        'DejaVu Sans, sans-serif" role="img" aria-label="Positions go through a gate to experts and a search; games '
        'through phase weights to a trainer; records through a rating to a report">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{SOFT}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="14" fill="{CARD}"/>',
    ]
    step = (WIDTH - 60) / 6
    for name, top, colour, boxes in ROWS:
        parts.append(text(30, top - 14, name, 15, colour, 'font-weight="700"'))
        for index, box in enumerate(boxes):
            x = 30 + index * step
            middle = x + BOX / 2
            parts.append(
                f'<rect x="{x:g}" y="{top}" width="{BOX}" height="{TALL}" rx="9" fill="{colour}14" stroke="{colour}"/>'
            )
            parts.append(text(middle, top + 24, box.strip(), 15, INK, 'text-anchor="middle" font-weight="600"'))
            parts.append(text(middle, top + 43, UNDER[box], 11, SOFT, 'text-anchor="middle"'))
            if index < 5:
                parts.append(line(x + BOX + 1, top + TALL / 2, x + step - 2, top + TALL / 2))
    last = 30 + 5 * step + BOX / 2
    loop = 30 + 2 * step + BOX / 2
    parts.append(f'<path d="M{last:g} 206V164H{loop:g}V124" fill="none" stroke="{SOFT}" marker-end="url(#tip)"/>')
    parts.append(text((last + loop) / 2, 158, "experts that learned play", 11, SOFT, 'text-anchor="middle"'))
    first = 30 + BOX / 2
    parts.append(f'<path d="M{first:g} 262V344" fill="none" stroke="{SOFT}" stroke-dasharray="4 4"/>')
    parts.append(text(first + 10, 306, "the same table plays them all", 11, SOFT))
    parts.append("</svg>\n")
    return "\n".join(parts)


def line(x0: float, y0: float, x1: float, y1: float) -> str:
    return f'<path d="M{x0:g} {y0:g}L{x1:g} {y1:g}" stroke="{SOFT}" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    PATH.write_text(picture())
