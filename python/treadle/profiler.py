"""What the device was asked to do: launches, compilations, memory, copies and waits, counted by the runtime all the time.

>>> import treadle as td
>>> from treadle import profiler
>>> with profiler.profile() as counted:
...     y = td.ones(10) + 1
>>> counted.report.launches
2
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from treadle import _treadle

METRICS = tuple(_treadle.counts())


class Report:
    """Counts and seconds of what was profiled; ``report.launches`` and the other METRICS are attributes, None where not asked for."""

    def __init__(self, counts: dict[str, int], seconds: float, calls: int) -> None:
        self.counts = counts
        self.seconds = seconds
        self.calls = calls

    def __getattr__(self, name: str) -> int | None:
        if name.startswith("_") or name not in METRICS:
            raise AttributeError(f"report: expected one of {', '.join(METRICS)}, got '{name}'")
        return self.counts.get(name)

    def to_dict(self) -> dict[str, Any]:
        """Everything as a dictionary."""
        return {**self.counts, "seconds": self.seconds, "calls": self.calls}

    def __str__(self) -> str:
        rows = [*self.counts.items(), ("calls", self.calls), ("seconds", f"{self.seconds:.6f}")]
        return "\n".join(f"{name:18} {value}" for name, value in rows)

    __repr__ = __str__


class _Totals:
    """What was profiled since the last report."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.counts: dict[str, int] = {}
        self.seconds = 0.0
        self.calls = 0

    def add(self, counts: dict[str, int], seconds: float) -> None:
        for name, value in counts.items():
            self.counts[name] = self.counts.get(name, 0) + value
        self.seconds += seconds
        self.calls += 1


_totals = _Totals()


class profile:  # noqa: N801
    """A context, or a decorator of a function, whose device work is counted. metrics: which of METRICS; all by default.

    Counting waits for nothing, so ``seconds`` are those of the host. Raises ValueError for an unknown metric.
    """

    def __init__(self, metrics: Sequence[str] | None = None) -> None:
        chosen = METRICS if metrics is None else tuple(metrics)
        for name in chosen:
            if name not in METRICS:
                raise ValueError(f"profile: metrics: expected some of {', '.join(METRICS)}, got {name!r}")
        self._metrics = chosen
        self.report: Report | None = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def counted(*args: Any, **keywords: Any) -> Any:
            with profile(self._metrics):
                return function(*args, **keywords)

        return counted

    def __enter__(self) -> profile:
        self._before = _treadle.counts()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        seconds = time.perf_counter() - self._began
        after = _treadle.counts()
        counts = {name: after[name] - self._before[name] for name in self._metrics}
        self.report = Report(counts, seconds, 1)
        _totals.add(counts, seconds)


def generate_report() -> Report:
    """A report of all that was profiled since the last one."""
    report = Report(dict(_totals.counts), _totals.seconds, _totals.calls)
    _totals.clear()
    return report


def stream_counts(stream: Any) -> dict[str, int]:
    """What one stream was asked to do since it was made: the METRICS that belong to streams."""
    return getattr(stream, "_native", stream).counts
