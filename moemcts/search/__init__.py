"""Search: decoupled PUCT over many trees at once."""

from moemcts.search.agent import SearchAgent
from moemcts.search.config import SearchConfig
from moemcts.search.engine import Search
from moemcts.search.result import SearchResult

__all__ = ["Search", "SearchAgent", "SearchConfig", "SearchResult"]
