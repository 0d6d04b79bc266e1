"""The documentation is a site: built without a warning, every page in its menu, every link leading somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from moemcts.errors import MissingExtra, MoemctsError

ROOT = Path(__file__).parent.parent


def pages(nav: Any) -> list[str]:
    """Returns the pages that a menu names."""
    if isinstance(nav, str):
        return [nav]
    entries = nav.values() if isinstance(nav, dict) else nav
    return [page for entry in entries for page in pages(entry)]


def test_every_page_is_in_the_menu_once() -> None:
    nav = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(nav) == sorted(written)


class Links(HTMLParser):
    """What a page links to, and what in it can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {found[name] or "" for name in ("id", "name") if name in found}
        if tag in ("a", "img", "link", "script"):
            self.targets += [found[name] or "" for name in ("href", "src") if name in found]


def test_the_site_is_built_without_a_warning_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="the extra `docs` is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra `docs` is not installed")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name in ("moemcts", "games"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search(r"warning|error", done.stdout + done.stderr, re.IGNORECASE)
    site = tmp_path / "site"
    read = {path.resolve(): Links(path.read_text()) for path in site.rglob("*.html")}
    missing = []
    for page, links in read.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or page.name == "404.html" or target.startswith("/"):
                continue
            place = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = place / "index.html" if place.is_dir() else place
            is_there = place.exists() and (place not in read or unquote(parts.fragment) in read[place].anchors)
            missing += [] if is_there else [f"{page.name}: {target}"]
    assert not missing
    assert 'id="moemcts.load"' in (site / "api" / "index.html").read_text()


def test_the_documentation_is_found_or_its_absence_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from moemcts.cli import docs

    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    with pytest.raises(MoemctsError, match="it does not come with a wheel"):
        docs.docs()
    (tmp_path / "mkdocs.yml").touch()
    docs.docs(no_browser=True)
    assert capsys.readouterr().out.strip() == str(tmp_path / "site" / "index.html")
    monkeypatch.setattr(docs, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[docs\]'"):
        docs.docs(build=True)
