"""Downloads the board of the chess family's page from npm, verifies its hash, and extracts the needed files.

python scripts/vendor.py            writes games/moemcts_chess/page/cm-chessboard/
python scripts/vendor.py --check    exits with status 1 if that folder differs
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "games" / "moemcts_chess" / "page" / "cm-chessboard"
PACKAGE = "cm-chessboard@8.15.1"
SHA256 = "c2328d7b1188f4c1a293039ad3f3c8a61026af451a1d9cf9210517ce49ebb535"
KEPT = (
    "LICENSE",
    "package.json",
    "assets/chessboard.css",
    "assets/pieces/standard.svg",
    "src/Chessboard.js",
    "src/lib/Svg.js",
    "src/lib/Utils.js",
    "src/model/ChessboardState.js",
    "src/model/Extension.js",
    "src/model/Position.js",
    "src/view/ChessboardView.js",
    "src/view/PositionAnimationsQueue.js",
    "src/view/VisualMoveInput.js",
)
"""MIT (LICENSE); the pieces are Cburnett's and Rfc1394's, CC BY-SA 3.0, as stated in their file."""


def fetch() -> dict[str, bytes]:
    """Returns the needed files from npm; exits if the package does not have the expected hash."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        content = archive.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != SHA256:
        sys.exit(f"expected {PACKAGE} with SHA-256 {SHA256}, got {found}")
    with tarfile.open(fileobj=io.BytesIO(content)) as package:
        members = {member.name.partition("/")[2]: member for member in package if member.isfile()}
        return {name: package.extractfile(members[name]).read() for name in KEPT}  # type: ignore[union-attr]


def main() -> None:
    """Writes the files; with `--check`, compares them with the existing ones."""
    for name, content in fetch().items():
        path = FOLDER / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_bytes() != content:
                sys.exit(f"{path.relative_to(ROOT)} is not that of {PACKAGE}: run python scripts/vendor.py")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
