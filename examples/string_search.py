"""All places of a word in a text, in their order. Run it with `treadle run examples/string_search.py`.

Threads that find the word say so to their warp; the first of them takes places in the result for all by one atomic addition.
"""

import numpy as np
from numba import cuda

FULL = 0xFFFFFFFF


@cuda.jit
def find(text, word, found, count):
    i = cuda.grid(1)
    is_here = i + word.size <= text.size
    if is_here:
        for k in range(word.size):
            if text[i + k] != word[k]:
                is_here = False
                break
    votes = cuda.ballot_sync(FULL, is_here)
    first = 0
    if cuda.laneid == 0 and votes != 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(FULL, first, 0)
    if is_here:
        below = votes & ((1 << cuda.laneid) - 1)
        found[first + cuda.popc(below)] = i


def main():
    words = np.random.default_rng(1).choice(["warp", "weft", "treadle", "shuttle", "reed"], 50_000)
    text = " ".join(words)
    letters = np.frombuffer(text.encode(), np.uint8)
    found = cuda.device_array(letters.size, np.int64)
    count = cuda.to_device(np.zeros(1, np.int64))
    word = np.frombuffer(b"treadle", np.uint8)
    find[(letters.size + 127) // 128, 128](cuda.to_device(letters), cuda.to_device(word), found, count)
    places = np.sort(found.copy_to_host()[: count.copy_to_host()[0]])
    expected = [i for i in range(len(text)) if text.startswith("treadle", i)]
    np.testing.assert_array_equal(places, expected)
    print(f"the word stands at {places.size} places of {letters.size}")


if __name__ == "__main__":
    main()
