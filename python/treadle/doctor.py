"""``treadle doctor``: what is there of CUDA, whether it fits together, and what to install."""

from __future__ import annotations

from treadle import _treadle, pathfinder


def driver_major() -> int:
    """CUDA's major version that the driver has; 0 without one."""
    return _treadle.driver_version() // 1000


def examine() -> tuple[list[tuple[str, str]], list[str]]:
    """(name, state) of everything looked at, and advice where something is missing or does not fit."""
    rows: list[tuple[str, str]] = []
    advice: list[str] = []
    version = _treadle.driver_version()
    problem = _treadle.gpu_problem()
    rows.append(("driver", f"CUDA {version // 1000}.{version % 1000 // 10}" if version else "none"))
    rows.append(("GPU", problem or f"{_treadle.device_count()} that can be used"))
    if problem:
        advice.append("kernels and arrays run on the CPU; for a GPU install NVIDIA's driver")
    major = version // 1000
    for name, component in pathfinder.COMPONENTS.items():
        copies = pathfinder.find_all(name)
        chosen = pathfinder.find(name, major)
        if not copies:
            rows.append((name, f"not found ({component.purpose})"))
            if not problem and name == "nvrtc":
                advice.append(f"for {component.needed_for}: {pathfinder.install_hint(name, major)}")
            continue
        rows.append((name, "; ".join(f"{one.path} ({one.source}, {one.major})" for one in copies[:2])))
        majors = {one.major for one in copies if one.major}
        if major and chosen is None:
            advice.append(
                f"{name} is of CUDA {min(majors)}, newer than the driver's {major}: {pathfinder.install_hint(name, major)}"
            )
        elif name in ("nvrtc", "nvjitlink", "cudart") and len(majors) > 1:
            versions = ", ".join(map(str, sorted(majors)))
            advice.append(f"{name} is there in several major versions ({versions}); {chosen and chosen.path} is used")
    headers = pathfinder.find_headers()
    rows.append(("headers", headers or "not found (CUDA C++ can include none of CUDA's)"))
    if not problem and headers is None:
        advice.append(f"for #include of CUDA's headers: {pathfinder.install_hint('cudart', major)}")
    return rows, advice


def main() -> int:
    """Prints the report; 0 where nothing is amiss."""
    rows, advice = examine()
    for name, state in rows:
        print(f"{name:10} {state}")
    for line in advice:
        print(f"advice: {line}")
    return 0
