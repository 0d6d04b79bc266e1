"""The one step of the build that pyproject.toml cannot say: what to do where there is no Rust compiler."""

from __future__ import annotations

import shutil

from setuptools import setup
from setuptools.errors import PlatformError
from setuptools_rust import build_rust

RUST = "1.95"


class BuildRust(build_rust):  # type: ignore[misc]
    """Compiles the core; names what is missing before anything else fails."""

    def run(self) -> None:
        if shutil.which("cargo") is None:
            raise PlatformError(
                f"moemcts compiles its search from Rust {RUST} or later, and no cargo is on the PATH: "
                "get it from https://rustup.rs, or install a wheel of moemcts, which needs none"
            )
        super().run()


setup(cmdclass={"build_rust": BuildRust})
