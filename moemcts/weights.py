"""Finds the experts that a reference names: of a plugin, on a hub, at a URL, or in a folder."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.client
import re
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.errors import DamagedFile, MissingExtra, MoemctsError, UsageError, first_line
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.references import HUB, URLS, WEIGHTS, parse_reference
from moemcts.store import MANIFEST, cache_folder, digest, read_bytes, read_toml, write_bytes, write_text

CARD = "card.toml"
"""Describes experts that come with a plugin, in addition to their manifest: how they were made, how good they are."""
CHECKSUMS = "SHA256SUMS"
"""The hashes of the files of a download, as `sha256sum --check` reads them."""
MAX_FILE_BYTES = 2**30
"""Maximum size of a downloaded file, in bytes."""
MAX_MANIFEST_BYTES = 2**20
MAX_TOTAL_BYTES = 2**32
"""Maximum total size of downloaded experts, in bytes."""
MAX_FILES = 64
"""Maximum number of files of downloaded experts, excluding the manifest."""
_FILE = re.compile(r"[A-Za-z0-9][\w-]*\.safetensors")
_SCHEME = re.compile(r"^(https?):/+")
_TIMEOUT = 60.0
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

Fetch = Callable[[str, int], bytes]
"""Returns a file of remote experts, given its name and its maximum size in bytes; raises MoemctsError if it is larger
or cannot be obtained."""


@dataclass(frozen=True)
class BundledExperts:
    """Experts that come with a plugin."""

    name: str
    summary: str
    games: tuple[str, ...]
    folder: Path

    @property
    def reference(self) -> str:
        """The name to use wherever a folder of experts is expected."""
        return WEIGHTS + self.name

    @functools.cached_property
    def manifest(self) -> Mapping[str, Any]:
        return read_toml(self.folder / MANIFEST)

    @functools.cached_property
    def card(self) -> Mapping[str, Any]:
        """How they were made and how good they are; empty if there is no card."""
        return read_toml(self.folder / CARD) if (self.folder / CARD).exists() else {}

    @property
    def num_bytes(self) -> int:
        """The total size of all files."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def bundled_experts() -> list[BundledExperts]:
    """Returns the experts that come with the plugins."""
    return [
        BundledExperts(name, entry.summary, entry.games, plugins().experts(name))
        for name, entry in plugins().weights.items()
    ]


def default_weights(game: Game) -> str | None:
    """Returns the reference of the experts that play a game if the user names none; None if there are none.

    They may have been trained on other planes than the game's (see `encoded_as`), but on no other encoding.
    """
    from moemcts.learn.fingerprint import encoding_fingerprint

    for name, entry in plugins().weights.for_game(game.spec.name).items():
        if not entry.default:
            continue
        folder = plugins().experts(name)
        if read_toml(folder / MANIFEST).get("encoding") == encoding_fingerprint(encoded_as(folder, game)):
            return WEIGHTS + name
    return None


def encoded_as(experts: Path, game: Game) -> Game:
    """Returns the game with the planes that a folder of experts was trained on, if it differs only in these."""
    from moemcts.learn.fingerprint import differ_only_in_planes, encoding_fingerprint

    manifest = read_toml(experts / MANIFEST)
    if manifest.get("encoding") == encoding_fingerprint(game):
        return game
    try:
        other = plugins().game(str(manifest.get("game", "")))
    except UsageError:
        # Whoever loads the folder reports what is wrong with it.
        return game
    return other if differ_only_in_planes(game, other) else game


def is_reference(text: str) -> bool:
    """Returns whether a text names experts by anything but the path of their folder."""
    return text.startswith((WEIGHTS, HUB, *URLS))


def folder_of(text: str | Path) -> Path:
    """Returns the folder of the experts that a text names: `weights:NAME`, `hf:OWNER/NAME`, a URL, or a folder's path.

    Remote experts are downloaded on first use: a manifest, and safetensors files whose hashes are in the manifest.
    Raises UsageError for an unknown name and for one with options, which folders do not have, MissingExtra if a hub
    needs a package, MoemctsError if a download fails, DamagedFile if files do not match the manifest or have changed.
    """
    name, options = parse_reference(str(text))
    # Converted to a Path, a URL loses one of its slashes.
    name = _SCHEME.sub(r"\1://", name)
    if options and (is_reference(name) or (Path(name).is_dir() and not Path(text).exists())):
        raise UsageError(
            f"expected experts without options, got {str(text)!r}: options say how experts play, but nothing is "
            f"played here; give {name}"
        )
    if name.startswith(WEIGHTS):
        return plugins().experts(name.removeprefix(WEIGHTS))
    if name.startswith(HUB):
        return _downloaded(name, lambda: _from_hub(name.removeprefix(HUB)))
    if name.startswith(("https://", "http://")):
        return _downloaded(name, lambda: _from_url(name))
    return Path(text)


def downloads() -> Path:
    """Returns the folder of downloads."""
    return cache_folder() / "weights"


