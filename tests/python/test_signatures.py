"""Types, signatures, and what kernels tell about what they are compiled for."""

import io
import pickle

import numpy as np
import pytest

import treadle as td
from treadle import cuda, types
from treadle.errors import DeviceError, UnsupportedError
from treadle.types import as_type, from_dtype, parse_signature, typeof


@pytest.fixture(scope="module")
def numba():
    return pytest.importorskip("numba")


def fill(x, n):
    i = cuda.grid(1)
    x[i] = n


# ---------------------------------------------------------------------------------------------------------------- types

EXPRESSIONS = [
    "float32[:]",
    "float32[::1]",
    "int32[:, ::1]",
    "int32[::1, :]",
    "complex64[:, :, ::1]",
    "Tuple((int32, float32))",
    "Tuple((int32, int32))",
    "UniTuple(float32[:], 2)",
    "Tuple(())",
    "Array(float32, 2, 'C')",
    "Array(uint8, 1, 'A', readonly=True)",
    "Array(uint8, 1, 'F', aligned=False)",
    "boolean",
    "none",
    "b1",
    "c16",
    "intp",
    "size_t",
]


def test_scalar_names(numba):
    kinds = (numba.types.Integer, numba.types.Float, numba.types.Complex, numba.types.Boolean, numba.types.NoneType)
    for name in dir(numba.types):
        theirs = getattr(numba.types, name)
        if isinstance(theirs, kinds):
            ours = getattr(types, name)
            assert (str(ours), repr(ours), type(ours).__name__) == (str(theirs), repr(theirs), type(theirs).__name__)
            for attribute in ("bitwidth", "signed", "minval", "maxval"):
                assert not hasattr(theirs, attribute) or getattr(ours, attribute, None) == getattr(
                    theirs, attribute, None
                )


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_types_are_like_numbas(numba, text):
    ours, theirs = eval(text, vars(types).copy()), eval(text, vars(numba.types).copy())
    assert (str(ours), repr(ours), type(ours).__name__) == (str(theirs), repr(theirs), type(theirs).__name__)
    for attribute in ("ndim", "layout", "mutable", "aligned", "is_contig", "is_c_contig", "is_f_contig", "count"):
        assert getattr(ours, attribute, None) == getattr(theirs, attribute, None)
    assert as_type(theirs) == ours == as_type(text) and as_type(ours) is ours
    assert pickle.loads(pickle.dumps(ours)) == ours and hash(ours) == hash(as_type(theirs))


@pytest.mark.parametrize("one", EXPRESSIONS)
def test_types_compare_as_numbas(numba, one):
    for other in EXPRESSIONS:
        ours = eval(one, vars(types).copy()) == eval(other, vars(types).copy())
        assert ours == (eval(one, vars(numba.types).copy()) == eval(other, vars(numba.types).copy()))


def test_calls_of_types():
    assert types.int32(2.7) == 2 and type(types.float32(1)) is np.float32 and types.boolean(2) is True
    signature = types.float32(types.int32, types.float64[:, ::1])
    assert signature.return_type == types.float32 and signature.args == (types.int32, types.float64[:, ::1])
    assert repr(signature) == "(int32, Array(float64, 2, 'C', False, aligned=True)) -> float32"
    assert signature == types.float32(types.int32, types.float64[:, ::1]) != types.void(types.int32)
    assert hash(signature) == hash(types.float32(types.int32, types.float64[:, ::1]))
    assert types.float32[:].copy(layout="C") == types.float32[::1]
    pair = types.Tuple((types.int32, types.float32))
    assert len(pair) == 2 and pair[1] == types.float32 and list(pair) == [types.int32, types.float32]
    assert types.complex64.underlying_float == types.float32


