"""Whether some order of atomic operations explains what they returned: on a GPU no order is promised."""

from collections import defaultdict


def explains(initial, operations, final):
    """operations: (old value that was returned, function from old to new value) of one address, in no order. Compares bits."""
    operations = list(operations)
    by_old = defaultdict(list)
    for number, (old, _) in enumerate(operations):
        by_old[old.tobytes()].append(number)
    impossible = set()

    def follow(value, done):
        if len(done) == len(operations):
            return value.tobytes() == final.tobytes()
        state = (value.tobytes(), done)
        if state in impossible:
            return False
        for number in by_old[value.tobytes()]:
            if number not in done and follow(operations[number][1](value), done | {number}):
                return True
        impossible.add(state)
        return False

    return follow(initial, frozenset())


def check_atomics(initial, where, rule, operands, old, final):
    """Checks every element of an array whose operations, one a thread, were rule(old, *operands of the thread)."""
    import numpy as np

    threads = defaultdict(list)
    for thread, place in enumerate(where):
        if -len(initial) <= place < len(initial):
            threads[place % len(initial)].append(thread)
    with np.errstate(all="ignore"):
        for place, value in enumerate(initial):
            chain = [
                (old[i], lambda before, i=i: initial.dtype.type(rule(before, *(values[i] for values in operands))))
                for i in threads[place]
            ]
            assert explains(value, chain, final[place]), f"no order of its operations explains element {place}"
