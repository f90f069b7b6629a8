"""Devices: CuPy's and numba.cuda's names for the facts about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle import _checks, _treadle

if TYPE_CHECKING:
    from treadle.cuda._contexts import Context


# CUDA's names of attributes, by where the value stands.
_CUDA_NAMES: dict[str, tuple[str, int | None]] = {
    "MAX_THREADS_PER_BLOCK": ("max_threads_per_block", None),
    "MAX_BLOCK_DIM_X": ("max_block", 0),
    "MAX_BLOCK_DIM_Y": ("max_block", 1),
    "MAX_BLOCK_DIM_Z": ("max_block", 2),
    "MAX_GRID_DIM_X": ("max_grid", 0),
    "MAX_GRID_DIM_Y": ("max_grid", 1),
    "MAX_GRID_DIM_Z": ("max_grid", 2),
    "MAX_SHARED_MEMORY_PER_BLOCK": ("shared_bytes_per_block", None),
    "WARP_SIZE": ("warp_size", None),
    "MULTIPROCESSOR_COUNT": ("multiprocessors", None),
    "COMPUTE_CAPABILITY_MAJOR": ("compute_capability", 0),
    "COMPUTE_CAPABILITY_MINOR": ("compute_capability", 1),
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": ("shared_bytes_per_block_optin", None),
    "PCI_DOMAIN_ID": ("pci", 0),
    "PCI_BUS_ID": ("pci", 1),
    "PCI_DEVICE_ID": ("pci", 2),
}
# The same for every device: managed memory is one memory, and the device does work while it is copied to.
_CUDA_FACTS = {
    "UNIFIED_ADDRESSING": 1,
    "CAN_MAP_HOST_MEMORY": 1,
    "MANAGED_MEMORY": 1,
    "CONCURRENT_KERNELS": 1,
    "STREAM_PRIORITIES_SUPPORTED": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
}


class Device:
    """A device of this process; ``Device(0)`` or ``Device()`` is the current one. A context manager that makes it current."""

    def __init__(self, device: int | Device | None = None) -> None:
        self.id: int = (
            device.id
            if isinstance(device, Device)
            else _treadle.device_index()
            if device is None
            else _checks.integer("device", device)
        )
        self._before: list[int] = []
        count = _treadle.device_count()
        if not 0 <= self.id < count:
            raise ValueError(f"device: expected a number from 0 to {count - 1}, got {self.id}")

    def synchronize(self) -> None:
        """Waits for all work on all its streams. Raises what kernels reported since the last wait."""
        with self:
            _treadle.synchronize()

    def use(self) -> None:
        """Makes this the current device of the calling thread."""
        if _treadle.device_index() != self.id:
            _treadle.set_device(self.id)

    def __enter__(self) -> Device:
        self._before.append(_treadle.device_index())
        self.use()
        return self

    def __exit__(self, *error: object) -> None:
        Device(self._before.pop()).use()

    @property
    def attributes(self) -> dict[str, Any]:
        """Facts about the device: name, kind (cpu or cuda), multiprocessors, limits, compute capability, memory, target."""
        with self:
            return _treadle.attributes()

    @property
    def name(self) -> bytes:
        """The name of the processor: bytes, as numba.cuda's ``name`` is."""
        return self.attributes["name"].encode()

    @property
    def uuid(self) -> str:
        """A text that names the device among all of this machine, made of its name and number."""
        import uuid

        kind = {"cpu": "CPU", "cuda": "GPU"}[self.attributes["kind"]]
        return f"{kind}-{uuid.uuid5(uuid.NAMESPACE_OID, f'{self.name!r} {self.id}')}"

    @property
    def supports_float16(self) -> bool:
        """Whether kernels have the type float16."""
        return True

    def __getattr__(self, name: str) -> int:
        # Attributes in CUDA's spelling, such as MAX_THREADS_PER_BLOCK.
        if name in _CUDA_NAMES:
            key, item = _CUDA_NAMES[name]
            value = self.attributes[key]
            return value if item is None else value[item]
        if name == "INTEGRATED":
            return int(self.attributes["kind"] == "cpu")
        if name in _CUDA_FACTS:
            return _CUDA_FACTS[name]
        raise AttributeError(f"{type(self).__name__}: expected the name of an attribute, got '{name}'")

    @property
    def compute_capability(self) -> tuple[int, int]:
        """NVIDIA's compute capability; on the CPU device what code that asks for it is told."""
        return self.attributes["compute_capability"]

    @property
    def arch(self) -> int:
        """The compute capability as one number."""
        major, minor = self.compute_capability
        return 10 * major + minor

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of memory; what is kept for reuse counts as free."""
        with self:
            return _treadle.free_bytes() + _treadle.memory_use()[1], _treadle.attributes()["total_bytes"]

    def get_primary_context(self) -> Context:
        """The context of the device: it has one."""
        from treadle.cuda._contexts import Context

        return Context(self)

    def reset(self) -> None:
        """Waits for all work and gives the memory kept for reuse back to the system. Arrays that are alive stay valid.
        Raises what kernels reported."""
        with self:
            _treadle.synchronize()
            _treadle.release_cached_memory()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Device {self.id}: {self.attributes['name']}>"


def synchronize() -> None:
    """Waits for all work on all streams. Raises what kernels reported since the last wait."""
    _treadle.synchronize()


def get_current_device() -> Device:
    """The current device."""
    return Device()


def select_device(device_id: int) -> Device:
    """Makes a device current for the calling thread and returns it. Raises ValueError for a number that no device has."""
    device = Device(device_id)
    device.use()
    return device


def is_available() -> bool:
    """Whether kernels can run: always, since the CPU is a device."""
    return True
