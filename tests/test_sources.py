"""Files name sources that their readers can get at."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRIVATE = re.compile(r"\bfacts/|\bshared/|\btargets\.md|\bcrazyara\.md|pommerman\.md \d|/work/|/root/")

BINARY = (".npz", ".bin", ".png", ".rtbw", ".rtbz", ".safetensors")


def test_no_file_speaks_of_files_that_a_user_does_not_have() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    named = []
    for path in map(ROOT.joinpath, listed.stdout.splitlines()):
        if path == Path(__file__) or not path.is_file() or path.suffix in BINARY:
            continue
        lines = enumerate(path.read_text().splitlines(), 1)
        named += [f"{path.relative_to(ROOT)}:{number}: {line[:120]}" for number, line in lines if PRIVATE.search(line)]
    assert not named