VALUES = [
    3,
    2**63,
    True,
    1.5,
    2j,
    None,
    (1, 2),
    (1, 2.0),
    (),
    np.float32(1),
    np.bool_(True),
    np.zeros(3),
    np.zeros((3, 3), order="F"),
    np.zeros((4, 4))[::2],
    np.zeros((2, 2), "c8"),
    np.broadcast_to(np.ones(2), (3, 2)),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_typeof(numba, value):
    assert str(typeof(value)) == str(numba.typeof(value))


def test_typeof_device_arrays():
    x = td.zeros((3, 4), "int16")
    assert [str(typeof(a)) for a in (x, x.T, x[:, ::2])] == [f"array(int16, 2d, {layout})" for layout in "CFA"]


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f8", "c8", "c16"])
def test_from_dtype(numba, dtype):
    assert str(from_dtype(np.dtype(dtype))) == str(numba.from_dtype(np.dtype(dtype)))


# ----------------------------------------------------------------------------------------------------------- signatures

SIGNATURES = {
    "void(int32[:], float64)": types.void(types.int32[:], types.float64),
    "(f4[:,::1], i8)": types.Signature(None, (types.f4[:, ::1], types.i8)),
    "void(int32[::1,:])": types.void(types.int32[::1, :]),
    "none(types.intp, numba.types.uint8)": types.void(types.int64, types.uint8),
    "f8(f8, f8)": types.float64(types.float64, types.float64),
    "void(UniTuple(f4[:], 2), Tuple((i4, f4)))": types.void(
        types.UniTuple(types.f4[:], 2), types.Tuple((types.i4, types.f4))
    ),
    "void(Array(float32, 1, 'C', readonly=True))": types.void(types.Array(types.f4, 1, "C", readonly=True)),
    "void()": types.void(),
    "()": types.Signature(None, ()),
}


@pytest.mark.parametrize("text", SIGNATURES)
def test_signature_texts(text):
    assert parse_signature(text) == SIGNATURES[text]


def test_numbas_signatures(numba):
    theirs = numba.types
    signature = theirs.void(theirs.float32[:, ::1], theirs.UniTuple(theirs.int8, 2), theirs.literal(3))
    assert parse_signature(signature) == types.void(types.f4[:, ::1], types.UniTuple(types.i1, 2), types.i8)
    kernel = cuda.jit(theirs.void(theirs.float32[::1], theirs.int32))(fill)
    x = td.zeros(3, "float32")
    kernel[1, 3](x, 2)
    assert x.tolist() == [2, 2, 2] and kernel.signatures == [(types.float32[::1], types.int32)]
    assert cuda.jit([(theirs.float32[:], theirs.int32)])(fill).signatures == [(types.float32[:], types.int32)]


def test_fortran_arrays():
    @cuda.jit("void(float32[::1, :], float32)")
    def fill_2d(x, n):
        i, j = cuda.grid(2)
        x[i, j] = n

    x = td.zeros((3, 4), "float32")
    fill_2d[1, (4, 4)](x.T, 2)
    assert (x.get() == 2).all()
    with pytest.raises(TypeError, match=r"expected arguments of \(array\(float32, 2d, F\), float32\), got \(array"):
        fill_2d[1, (4, 4)](x, 2)


def test_tuples_in_signatures():
    @cuda.jit("void(UniTuple(float32[:], 2), Tuple((int64, float64)))")
    def add(arrays, numbers):
        i = cuda.grid(1)
        arrays[0][i] = arrays[1][i] + numbers[0] * numbers[1]

    x, y = td.zeros(3, "float32"), td.ones(3, "float32")
    add[1, 3]((x, y), (2, 1.5))
    assert x.tolist() == [4, 4, 4]


def test_the_mildest_conversion_is_taken():
    def tell(out, value):
        out[0] = value / 2

    kernel = cuda.jit(["void(f8[:], int32)", "void(f8[:], int64)", "void(f8[:], float64)"])(tell)
    out = td.zeros(1)
    for value, expected in ((2.5, 1.25), (2**40 + 1, (2**40 + 1) / 2), (np.int8(3), 1.5), (np.float32(0.5), 0.25)):
        kernel[1, 1](out, value)
        assert out.item() == expected
    narrow = cuda.jit("void(f8[:], int8)")(tell)
    narrow[1, 1](out, 300)  # wraps around as in C
    assert out.item() == 22


# ------------------------------------------------------------------------------------------------------------- overloads


def test_overloads():
    kernel = cuda.jit(["void(float32[:], int64)", "void(float64[::1], int64)"])(fill)
    assert kernel.signatures == [(types.f4[:], types.i8), (types.f8[::1], types.i8)] == list(kernel.overloads)
    assert kernel.nopython_signatures == [types.void(*args) for args in kernel.signatures]
    assert kernel.py_func is fill
    first = kernel.overloads[types.f4[:], types.i8]
    assert first.signature == types.void(types.f4[:], types.i8) and "float32" in repr(first)
    for texts in (kernel.inspect_llvm(), kernel.inspect_asm(), kernel.inspect_sass()):
        assert list(texts) == kernel.signatures and all(isinstance(text, str) for text in texts.values())
    assert kernel.inspect_llvm("void(f4[:], i8)") == first.inspect_llvm()
    assert "define" in first.inspect_llvm() and first.inspect_asm() == first.inspect_sass()
    out = io.StringIO()
    kernel.inspect_types(out)
    assert out.getvalue().count("fill (") == 2
    with pytest.raises(ValueError, match="expected one compiled signature, got 2"):
        kernel.definition


def test_figures():
    kernel = cuda.jit("void(float32[:], int64)", launch_bounds=(128, 2))(fill)
    figures = (kernel.get_regs_per_thread, kernel.get_const_mem_size, kernel.get_local_mem_per_thread)
    for figure in (*figures, kernel.get_shared_mem_per_block):
        assert figure() == {kernel.signatures[0]: 0} and figure("(f4[:], i8)") == figure(kernel.signatures[0]) == 0
    assert kernel.get_max_threads_per_block("(f4[:], i8)") == kernel.definition.max_threads_per_block == 128
    assert cuda.jit("void(f4[:], i8)")(fill).get_max_threads_per_block() == {kernel.signatures[0]: 1024}


def test_compile():
    kernel = cuda.jit(fill)
    compiled = kernel.compile("void(int8[:], int8)")
    assert kernel.compile("(int8[:], int8)").signature == compiled.signature == kernel.definition.signature
    assert "define" in compiled.inspect_llvm()


def test_specialize():
    kernel = cuda.jit(fill)
    x = td.zeros(4, "float32")
    special = kernel.specialize(x, 2)
    assert special is kernel.specialize(x[:2], 5) and special.specialized and not kernel.specialized
    assert special.signatures == [(types.f4[::1], types.i8)] and kernel.signatures == []
    special[1, 4](x, 2)
    assert x.tolist() == [2] * 4 and "define" in special.inspect_llvm() and special.get_regs_per_thread() == 0
    with pytest.raises(TypeError, match="expected arguments of"):
        special[1, 4](td.zeros(4), 2)


def test_configure_and_forall():
    kernel = cuda.jit(launch_bounds=64)(fill)
    x, stream = td.zeros(1000), cuda.stream()
    kernel.configure(10, 64, stream)(x, 2)
    stream.synchronize()
    assert x.get().sum() == 1280
    kernel.forall(1000, stream=stream)(x, 3)
    kernel.forall(0)(x, 4)
    assert (x.get() == 3).all()
    kernel.forall(1000, 32)(x, 5)
    assert (x.get() == 5).all()
    with pytest.raises(ValueError, match="ntasks: expected a number of threads, got -1"):
        kernel.forall(-1)
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_VALUE.*at most 64 threads"):
        kernel[1, (65, 1)](x, 1)


def test_options_that_are_hints():
    kernel = cuda.jit(
        fill,
        max_registers=32,
        launch_bounds=(256, 1, 1),
        lineinfo=True,
        fastmath=True,
        debug=False,
        opt=True,
        inline="always",
        forceinline=True,
        link=[],
        lto=True,
        cache=True,
        extensions=[],
        boundscheck=False,
        shared_memory_carveout=50,
    )
    x = td.zeros(4)
    kernel[1, 4](x, 1)
    assert x.tolist() == [1] * 4


@pytest.mark.parametrize("module", ["pickle", "cloudpickle"])
def test_pickle_of_kernels_with_signatures(module):
    pickler = pytest.importorskip(module)
    if module == "pickle":
        pytest.importorskip("cloudpickle")  # without which pickle finds functions by name only
    kernel = cuda.jit(["void(float32[:], int64)", "void(UniTuple(f4[:], 2), int64)"], launch_bounds=96)
    kernel = kernel(lambda x, n: None)
    other = pickler.loads(pickler.dumps(kernel))
    assert other.signatures == kernel.signatures and other.options == kernel.options
    special = pickler.loads(pickler.dumps(cuda.jit(lambda x, n: None).specialize(td.ones(2), 1)))
    assert special.specialized and special.signatures == [(types.f8[::1], types.i8)]


def wrong_option(**options):
    return lambda: cuda.jit(fill, **options)


ERRORS = {
    "name": (lambda: cuda.jit("void(foo)"), TypeError, "expected the name of a type, got 'foo'"),
    "syntax": (lambda: cuda.jit("void int32"), TypeError, "expected something like 'void"),
    "no signature": (lambda: cuda.jit("int32"), TypeError, "expected something like 'void"),
    "code": (lambda: cuda.jit("void(int32 + 1)"), TypeError, r"cannot read 'int32 \+ 1'"),
    "slice": (lambda: cuda.jit("void(int32[1:])"), TypeError, "expected ':' or '::1'"),
    "index": (lambda: cuda.jit("void(int32[3])"), TypeError, "expected ':' or '::1'"),
    "list item": (lambda: cuda.jit([3]), TypeError, "expected something like 'void"),
    "dtype": (lambda: cuda.jit([(object(),)]), TypeError, "signature: expected a dtype"),
    "complex": (
        lambda: cuda.jit("void(complex256)")(lambda z: None),
        TypeError,
        "complex256",
    ),
    "subscript": (lambda: types.int32[3], TypeError, r"int32\[...\]: expected slices"),
    "layout": (lambda: types.Array(types.int32, 1, "X"), ValueError, "layout: expected 'C', 'F' or 'A', got 'X'"),
    "ndim": (lambda: types.Array(types.int32, -1, "C"), ValueError, "ndim: expected a number of dimensions, got -1"),
    "typeof": (
        lambda: typeof(object()),
        ValueError,
        "val: expected an array, a number or a tuple of these, got object",
    ),
    "typeof record": (
        lambda: typeof(np.zeros(1, "i4,S4")),
        ValueError,
        "expected a boolean, integer, floating or complex",
    ),
    "from_dtype": (lambda: from_dtype("S3"), TypeError, "from_dtype: dtype: expected a boolean, integer, floating or"),
    "void value": (lambda: types.void(3), TypeError, "none: expected types to make a signature of, got 3"),
    "unknown": (wrong_option(no_such=1), TypeError, "jit: unknown option 'no_such'"),
    "link type": (wrong_option(link=[3]), TypeError, "jit: link: expected a file, or code such as CUSource"),
    "link suffix": (wrong_option(link="f.txt"), ValueError, "jit: link: expected a file that ends with .cu, .ptx"),
    "link file": (wrong_option(link=["nothing.cu"]), FileNotFoundError, "nothing.cu"),
    "extensions": (wrong_option(extensions=[1]), UnsupportedError, "jit: extensions: arguments of foreign types"),
    "fastmath": (wrong_option(fastmath="y"), TypeError, "jit: fastmath: expected bool, got str"),
    "event for stream": (
        lambda: cuda.jit(fill)[1, 4, cuda.event()],
        TypeError,
        "stream: expected a stream, None or 0, got",
    ),
    "registers": (wrong_option(max_registers="x"), TypeError, "jit: max_registers: expected int, got str"),
    "bounds": (
        wrong_option(launch_bounds=(1, 2, 3, 4)),
        ValueError,
        "launch_bounds: expected 1 to 3 positive integers",
    ),
    "bounds type": (wrong_option(launch_bounds="x"), TypeError, "launch_bounds: expected an integer or a tuple"),
    "specialize": (lambda: cuda.jit(fill).specialize("x", 1), TypeError, "specialize: fill: typeof: val: expected"),
    "specialize twice": (
        lambda: cuda.jit(fill).specialize(td.ones(1), 1).specialize(td.ones(1), 1),
        TypeError,
        "specialized already",
    ),
    "not compiled": (lambda: cuda.jit(fill).inspect_llvm("(f4[:], i8)"), KeyError, "fill: not compiled for"),
    "definition": (lambda: cuda.jit(fill).definition, ValueError, "expected one compiled signature, got 0"),
    "device": (
        lambda: cuda.compile_ptx(fill, (), device=True),
        UnsupportedError,
        "compile_ptx: device: expected a kernel",
    ),
    "output": (lambda: cuda.compile(fill, (), output="ltoir"), UnsupportedError, "compile: output: expected 'ptx'"),
    "capability": (
        lambda: cuda.compile_ptx(fill, (), cc=90),
        TypeError,
        r"cc: expected a compute capability such as \(9, 0\)",
    ),
    "old chip": (
        lambda: cuda.compile_ptx(fill, (), cc=(5, 0)),
        ValueError,
        r"cc: expected at least \(7, 5\), got \(5, 0\)",
    ),
    "unknown of compile": (
        lambda: cuda.compile_ptx(fill, (), cc=(9, 0), x=1),
        TypeError,
        "compile_ptx: unknown option 'x'",
    ),
    "tuple item": (
        lambda: cuda.jit("void(UniTuple(int8, 2))")(lambda t: None)[1, 1]((1, 2)),
        UnsupportedError,
        "numbers in tuple arguments: expected bool, int64 or float64 in the signature, got int8",
    ),
    "in": (lambda: cuda.In([1]), TypeError, "In: value: expected a NumPy array, got list"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    call, kind, message = ERRORS[case]
    with pytest.raises(kind, match=message):
        call()


# --------------------------------------------------------------------------------------------------------- host arrays


def test_copy_wrappers(recwarn):
    @cuda.jit(host_arrays="copy")
    def add(a, b, c):
        i = cuda.grid(1)
        a[i] += 1
        b[i] += a[i]
        c[i] = a[i] + b[i]

    a, b, c = np.ones(3), np.ones(3), np.full(3, np.nan)
    add[1, 3](cuda.In(a), cuda.InOut(b), cuda.Out(c))
    assert a.tolist() == [1] * 3 and b.tolist() == [3] * 3 and c.tolist() == [5] * 3
    assert not recwarn.list
    shared = cuda.managed_array(3)
    shared[:] = 1
    add[1, 3](shared, td.ones(3), shared)
    assert shared.tolist() == [5] * 3
    assert not recwarn.list
    add[1, 3](shared, td.ones(3), c)
    assert c.tolist() == [13] * 3 and recwarn.list[0].filename == __file__
