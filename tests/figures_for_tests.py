"""Reports without drawn figures, as drawing takes longer than a small run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from markupsafe import Markup

from moemcts.report import page


@pytest.fixture(scope="module", autouse=True)
def no_drawing() -> Iterator[None]:
    """Leaves the files of figures empty; drawing is tested in report/."""
    write_image = page._write_image

    def write_empty(folder: Path, figure: page.Figure) -> page._Image:
        if isinstance(figure.image, Path):
            return write_image(folder, figure)
        if callable(figure.image):
            figure.image()
        for suffix in ("svg", "png"):
            (folder / f"{figure.name}.{suffix}").touch()
        return page._Image(f"figures/{figure.name}.png", Markup(""))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_write_image", write_empty)
        yield
