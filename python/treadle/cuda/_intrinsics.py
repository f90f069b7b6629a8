"""Names that mean something inside kernels only. On the host they are objects that say so when they are called."""

from __future__ import annotations

from typing import Any, NoReturn


class Intrinsic:
    """A name of the kernel language; ``builtin`` is its row in the compiler's table."""

    def __init__(self, builtin: str, doc: str) -> None:
        self.builtin = builtin
        self.__name__ = builtin
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"cuda.{self.builtin} has a value only inside a kernel")

    def __repr__(self) -> str:
        return f"<kernel intrinsic cuda.{self.builtin}>"


# Names of numba.cuda that kernels do not have yet: asking for one is no typing error.
NOT_YET = frozenset(
    "shared local const atomic syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp threadfence threadfence_block "
    "threadfence_system laneid warpsize shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync "
    "ballot_sync match_any_sync match_all_sync activemask lanemask_lt cg random libdevice fp16 ffs nanosleep".split()
)


class Dim3:
    """``threadIdx`` and its kin: three values named x, y and z."""

    def __init__(self, name: str, doc: str) -> None:
        self.__doc__ = doc
        for axis in "xyz":
            setattr(self, axis, Intrinsic(f"{name}.{axis}", doc))


threadIdx = Dim3("threadIdx", "Index of the thread in its block, int32.")
blockIdx = Dim3("blockIdx", "Index of the block in the grid, int32.")
blockDim = Dim3("blockDim", "Threads of a block in each dimension, int32.")
gridDim = Dim3("gridDim", "Blocks of the grid in each dimension, int32.")
grid = Intrinsic("grid", "grid(n): the thread's index in the whole grid; an int64 for n = 1, a tuple for n = 2 or 3.")
gridsize = Intrinsic("gridsize", "gridsize(n): threads of the whole grid in each of n dimensions, int64.")
popc = Intrinsic("popc", "popc(x): number of bits set in an integer.")
brev = Intrinsic("brev", "brev(x): the bits of an integer reversed.")
clz = Intrinsic("clz", "clz(x): leading zero bits of an integer.")
fma = Intrinsic("fma", "fma(a, b, c): a * b + c, rounded once.")
cbrt = Intrinsic("cbrt", "cbrt(x): cube root.")
selp = Intrinsic("selp", "selp(c, a, b): a where c is true, else b.")
rsqrt = Intrinsic("rsqrt", "rsqrt(x): 1 / sqrt(x).")
