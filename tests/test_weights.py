"""Experts that come with a plugin, or from elsewhere: found, checked, and nothing else."""

from __future__ import annotations

import functools
import json
import re
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from trained_for_tests import CARD, save_team, shipped

from moemcts import weights
from moemcts.arena.rating import elo
from moemcts.cli.main import main
from moemcts.errors import DamagedFile, ForeignData, MissingExtra, MoemctsError, UsageError
from moemcts.learn.checkpoint import load_experts
from moemcts.naming import best_available_agent, contestants, identity_of
from moemcts.plugins import plugins


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves a folder on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with answering(functools.partial(Quiet, directory=str(folder))) as address:
        yield address


@contextmanager
def answering(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answers on this machine, as a handler does."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def command(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["moemcts", *line.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_whoever_names_nobody_meets_the_experts_that_come_with_the_game(tmp_path: Path) -> None:
    game = plugins().game("tictactoe")
    assert best_available_agent(game) == "random"
    with shipped(save_team(tmp_path)):
        assert best_available_agent(game) == "random"
    with shipped(tmp_path, default=True):
        assert best_available_agent(game) == "weights:noughts"
    other = plugins().game("chess?max_plies=50")
    assert best_available_agent(other) == weights.default_weights(other) == "weights:chess"


def test_experts_that_see_other_planes_of_a_game_play_it() -> None:
    assert weights.default_weights(plugins().game("chess?planes=v1")) == "weights:chess"
    # Another policy has other actions.
    assert weights.default_weights(plugins().game("chess?policy=multi")) is None


def test_experts_of_another_encoding_play_for_nobody(tmp_path: Path) -> None:
    save_team(tmp_path)
    manifest = tmp_path / "manifest.toml"
    text = manifest.read_text()
    planes = text.partition('planes = "')[2][:8]
    manifest.write_text(text.replace(planes, "00000000"))
    with shipped(tmp_path, default=True):
        assert best_available_agent(plugins().game("tictactoe")) == "random"


def test_games_are_known_by_the_weights_that_played_them(tmp_path: Path) -> None:
    with shipped(save_team(tmp_path)):
        (found,) = contestants(["weights:noughts?simulations=2"], plugins().game("tictactoe")).values()
        assert found.resolved.startswith("weights:noughts?simulations=2&backend=")
        assert identity_of([found.reference])["experts"][found.reference]


def test_names_that_there_are_none_of_say_so(tmp_path: Path) -> None:
    with shipped(save_team(tmp_path)), pytest.raises(UsageError, match="did you mean 'noughts'"):
        weights.folder_of("weights:nought")
    with pytest.raises(UsageError, match="expected hf:owner/name"):
        weights.folder_of("hf:nobody")
    with pytest.raises(UsageError, match="expected https"):
        weights.folder_of("http://example.org/experts")


def test_options_are_refused_where_nothing_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(save_team(tmp_path / "team").parent)
    with shipped(tmp_path / "team"):
        for named in ("weights:noughts?simulations=4", "team?simulations=4", Path("https://example.org/a?x=1")):
            with pytest.raises(UsageError, match=r"expected experts without options, got .*\?.*; give "):
                weights.folder_of(named)
        (tmp_path / "team?simulations=4").mkdir()
        assert weights.folder_of("team?simulations=4").is_dir(), "a folder of that name is one"


def test_experts_behind_a_url_are_fetched_once_and_checked(tmp_path: Path) -> None:
    with served(save_team(tmp_path / "team").parent) as address:
        folder = weights.folder_of(f"{address}/team/")
        files = {path.name for path in (tmp_path / "team").iterdir()}
        assert {path.name for path in folder.iterdir()} == files | {weights.CHECKSUMS}
        # As a command line that takes a path for it has it.
        assert weights.folder_of(Path(f"{address}/team")).name != folder.name
    assert weights.folder_of(f"{address}/team/") == folder
    with pytest.raises(MoemctsError, match=r"cannot download .*manifest\.toml"):
        weights.folder_of(f"{address}/elsewhere")


def test_nothing_is_fetched_from_where_an_address_leads_without_protection() -> None:
    class Leading(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "http://example.org/manifest.toml")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with answering(Leading) as address, pytest.raises(UsageError, match=r"expected https://, got 'http://example\.org"):
        weights.folder_of(f"{address}/team")


def test_nobody_elsewhere_leads_to_this_machine() -> None:
    asked = urllib.request.Request("https://example.org/team/manifest.toml")
    elsewhere = weights._SecureRedirects(may_lead_to_local=False)
    with pytest.raises(UsageError, match=r"expected https://, got 'http://localhost:80/x'"):
        elsewhere.redirect_request(asked, None, 302, "", {}, "http://localhost:80/x")
    assert elsewhere.redirect_request(asked, None, 302, "", {}, "https://example.org/x") is not None


@pytest.mark.parametrize(
    ("name", "most", "told"),
    [
        ("MAX_MANIFEST_BYTES", 10, r"manifest\.toml: it is larger than the 10 bytes allowed"),
        ("MAX_FILE_BYTES", 100, r"expert-0\.safetensors: it is larger than the 100 bytes"),
        ("MAX_FILES", 2, "expected at most 2 files beside the manifest, got 3"),
    ],
)
def test_downloads_are_bounded(
    name: str, most: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_team(tmp_path / "team")
    monkeypatch.setattr(weights, name, most)
    with served(tmp_path) as address, pytest.raises(MoemctsError, match=told):
        weights.folder_of(f"{address}/team")


def test_downloads_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (save_team(tmp_path / "team") / "expert-0.safetensors").stat().st_size
    monkeypatch.setattr(weights, "MAX_TOTAL_BYTES", size + 10)
    with served(tmp_path) as address, pytest.raises(MoemctsError, match=r"expert-1\.safetensors: .* the 10 bytes"):
        weights.folder_of(f"{address}/team")


@pytest.mark.parametrize("file", ["manifest.toml", "gate.safetensors", "expert-1.safetensors", weights.CHECKSUMS])
@pytest.mark.parametrize(
    "harm",
    [lambda path: path.write_bytes(b"\xff"), lambda path: path.write_bytes(b""), Path.unlink],
    ids=["other", "empty", "lost"],
)
def test_every_file_of_a_damaged_download_says_what_to_delete(
    file: str, harm: Callable[[Path], Any], tmp_path: Path
) -> None:
    team = save_team(tmp_path / "team")
    manifest = team / "manifest.toml"
    manifest.write_text(manifest.read_text().replace("[gate]\n", '[gate]\nfile = "gate.safetensors"\n'))
    (team / "gate.safetensors").write_bytes(b"a gate")
    with served(tmp_path) as address:
        folder = weights.folder_of(f"{address}/team")
    harm(folder / file)
    # Without its sums a download was never complete.
    told = "cannot download" if not (folder / weights.CHECKSUMS).exists() else f"; delete {folder} to download it again"
    with pytest.raises(MoemctsError, match=told):
        weights.folder_of(f"{address}/team")


@pytest.mark.parametrize("file", ["expert-1.safetensors", "manifest.toml"])
def test_what_is_not_as_its_manifest_says_is_refused(file: str, tmp_path: Path) -> None:
    team = save_team(tmp_path / "team")
    (team / file).write_bytes((team / file).read_bytes()[:-20] + b"\n\n")
    with served(tmp_path) as address, pytest.raises(DamagedFile):
        weights.folder_of(f"{address}/team")
    assert not list(weights.downloads().rglob("manifest.toml"))


def answers(whole: str) -> type[BaseHTTPRequestHandler]:
    """Returns a server that sends so much, whatever it is asked, and hangs up."""

    class Sending(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(whole.encode())
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    return Sending


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n[gate]", "it ended after 6 of 500 bytes"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf", "IncompleteRead"),
        ("who is there?\r\n\r\n", "who is there?"),
    ],
)
def test_a_download_that_is_cut_off_is_kept_nowhere(sent: str, told: str) -> None:
    with answering(answers(sent)) as address, pytest.raises(MoemctsError, match=rf"cannot download .*: .*{told}"):
        weights.folder_of(f"{address}/team")
    assert not weights.downloads().exists()


