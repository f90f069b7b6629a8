"""Options of the compiler for CUDA C++, with cuda.core's names."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

# Options that are on or off: field -> flag. None leaves the compiler's default.
_FLAGS = {
    "relocatable_device_code": "--relocatable-device-code",
    "extensible_whole_program": "--extensible-whole-program",
    "ftz": "--ftz",
    "prec_sqrt": "--prec-sqrt",
    "prec_div": "--prec-div",
    "fma": "--fmad",
    "extra_device_vectorization": "--extra-device-vectorization",
    "builtin_move_forward": "--builtin-move-forward",
    "builtin_initializer_list": "--builtin-initializer-list",
    "brief_diagnostics": "--brief-diagnostics",
    "device_float128": "--device-float128",
}
# Options that stand alone where they are true.
_SWITCHES = {
    "debug": "--device-debug",
    "lineinfo": "--generate-line-info",
    "use_fast_math": "--use_fast_math",
    "disable_warnings": "--disable-warnings",
    "restrict": "--restrict",
    "device_as_default_execution_space": "--device-as-default-execution-space",
    "no_source_include": "--no-source-include",
    "no_display_error_number": "--no-display-error-number",
    "minimal": "--minimal",
    "ptxas_verbose": "--ptxas-options=-v",
}
# Options with a value.
_VALUES = {
    "std": "--std",
    "max_register_count": "--maxrregcount",
    "device_code_optimize": "--dopt",
    "optimization_info": "--optimization-info",
    "diag_error": "--diag-error",
    "diag_suppress": "--diag-suppress",
    "diag_warn": "--diag-warn",
    "time": "--time",
    "split_compile": "--split-compile",
    "fdevice_time_trace": "--fdevice-time-trace",
}


@dataclass
class ProgramOptions:
    """Fields are NVRTC's options with underscores; None leaves NVRTC's default. arch: such as "sm_90", the current device's by
    default; define_macro: a name, a (name, value), or a list of these; include_path, pre_include: a text or a list."""

    name: str | None = "default_program"
    arch: str | None = None
    std: str | None = None
    relocatable_device_code: bool | None = None
    extensible_whole_program: bool | None = None
    debug: bool | None = None
    lineinfo: bool | None = None
    device_code_optimize: bool | None = None
    ptxas_options: Any = None
    max_register_count: int | None = None
    ftz: bool | None = None
    prec_sqrt: bool | None = None
    prec_div: bool | None = None
    fma: bool | None = None
    use_fast_math: bool | None = None
    extra_device_vectorization: bool | None = None
    link_time_optimization: bool | None = None
    define_macro: Any = None
    undefine_macro: Any = None
    include_path: Any = None
    pre_include: Any = None
    no_source_include: bool | None = None
    builtin_move_forward: bool | None = None
    builtin_initializer_list: bool | None = None
    disable_warnings: bool | None = None
    restrict: bool | None = None
    device_as_default_execution_space: bool | None = None
    device_float128: bool | None = None
    optimization_info: str | None = None
    no_display_error_number: bool | None = None
    diag_error: Any = None
    diag_suppress: Any = None
    diag_warn: Any = None
    brief_diagnostics: bool | None = None
    time: str | None = None
    split_compile: int | None = None
    fdevice_time_trace: str | None = None
    minimal: bool | None = None
    ptxas_verbose: bool | None = None

    def flags(self, arch: str) -> list[str]:
        """The options as NVRTC reads them, for an architecture. Raises TypeError for a macro that is neither a name nor a pair."""
        result = [f"--gpu-architecture={arch}"]
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if field.name in _FLAGS:
                result.append(f"{_FLAGS[field.name]}={str(bool(value)).lower()}")
            elif field.name in _SWITCHES and value:
                result.append(_SWITCHES[field.name])
            elif field.name in _VALUES:
                result.append(f"{_VALUES[field.name]}={','.join(map(str, listed(value)))}")
        if self.link_time_optimization:
            result.append("--dlink-time-opt")
        result += [f"--define-macro={_macro(macro)}" for macro in _macros(self.define_macro)]
        result += [f"--undefine-macro={name}" for name in listed(self.undefine_macro)]
        result += [f"--include-path={path}" for path in listed(self.include_path)]
        result += [f"--pre-include={path}" for path in listed(self.pre_include)]
        result += [f"--ptxas-options={option}" for option in listed(self.ptxas_options)]
        return result


def listed(value: Any) -> list[Any]:
    """The values of an option that takes one, several or None."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _macros(value: Any) -> list[Any]:
    """A tuple of two is one macro with its value."""
    if isinstance(value, tuple) and len(value) == 2:
        return [value]
    return listed(value)


def _macro(macro: Any) -> str:
    if isinstance(macro, str):
        return macro
    if isinstance(macro, tuple) and len(macro) == 2:
        return f"{macro[0]}={macro[1]}"
    raise TypeError(f"ProgramOptions: define_macro: expected a name or a (name, value), got {macro!r}")