def _downloaded(reference: str, source: Callable[[], Fetch]) -> Path:
    """Returns the folder of a downloaded reference.

    `CHECKSUMS` is written last, so that its presence means completeness.
    """
    readable = re.sub(r"[^\w.-]+", "-", reference).strip("-")[-60:]
    folder = downloads() / f"{readable}-{hashlib.sha256(reference.encode()).hexdigest()[:12]}"
    if (folder / CHECKSUMS).exists():
        _check_download(folder)
        return folder
    fetch = source()
    manifest = fetch(MANIFEST, MAX_MANIFEST_BYTES)
    checksums = {MANIFEST: digest(manifest)}
    bytes_left = MAX_TOTAL_BYTES
    for file, sha256 in _listed_files(reference, manifest).items():
        weights = fetch(file, min(MAX_FILE_BYTES, bytes_left))
        bytes_left -= len(weights)
        checksums[file] = digest(weights)
        if sha256 and checksums[file] != sha256:
            raise DamagedFile(f"{reference}: expected {file} with SHA-256 {sha256[:12]}, got {checksums[file][:12]}")
        write_bytes(folder / file, weights)
    write_bytes(folder / MANIFEST, manifest)
    write_text(folder / CHECKSUMS, "".join(f"{sha256}  {file}\n" for file, sha256 in checksums.items()))
    return folder


@functools.cache
def _check_download(folder: Path) -> None:
    """Raises DamagedFile, saying what to do, unless the files of a download are those that were fetched.

    A process checks each download once.
    """
    checksums = {}
    for line in read_bytes(folder / CHECKSUMS).decode(errors="replace").splitlines():
        sha256, _, file = line.partition("  ")
        checksums[file] = sha256
    try:
        if MANIFEST not in checksums:
            raise DamagedFile(f"{folder / CHECKSUMS} is damaged: expected a line for {MANIFEST}, found none")
        for file, sha256 in checksums.items():
            actual = digest(read_bytes(folder / file))
            if actual != sha256:
                raise DamagedFile(f"{folder / file} is damaged: expected SHA-256 {sha256[:12]}, got {actual[:12]}")
    except DamagedFile as error:
        raise DamagedFile(f"{error}; delete {folder} to download it again") from error


def _listed_files(reference: str, manifest: bytes) -> dict[str, str]:
    """Returns the files that a manifest names with their SHA-256, which is empty for a gate, as its fingerprint is
    checked on loading; raises DamagedFile for files other than safetensors and for more than `MAX_FILES`.
    """
    try:
        tables = tomllib.loads(manifest.decode())
        files = {str(entry["file"]): str(entry["sha256"]) for entry in tables["experts"]}
        if "file" in tables["gate"]:
            files[str(tables["gate"]["file"])] = ""
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as error:
        raise DamagedFile(f"{reference}: {MANIFEST} is not a valid manifest of experts: {error}") from error
    if len(files) > MAX_FILES:
        raise DamagedFile(f"{reference}: expected at most {MAX_FILES} files beside the manifest, got {len(files)}")
    for file in files:
        if not _FILE.fullmatch(file):
            raise DamagedFile(f"{reference}: expected only *.safetensors files beside the manifest, got {file!r}")
    return files


def _from_url(url: str) -> Fetch:
    opener = urllib.request.build_opener(_SecureRedirects(may_lead_to_local=_check_secure(url, may_be_local=True)))

    def fetch(file: str, max_bytes: int) -> bytes:
        address = f"{url.rstrip('/')}/{file}"
        try:
            with opener.open(address, timeout=_TIMEOUT) as response:
                content: bytes = response.read(max_bytes + 1)
                num_announced = int(response.headers.get("Content-Length", len(content)))
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise MoemctsError(f"cannot download {address}: {reason}") from error
        _check_size(address, len(content), max_bytes)
        if len(content) < num_announced:
            raise MoemctsError(f"cannot download {address}: it ended after {len(content):,} of {num_announced:,} bytes")
        return content

    return fetch


def _check_size(name: str, num_bytes: int, max_bytes: int) -> None:
    if num_bytes > max_bytes:
        raise MoemctsError(f"cannot download {name}: it is larger than the {max_bytes:,} bytes allowed")


def _check_secure(url: str, *, may_be_local: bool) -> bool:
    """Returns whether a URL is on this machine.

    Raises UsageError unless it is HTTPS, or on this machine and `may_be_local`.
    """
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError as error:
        raise UsageError(f"expected a valid URL, got {url!r}: {error}") from None
    is_local = parts.hostname in _LOCAL_HOSTS
    if parts.scheme != "https" and not (is_local and may_be_local):
        raise UsageError(f"expected https://, got {url!r}: anyone can change what comes over {parts.scheme}")
    return is_local


class _SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to URLs that would be allowed as originals, and to this machine only from this machine."""

    def __init__(self, *, may_lead_to_local: bool) -> None:
        self._may_lead_to_local = may_lead_to_local

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_secure(newurl, may_be_local=self._may_lead_to_local)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _from_hub(name: str) -> Fetch:
    name, _, revision = name.partition("@")
    owner, _, rest = name.partition("/")
    repository, _, folder = rest.partition("/")
    if not owner or not repository:
        raise UsageError(f"expected hf:owner/name, hf:owner/name/folder or hf:owner/name@revision, got {HUB + name!r}")
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "hub") from None

    def fetch(file: str, max_bytes: int) -> bytes:
        shown = f"{file} of {HUB + name}"
        location: dict[str, Any] = {
            "repo_id": f"{owner}/{repository}",
            "filename": file,
            "subfolder": folder or None,
            "revision": revision or None,
        }
        num_bytes = None
        # Offline, the file may be in the hub's own cache; other problems are reported by the download.
        with contextlib.suppress(Exception):
            num_bytes = huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(**location)).size
        _check_size(shown, num_bytes or 0, max_bytes)
        try:
            path = Path(huggingface_hub.hf_hub_download(**location))
        except Exception as error:
            raise MoemctsError(f"cannot download {shown}: {first_line(error)}") from error
        _check_size(shown, path.stat().st_size, max_bytes)
        return path.read_bytes()

    return fetch