@pytest.mark.parametrize("address", ["https://localhost:abc/x", "https://local host/x", "https://[::1/x"])
def test_an_address_that_is_none_is_one_line(address: str) -> None:
    with pytest.raises(MoemctsError, match=r"cannot download .*|expected a valid URL, got"):
        weights.folder_of(address)


@pytest.mark.parametrize("file", ["../expert.safetensors", "/etc/x.safetensors", "expert.pt", ".safetensors"])
def test_nothing_but_safetensors_beside_the_manifest_is_fetched(file: str, tmp_path: Path) -> None:
    manifest = save_team(tmp_path / "team") / "manifest.toml"
    manifest.write_text(manifest.read_text().replace("expert-1.safetensors", file))
    with served(tmp_path) as address, pytest.raises(DamagedFile, match=r"expected only \*\.safetensors files beside"):
        weights.folder_of(f"{address}/team")


def with_hub(team: Path, monkeypatch: pytest.MonkeyPatch, *, tells_sizes: bool = True) -> list[tuple[str | None, ...]]:
    """Lets a folder be on a hub; returns what is downloaded."""
    asked = []

    def hf_hub_url(*, repo_id: str, filename: str, subfolder: str | None, revision: str | None) -> str:
        return filename

    def get_hf_file_metadata(url: str) -> SimpleNamespace:
        if not tells_sizes:
            raise ConnectionError
        return SimpleNamespace(size=(team / url).stat().st_size)

    def hf_hub_download(*, repo_id: str, filename: str, subfolder: str | None, revision: str | None) -> str:
        asked.append((repo_id, filename, subfolder, revision))
        return str(team / filename)

    hub = ModuleType("huggingface_hub")
    for function in (hf_hub_url, get_hf_file_metadata, hf_hub_download):
        setattr(hub, function.__name__, function)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    return asked


