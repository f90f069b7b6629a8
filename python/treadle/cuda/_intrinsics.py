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


class Namespace:
    """Intrinsics under one name, such as ``cuda.shared``."""

    def __init__(self, name: str, doc: str, **members: str) -> None:
        self.__doc__ = doc
        for member, text in members.items():
            setattr(self, member, Intrinsic(f"{name}.{member}", text))


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

shared = Namespace(
    "shared",
    "Memory of a block.",
    array="array(shape, dtype): an array that the threads of a block share. shape: constant integers; "
    "0 takes the bytes that the launch gives. dtype: of numbers, or structured.",
)
local = Namespace(
    "local",
    "Memory of a thread.",
    array="array(shape, dtype): an array of this thread alone. shape: constant integers. dtype: of numbers, or structured.",
)
const = Namespace(
    "const",
    "Memory that kernels read only.",
    array_like="array_like(array): a host array as it is when the kernel is compiled.",
)
syncthreads = Intrinsic("syncthreads", "syncthreads(): waits for all threads of the block that have not ended.")
syncthreads_count = Intrinsic(
    "syncthreads_count", "syncthreads_count(p): as syncthreads; in how many threads p is true."
)
syncthreads_and = Intrinsic("syncthreads_and", "syncthreads_and(p): as syncthreads; 1 where p is true in all threads.")
syncthreads_or = Intrinsic("syncthreads_or", "syncthreads_or(p): as syncthreads; 1 where p is true in any thread.")
syncwarp = Intrinsic("syncwarp", "syncwarp(mask): orders memory between the threads of a warp.")
threadfence = Intrinsic(
    "threadfence", "threadfence(): orders this thread's memory accesses for all threads of the device."
)
threadfence_block = Intrinsic("threadfence_block", "threadfence_block(): orders memory accesses for the block.")
threadfence_system = Intrinsic(
    "threadfence_system", "threadfence_system(): orders memory accesses for device and host."
)
atomic = Namespace(
    "atomic",
    "Operations on array elements that no other thread comes between; all return the old value.",
    add="add(array, index, value): array[index] += value.",
    sub="sub(array, index, value): array[index] -= value.",
    inc="inc(array, index, value): counts up to value, then from 0 again; uint32 and uint64.",
    dec="dec(array, index, value): counts down to 0, then from value again; uint32 and uint64.",
    and_="and_(array, index, value): array[index] &= value.",
    or_="or_(array, index, value): array[index] |= value.",
    xor="xor(array, index, value): array[index] ^= value.",
    min="min(array, index, value): the smaller one stays; NaN is not stored.",
    max="max(array, index, value): the larger one stays; NaN is not stored.",
    nanmin="nanmin(array, index, value): as min, and a NaN in the array is replaced.",
    nanmax="nanmax(array, index, value): as max, and a NaN in the array is replaced.",
    exch="exch(array, index, value): array[index] = value.",
    cas="cas(array, index, old, value): array[index] = value where it equals old.",
    compare_and_swap="compare_and_swap(array, old, value): cas on the first element.",
)

laneid = Intrinsic("laneid", "Index of the thread in its warp, 0 to 31, int32.")
warpsize = 32
activemask = Intrinsic("activemask", "activemask(): the threads of the warp that run this together, uint32.")
lanemask_lt = Intrinsic("lanemask_lt", "lanemask_lt(): the threads of the warp below this one, uint32.")
shfl_sync = Intrinsic("shfl_sync", "shfl_sync(mask, value, lane): the value of the thread at ``lane`` (modulo 32).")
shfl_up_sync = Intrinsic(
    "shfl_up_sync", "shfl_up_sync(mask, value, delta): of the thread ``delta`` below; else one's own."
)
shfl_down_sync = Intrinsic(
    "shfl_down_sync", "shfl_down_sync(mask, value, delta): of the thread ``delta`` above; else one's own."
)
shfl_xor_sync = Intrinsic(
    "shfl_xor_sync", "shfl_xor_sync(mask, value, lanemask): of the thread at ``laneid ^ lanemask``."
)
all_sync = Intrinsic("all_sync", "all_sync(mask, p): p is true in all threads of the mask.")
any_sync = Intrinsic("any_sync", "any_sync(mask, p): p is true in any thread of the mask.")
eq_sync = Intrinsic("eq_sync", "eq_sync(mask, p): p is the same in all threads of the mask.")
ballot_sync = Intrinsic("ballot_sync", "ballot_sync(mask, p): the threads of the mask in which p is true, int32.")
match_any_sync = Intrinsic(
    "match_any_sync", "match_any_sync(mask, value): the threads of the mask with this thread's value, int32."
)
match_all_sync = Intrinsic(
    "match_all_sync", "match_all_sync(mask, value): (mask, True) where all have one value, else (0, False)."
)
ffs = Intrinsic("ffs", "ffs(x): position of the lowest bit set, counted from 1; 0 for 0.")
nanosleep = Intrinsic("nanosleep", "nanosleep(ns): a hint that the thread has nothing to do for a while.")
cg = Namespace(
    "cg",
    "Cooperative groups. Methods of all: sync(), thread_rank(), size(); of tiles also shfl and its kin, any, all, ballot, match_any, "
    "match_all, meta_group_rank, meta_group_size.",
    this_grid="this_grid(): all threads of the grid; a kernel that calls its sync() runs as a cooperative launch.",
    this_thread_block="this_thread_block(): the threads of the block.",
    tiled_partition="tiled_partition(group, size): the tile of 1, 2, 4, 8, 16 or 32 threads that this thread is in.",
)
