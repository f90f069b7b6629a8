"""``treadle doctor``: what is there of CUDA, whether it fits together, and what to install."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from treadle import _treadle, _versions, pathfinder


@dataclass
class Report:
    """rows: (name, state) of everything looked at; faults: what is wrong; advice: what could be installed."""

    rows: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


def examine() -> Report:
    """Looks at settings, driver and components. Loads NVRTC and nvJitLink, where they are found, to ask for their versions."""
    report = Report()
    _look_at_devices(report)
    for name in pathfinder.COMPONENTS:
        _look_at_component(name, report)
    headers = pathfinder.find_headers()
    report.rows.append(("headers", headers or "not found (CUDA C++ can include none of CUDA's)"))
    if not _treadle.gpu_problem() and headers is None:
        report.advice.append(
            f"for #include of CUDA's headers: {pathfinder.install_hint('cudart', _versions.driver()[0])}"
        )
    report.faults += _versions.clashes()
    return report


def _look_at_devices(report: Report) -> None:
    version = _versions.driver()
    problem = _treadle.gpu_problem()
    report.rows.append(("driver", f"CUDA {_versions.text(version)}" if version[0] else "none"))
    report.rows.append(("GPU", problem or f"{_treadle.gpu_count()} that can be used"))
    for variable in ("TREADLE_DEVICE", "CUDA_VISIBLE_DEVICES"):
        if variable in os.environ:
            report.rows.append((variable, repr(os.environ[variable])))
    try:
        _treadle.device_count()
    except Exception as error:
        report.faults.append(str(error))
    hidden = _treadle.hidden_gpus()
    if hidden:
        report.faults.append(hidden)
    elif problem:
        report.advice.append("kernels and arrays run on the CPU; for a GPU install NVIDIA's driver")


def _look_at_component(name: str, report: Report) -> None:
    component = pathfinder.COMPONENTS[name]
    has_gpu = not _treadle.gpu_problem()
    major = _versions.driver()[0]
    copies = pathfinder.find_all(name)
    chosen = pathfinder.find(name, major)
    if not copies:
        report.rows.append((name, f"not found ({component.purpose})"))
        if has_gpu and name == "nvrtc":
            report.advice.append(f"for {component.needed_for}: {pathfinder.install_hint(name, major)}")
        return
    report.rows.append((name, "; ".join(f"{one.path} ({one.source}, {_version_of(one)})" for one in copies[:2])))
    majors = {one.major for one in copies if one.major}
    if major and chosen is None:
        report.faults.append(
            f"{name} is of CUDA {min(majors)}, newer than the driver's {major}: {pathfinder.install_hint(name, major)}"
        )
    elif name in ("nvrtc", "nvjitlink", "cudart") and len(majors) > 1:
        versions = ", ".join(map(str, sorted(majors)))
        report.advice.append(
            f"{name} is there in several major versions ({versions}); {chosen and chosen.path} is used"
        )


def _version_of(found: pathfinder.Found) -> str:
    try:
        version = _versions.of_file(found.name, found.path)
    except OSError:
        return "cannot be opened"
    return _versions.text(version) if version else str(found.major)


def main() -> int:
    """Prints the report; 0 where nothing is wrong, 1 where something is."""
    report = examine()
    for name, state in report.rows:
        print(f"{name:10} {state}")
    for line in report.faults:
        print(f"wrong: {line}")
    for line in report.advice:
        print(f"advice: {line}")
    return 1 if report.faults else 0
