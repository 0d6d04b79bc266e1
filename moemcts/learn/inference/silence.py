"""Disables the telemetry of inference libraries; imports little, so that it can be called first."""

from __future__ import annotations

import os


def silence_onnxruntime() -> None:
    """Disables onnxruntime's telemetry, which reports its import and keeps an id in the home folder.

    The environment takes precedence. Must be called before onnxruntime is imported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
