"""What the threads of a warp or block tell each other where they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle._debug.values import Scalar

if TYPE_CHECKING:
    from treadle._debug.threads import Thread

WARP = 32
ALL = 0xFFFFFFFF


def _int32(value: int) -> Scalar:
    return Scalar(np.uint32(value & ALL).view(np.int32))


def _bool(value: bool) -> Scalar:
    return Scalar(np.bool_(value))


# The result for all threads of a block, from the truth values that they bring.
BARRIERS: dict[str, Callable[[list[bool]], Any]] = {
    "syncthreads": lambda votes: None,
    "syncthreads_count": lambda votes: _int32(sum(votes)),
    "syncthreads_and": lambda votes: _int32(all(votes)),
    "syncthreads_or": lambda votes: _int32(any(votes)),
}

Lanes = dict[int, tuple[Any, ...]]  # by lane: its arguments behind the mask


def _shuffle(source: Callable[[int, int], int]) -> Callable[[Lanes], dict[int, Any]]:
    def values(lanes: Lanes) -> dict[int, Any]:
        result = {}
        for lane, (value, by) in lanes.items():
            other = source(lane, int(by))
            result[lane] = lanes[other][0] if other in lanes else value
        return result

    return values


def _mask(lanes: Iterable[int]) -> int:
    return sum(1 << lane for lane in lanes)


def _vote(rule: Callable[[dict[int, bool]], Scalar]) -> Callable[[Lanes], dict[int, Any]]:
    return lambda lanes: dict.fromkeys(lanes, rule({lane: bool(args[0]) for lane, args in lanes.items()}))


def _match_any(lanes: Lanes) -> dict[int, Any]:
    def same(mine: Any) -> list[int]:
        return [lane for lane, (value,) in lanes.items() if value.value.tobytes() == mine.value.tobytes()]

    return {lane: _int32(_mask(same(value))) for lane, (value,) in lanes.items()}


def _match_all(lanes: Lanes) -> dict[int, Any]:
    same = len({value.value.tobytes() for (value,) in lanes.values()}) == 1
    return dict.fromkeys(lanes, (_int32(_mask(lanes if same else ())), _bool(same)))


OPERATIONS: dict[str, Callable[[Lanes], dict[int, Any]]] = {
    "syncwarp": lambda lanes: dict.fromkeys(lanes),
    "activemask": lambda lanes: dict.fromkeys(lanes, Scalar(np.uint32(_mask(lanes)))),
    "shfl_sync": _shuffle(lambda lane, by: by % WARP),
    "shfl_up_sync": _shuffle(lambda lane, by: lane - by),
    "shfl_down_sync": _shuffle(lambda lane, by: lane + by),
    "shfl_xor_sync": _shuffle(lambda lane, by: lane ^ by),
    "all_sync": _vote(lambda votes: _bool(all(votes.values()))),
    "any_sync": _vote(lambda votes: _bool(any(votes.values()))),
    "eq_sync": _vote(lambda votes: _bool(len(set(votes.values())) == 1)),
    "ballot_sync": _vote(lambda votes: _int32(_mask(lane for lane, vote in votes.items() if vote))),
    "match_any_sync": _match_any,
    "match_all_sync": _match_all,
}


def exchange(threads: list[Thread], let_go: Callable[[Thread, Any], None]) -> bool:
    """Lets the groups of lanes go whose members have all come. Where there are none and nobody of the block runs, those of a warp
    that stand at one place go on without the others, who went another way: so do the lanes of a compiled warp."""
    groups: dict[Any, list[Thread]] = {}
    live: dict[int, int] = {}
    for thread in threads:
        warp = thread.number // WARP
        live[warp] = live.get(warp, 0) | 1 << thread.lane
        if thread.wait is not None and thread.wait.scope == "warp":
            groups.setdefault((warp, thread.wait.name, thread.wait.mask, thread.wait.place), []).append(thread)
    if not groups:
        return False
    complete = [
        group
        for (warp, name, mask, _), group in groups.items()
        if name != "activemask" and mask & live[warp] == _mask(thread.lane for thread in group)
    ]
    if not complete:
        if any(thread.wait is None for thread in threads):
            return False
        complete = list({key[0]: group for key, group in reversed(groups.items())}.values())
    for group in complete:
        name = group[0].wait.name if group[0].wait else ""
        results = OPERATIONS[name]({thread.lane: thread.wait.args for thread in group if thread.wait})
        for thread in group:
            let_go(thread, results[thread.lane])
    return True
