"""Renders reports as HTML: templates, and a small subset of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from moemcts.report.tables import SAFE_ADDRESS

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererProtocol
    from markdown_it.token import Token

_RULES = ("list", "backticks", "emphasis", "link")
"""The Markdown that is supported: lists, `code`, **bold** and [links](address); everything else is verbatim."""


def render_template(template: str, **values: Any) -> str:
    """Renders a template of this folder; text is escaped, `Markup` is not."""
    return _templates().get_template(template).render(values)


def render_prose(text: str) -> str:
    """Returns the text of a section as HTML."""
    html: str = _markdown().render(text)
    return html.strip()


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("moemcts.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["prose"] = lambda text: Markup(render_prose(text))
    return environment


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero").enable(list(_RULES))
    parser.validateLink = _is_safe  # type: ignore[method-assign]
    for kind in ("em_open", "em_close", "strong_open", "strong_close"):
        parser.add_render_rule(kind, _emphasis)
    return parser


def _is_safe(url: str) -> bool:
    return re.fullmatch(SAFE_ADDRESS, url) is not None


def _emphasis(renderer: RendererProtocol, tokens: Sequence[Token], i: int, options: object, env: object) -> str:
    """Returns the tag of bold text; other asterisks and underscores are part of names."""
    token = tokens[i]
    if token.markup != "**":
        return token.markup
    return "<strong>" if token.nesting > 0 else "</strong>"
