"""Files of others start no program, fetch nothing and connect to nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trained_for_tests import save_team

from moemcts.runs.match import MatchPlan, going_on

PROGRAM = "uci?path=/nowhere/evil.sh"


@pytest.mark.parametrize("where", ["match", "table of a tournament"])
@pytest.mark.parametrize(
    ("written", "told", "is_taken"),
    [
        ("uci", PROGRAM, False),
        ("uct", "uct?simulations=9", True),
        ("{team}", "{team}?else=https://127.0.0.1:1/evil&only=phase 0", False),
        ("{team}", "{team}?value=hf:nobody/evil", False),
        ("{team}?value=auto", "{team}?value=https://127.0.0.1:1/evil", False),
        ("{team}?backend=auto", "{team}?backend=torch&precision=bf16&device=cpu", True),
    ],
)
def test_a_match_file_chooses_what_runs_networks_and_no_program(
    written: str, told: str, is_taken: bool, where: str, tmp_path: Path
) -> None:
    save_team(tmp_path / "team")
    written, told = (text.format(team=tmp_path / "team") for text in (written, told))
    agents = {written: told}
    header = {"identity": {"agents": agents}} if where == "match" else {"agents": agents, "identity": {}}
    (tmp_path / "games.jsonl").write_text(json.dumps(header) + "\n")
    plan = MatchPlan(game="chess", agents=(written, "random"))
    assert going_on(plan, tmp_path / "games.jsonl").resolved == (agents if is_taken else {})
