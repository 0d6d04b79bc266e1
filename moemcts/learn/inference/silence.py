"""Keeps what runs networks from telling its makers of this machine; light, so that anyone can ask for it first."""

from __future__ import annotations

import os


def silence_onnxruntime() -> None:
    """Has onnxruntime tell nobody that it is imported, for which it keeps a number in the home folder, unless the
    environment says otherwise; to be called before it is imported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
