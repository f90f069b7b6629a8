"""Random structured dtypes, and kernels that read, write and copy parts of their records, with what NumPy makes of the same."""

import numpy as np

KINDS = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 M8[s]".split()
MOST_SHARED_BYTES = 48 * 1024
NAMES = ("a", "b", "x", "size", "real", "v1", "record", "T", "ö")


def random_dtype(rng, depth=0):
    """A dtype with any layout: packed, aligned, or with fields spread and turned round."""
    names = list(map(str, rng.choice(NAMES, rng.integers(1, 5), replace=False)))
    formats = []
    for _ in names:
        inner = random_dtype(rng, depth + 1) if depth < 2 and rng.random() < 0.3 else np.dtype(str(rng.choice(KINDS)))
        shape = tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 3)))
        formats.append(np.dtype((inner, shape)) if rng.random() < 0.3 else inner)
    style = rng.integers(3)
    if style < 2:
        return np.dtype(list(zip(names, formats, strict=True)), align=bool(style))
    offsets, at = [0] * len(names), 0
    for number in rng.permutation(len(names)):
        at += int(rng.integers(0, 4))
        offsets[number] = at
        at += formats[number].itemsize
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at + int(rng.integers(0, 5))})


def random_records(rng, dtype, n):
    """Numbers in all fields that float16 holds too."""
    result = np.zeros(n, dtype)
    for name in dtype.names:
        base, shape = dtype[name].base, (n, *dtype[name].shape)
        if base.names:
            result[name] = random_records(rng, base, int(np.prod(shape))).reshape(shape)
        else:
            result[name] = rng.integers(0, 2 if base.kind == "b" else 100, shape).astype("i8").astype(base)
    return result


def random_path(rng, dtype, to_record=False):
    """Steps from a record to a number in it, or to a record where there is one: names, and tuples of indices."""
    steps = []
    while dtype.names and not (to_record and steps and rng.random() < 0.5):
        name = str(rng.choice(dtype.names))
        field = dtype[name]
        steps.append(name)
        if field.shape:
            steps.append(tuple(int(rng.integers(extent)) for extent in field.shape))
        dtype = field.base
    return steps, dtype


def kernel_text(rng, array, index, steps):
    """An element's part as a kernel writes it: fields are taken of the element or of the whole array, indices together or one by one."""
    text, pending = array, [index]

    def taken():
        listed = list(map(str, pending))
        pending.clear()
        cut = int(rng.integers(1, len(listed) + 1))
        return "".join(f"[{', '.join(some)}]" for some in (listed[:cut], listed[cut:]) if some)

    for step in steps:
        if isinstance(step, tuple) and pending:
            pending += step
            continue
        if isinstance(step, str) and pending and rng.random() < 0.5:
            text += taken()
        text += step_text(rng, step, by_name=bool(pending))
    return text + taken() if pending else text


def step_text(rng, step, by_name=False):
    """One step. by_name: a field of an array, whose own attributes come first."""
    if isinstance(step, tuple):
        return f"[{', '.join(map(str, step))}]"
    is_attribute = by_name and step in ("size", "T")
    return f"[{step!r}]" if is_attribute or rng.random() < 0.5 else f".{step}"


def part(records, steps):
    """The same part of all records of an array, as a NumPy view."""
    for step in steps:
        records = records[step] if isinstance(step, str) else records[(slice(None), *step)]
    return records


class Case:
    """A kernel of random statements: ``source``, ``arguments`` (host arrays) and ``expected`` (the same afterwards)."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.dtype = dtype = random_dtype(rng)
        n = int(rng.choice([1, 7, 33, 100]))
        shift = int(rng.integers(n))
        a, b = random_records(rng, dtype, n), random_records(rng, dtype, n)
        self.arguments, self.expected = [a, b], [a, b.copy()]
        from_a = np.roll(a, -shift)
        lines = [f"j = (i + {shift}) % {n}"]
        place = rng.choice(["none", "local", "shared"])
        if place == "shared" and 32 * dtype.itemsize > MOST_SHARED_BYTES:
            place = "none"
        if place != "none":
            size = 2 if place == "local" else 32
            lines += [
                f"t = cuda.{place}.array({size}, DTYPE)",
                f"k = {'1' if place == 'local' else 'cuda.threadIdx.x'}",
            ]
            lines += ["t[k] = a[j]"]
        if rng.random() < 0.5:
            lines += ["r = a[j]"] if rng.random() < 0.5 else ["r = a[0]", "if i >= 0:", "    r = a[j]"]
            held = "r"
        else:
            held = ""
        first = len(lines)
        for _ in range(rng.integers(2, 7)):
            action = rng.choice(["read", "write", "copy", "whole"])
            source, index = ("t", "k") if place != "none" and rng.random() < 0.5 else ("a", "j")
            if action == "whole":
                lines.append(f"b[i] = {source}[{index}]")
                self.expected[1][...] = from_a
                continue
            steps, found = random_path(rng, dtype, to_record=action == "copy")
            text = kernel_text(rng, source, index, steps)
            if held and source == "a" and rng.random() < 0.4:
                text = "r" + "".join(step_text(rng, step) for step in steps)
            if action == "read" and not found.names:
                out = np.zeros(n, "i8" if found.kind == "M" else found)
                lines.append(f"o{len(self.arguments)}[i] = {text}")
                self.arguments.append(out)
                self.expected.append(part(from_a, steps).astype(out.dtype))
                continue
            lines.append(f"b[i]{''.join(step_text(rng, step) for step in steps)} = {text}")
            part(self.expected[1], steps)[...] = part(from_a, steps)
        names = ["a", "b", *(f"o{number}" for number in range(2, len(self.arguments)))]
        body = "\n".join(f"        {line}" for line in self._disturbed(rng, lines, first))
        bounds = rng.choice(["guard", "raise", "off"])
        self.source = (
            f"from treadle import cuda\n\n\ndef make(DTYPE):\n    @cuda.jit(bounds='{bounds}')\n    def kernel({', '.join(names)}):\n"
            f"        i = cuda.grid(1)\n        if i >= {n}:\n            return\n{body}\n\n    return kernel\n"
        )
        self.threads = n

    @staticmethod
    def _disturbed(rng, lines, first):
        """The same statements with barriers between them, and some under conditions on which threads part."""
        waits = rng.choice(["never", "anywhere", "by data"])
        for number, line in enumerate(lines):
            if number >= first and rng.random() < 0.3:
                yield from ("if j % 3 != 0:", f"    {line}", "else:", f"    {line}")
            else:
                yield line
            if number >= first and waits != "never" and rng.random() < 0.4:
                yield from (
                    ("if a.size > 0:", "    cuda.syncthreads()")
                    if waits == "anywhere"
                    else (
                        "for _ in range(1 + i // 1000):",
                        "    cuda.syncthreads()",
                    )
                )