@pytest.mark.parametrize("tells_sizes", [True, False])
def test_a_file_of_a_hub_is_bounded_too(tells_sizes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = with_hub(save_team(tmp_path / "team"), monkeypatch, tells_sizes=tells_sizes)
    monkeypatch.setattr(weights, "MAX_FILE_BYTES", 100)
    with pytest.raises(MoemctsError, match=r"expert-0\.safetensors of hf:someone/noughts: it is larger than the 100"):
        weights.folder_of("hf:someone/noughts")
    assert len(asked) == 1 + (not tells_sizes), "what is known to be too large is not downloaded"


def test_a_hub_is_asked_for_these_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = save_team(tmp_path / "team")
    asked = with_hub(team, monkeypatch)
    folder = weights.folder_of("hf:someone/noughts/large@v2")
    assert (folder / "expert-2.safetensors").read_bytes() == (team / "expert-2.safetensors").read_bytes()
    files = ["manifest.toml", "expert-0.safetensors", "expert-1.safetensors", "expert-2.safetensors"]
    assert asked == [("someone/noughts", file, "large", "v2") for file in files]


def test_a_hub_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[hub\]'"):
        weights.folder_of("hf:someone/noughts")


@pytest.mark.parametrize("text", ["", 'game = "tictactoe"\n', 'gate = "plies"\nexperts = 3\n'])
def test_experts_whose_manifest_is_not_whole_get_one_line(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "manifest.toml"
    manifest.write_text(text)
    assert command(f"weights show {tmp_path}", monkeypatch) == 1
    error = capsys.readouterr().err
    assert f"{manifest} is not a valid manifest of experts" in error
    assert error.count("\n") == 1


def test_weights_are_listed_shown_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (save_team(tmp_path) / "card.toml").write_text(CARD)
    with shipped(tmp_path):
        assert command("weights", monkeypatch) == 0
        (line,) = [line for line in capsys.readouterr().out.splitlines() if "weights:noughts" in line]
        assert "plies?cuts=3,6" in line
        for words in ("weights list --json", "weights --json"):
            assert command(words, monkeypatch) == 0
            assert "weights:noughts" in {row["reference"] for row in json.loads(capsys.readouterr().out)}
        assert command("weights --json show noughts", monkeypatch) == 2
        assert "expected --json after show" in capsys.readouterr().err
        assert command("weights show noughts", monkeypatch) == 0
        text = capsys.readouterr().out
        assert "loss 1.5" in text
        assert "+120 Elo [+80, +160] against random, 400 games" in text
        assert command("weights where weights:noughts", monkeypatch) == 0
        assert capsys.readouterr().out.strip() == str(tmp_path)
    assert command("weights show weights:noughts", monkeypatch) == 2
    capsys.readouterr()
    assert command("weights show ches", monkeypatch) == 2
    assert "did you mean 'chess'?" in capsys.readouterr().err


COUNTS = """
date = 2026-11-25

[[measured]]
against = "random"
result = "{result}"
games = {games}
command = "moemcts match"
"""


@pytest.mark.parametrize(
    ("result", "games", "counts"),
    [
        ("10 wins, 10 draws, no loss", 20, (10, 10, 0)),
        ("37 wins, 3 losses", 40, (37, 0, 3)),
        ("0 wins, 1 draw, 39 losses", 40, (0, 1, 39)),
        ("40 losses", 40, (0, 0, 40)),
        ("1 win, no draw, 0 losses", 1, (1, 0, 0)),
        ("239 wins, 2 draws, 15 losses", 256, (239, 2, 15)),
    ],
)
def test_counts_of_games_are_shown_with_their_elo_and_what_is_not_known_of_it(
    result: str,
    games: int,
    counts: tuple[int, int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (save_team(tmp_path) / "card.toml").write_text(COUNTS.format(result=result, games=games))
    assert command(f"weights show {tmp_path}", monkeypatch) == 0
    found = elo(*counts)
    known = "the only 95 % bound" if found.error is None else "the 95 % interval"
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("measured")]
    assert f"{result} against random, {games} games, Elo {found}, {known} of these games alone: moemcts match" in line
    assert not {"inf", "nan"} & set(re.findall("[a-z]+", line))
    assert command(f"weights show {tmp_path} --json", monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["card"]["measured"][0]["of_these_games"]["elo"] == asdict(found)
    assert told["card"]["date"] == "2026-11-25"


@pytest.mark.parametrize(
    ("result", "games"), [("+120 Elo [+80, +160]", 40), ("30 wins, 9 losses", 40), ("30 wins, 10 forfeits", 40)]
)
def test_what_is_no_count_of_all_games_is_shown_as_the_card_has_it(
    result: str, games: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (save_team(tmp_path) / "card.toml").write_text(COUNTS.format(result=result, games=games))
    assert command(f"weights show {tmp_path}", monkeypatch) == 0
    assert f"{result} against random, {games} games: moemcts match\n" in capsys.readouterr().out


def test_a_win_is_no_half_where_more_than_two_play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_team(tmp_path, game="pommerman", gate="none")
    (folder / "card.toml").write_text(COUNTS.format(result="25 wins, 15 draws, 60 losses", games=100))
    assert command(f"weights show {tmp_path}", monkeypatch) == 0
    told = capsys.readouterr().out
    assert "100 games, win rate 25.0 % [17.5, 34.3], the 95 % interval of these games alone: moemcts match" in told
    assert "Elo" not in told


def test_experts_of_a_game_that_is_not_installed_can_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (save_team(tmp_path) / "card.toml").write_text(COUNTS.format(result="40 losses", games=40))
    manifest = tmp_path / "manifest.toml"
    manifest.write_text(manifest.read_text().replace('game = "tictactoe"', 'game = "hopscotch"'))
    assert command(f"weights show {tmp_path}", monkeypatch) == 0
    assert "40 losses against random, 40 games: moemcts match\n" in capsys.readouterr().out


def test_experts_that_see_other_planes_say_how_their_game_is_named() -> None:
    folder = weights.folder_of("weights:chess")
    with pytest.raises(ForeignData, match=r"name the game 'chess\?planes=attacks'$"):
        load_experts(folder, plugins().game("chess"), plugins())


@pytest.mark.parametrize("words", ["bishops --json", "explain --game chess --position startpos --steps 2 --json --out"])
def test_commands_look_at_experts_with_the_planes_that_they_see(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = f" {tmp_path / 'why'}" if words.endswith("--out") else ""
    assert command(f"{words}{out} --experts weights:chess", monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)
