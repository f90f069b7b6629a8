"""Expressions and control flow that hypothesis makes up, against Python's own evaluation with NumPy's numbers."""

import importlib.util
import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treadle as td

NUMBER = itertools.count()
HEAD = "import numpy as np\nfrom treadle import cuda\n\n\ndef body(a, b, i):\n    x = a\n    y = b\n    n = 0\n"
TAIL = """
    return x + y + n


device = cuda.jit(device=True, fmad=False)(body)


@cuda.jit(fmad=False)
def kernel(a, b, out):
    i = cuda.grid(1)
    out[i] = device(a[i], b[i], i)
"""


def expressions(names):
    leaves = st.one_of(st.sampled_from(names), st.sampled_from(["0.5", "2.0", "-1.25", "3.0"]))

    def grow(inner):
        pair = st.tuples(inner, inner)
        return st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map(lambda e: f"abs({e})"),
            inner.map(lambda e: f"(-{e})"),
            pair.map(lambda t: f"min({t[0]}, {t[1]})"),
            pair.map(lambda t: f"max({t[0]}, {t[1]})"),
            st.tuples(inner, inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} < {t[2]} else {t[3]})"),
        )

    return st.recursive(leaves, grow, max_leaves=8)


VALUES = expressions(["x", "y", "a", "b"])


@st.composite
def statements(draw, depth=0, in_loop=False):
    pad = "    " * (depth + 1)
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["set", "set", "if", "for", "while", "jump"] if depth < 2 else ["set", "jump"]))
        test = f"{draw(VALUES)} {draw(st.sampled_from(['<', '>=', '!=']))} {draw(VALUES)}"
        if kind == "set":
            lines.append(f"{pad}{draw(st.sampled_from('xy'))} = {draw(VALUES)}")
        elif kind == "if":
            lines += [
                f"{pad}if {test}:",
                draw(statements(depth + 1, in_loop)),
                f"{pad}else:",
                draw(statements(depth + 1, in_loop)),
            ]
        elif kind == "for":
            lines += [f"{pad}for k{depth} in range(i % 4 + 1):", draw(statements(depth + 1, True))]
        elif kind == "while":
            # The counter is the loop's own, so every loop ends, whatever stands in it.
            lines += [
                f"{pad}w{depth} = 0",
                f"{pad}while w{depth} < 3 and {test}:",
                f"{pad}    w{depth} += 1",
                f"{pad}    n += 1",
                draw(statements(depth + 1, True)),
            ]
        elif in_loop:
            lines.append(f"{pad}if {test}:\n{pad}    {draw(st.sampled_from(['break', 'continue']))}")
        else:
            lines.append(f"{pad}if {test}:\n{pad}    return y")
    return "\n".join(lines)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=statements(), block=st.sampled_from([1, 7, 32, 64]))
def test_control_flow(body, block, tmp_path_factory):
    path = tmp_path_factory.mktemp("generated") / f"generated_{next(NUMBER)}.py"
    path.write_text(HEAD + body + TAIL)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(len(body))
    a, b = rng.normal(size=70), rng.normal(size=70)
    out = td.zeros(70)
    module.kernel[(70 + block - 1) // block, block](td.asarray(a), td.asarray(b), out)
    with np.errstate(all="ignore"):
        expected = np.array([module.body(a[i], b[i], i) for i in range(70)], dtype="float64")
    np.testing.assert_array_equal(out.get(), expected, err_msg=path.read_text())
