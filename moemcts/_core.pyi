# The compiled core. Its State, Views and Search classes follow the protocols of moemcts.game and are named by the
# games that own them.
from typing import Any

def __getattr__(name: str) -> Any: ...
