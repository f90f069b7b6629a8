"""Parts of CUDA that do not fit together: what ``treadle doctor`` and exceptions say of it. Over a driver and compilers that do nothing."""

import shutil

import pytest

pytestmark = pytest.mark.cpu("these run on a driver without a GPU")

DOCTOR = "from treadle.cli import main\nprint('status', main(['doctor']))"
COMPILE = """
from treadle.core import Program, ProgramOptions, Linker
def attempt(use):
    try:
        use()
        print("fine")
    except (td.errors.DeviceError, td.errors.CompileError) as error:
        print(error)
program = Program("source", "c++")
"""


@pytest.fixture
def toolkit(fake, support, tmp_path):
    """toolkit(code, major, builtins, **environment): runs code where the only toolkit is the fake one, of a major version, with
    builtins of these versions beside it."""
    libraries = sorted(support.parents[1].glob("build/*/libfake_toolkit.so"))
    folder = tmp_path / "cuda" / "lib64"

    def run(code, major=13, builtins=("13.0",), **environment):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("nvrtc", "nvJitLink"):
            shutil.copy(libraries[0], folder / f"lib{name}.so.{major}")
        for version in builtins:
            (folder / f"libnvrtc-builtins.so.{version}").touch()
        return fake(code, CUDA_HOME=folder.parent, **{"TREADLE_CACHE": "0", **environment})[0]

    run.folder = folder
    return run


def lines(output, kind):
    return [line.removeprefix(f"{kind}: ") for line in output.splitlines() if line.startswith(kind)]


def test_parts_that_fit(toolkit):
    output = toolkit(DOCTOR + COMPILE + "attempt(lambda: program.compile('cubin').get_kernel('f'))")
    assert not lines(output, "wrong") and "status 0" in output and output.splitlines()[-1] == "fine"
    assert f"nvrtc      {toolkit.folder}/libnvrtc.so.13 (toolkit, 13.0)" in output


def test_nvrtc_newer_than_the_driver(toolkit):
    versions = {"major": 12, "builtins": ("12.9",), "FAKE_NVRTC_VERSION": "12.9", "FAKE_CUDA_VERSION": "12040"}
    versions["FAKE_NVJITLINK_VERSION"] = "12.9"
    told = (
        "NVRTC is of CUDA 12.9, newer than the driver's 12.4, which refuses PTX of newer versions: "
        "pip install 'nvidia-cuda-nvrtc-cu12==12.4.*', or a newer driver"
    )
    output = toolkit(DOCTOR, **versions)
    # Other components of the machine may be of any version.
    assert [line for line in lines(output, "wrong") if "NVRTC" in line] == [told] and "status 1" in output
    load = COMPILE + "attempt(lambda: program.compile('cubin').get_kernel('f'))"
    output = toolkit(load, FAKE_CUDA_FAIL="cuModuleLoadDataEx:200:1", **versions)
    assert output.splitlines() == ["CUDA_ERROR_INVALID_IMAGE: [cuModuleLoadDataEx] as the test asked", told]
    ptx = COMPILE + "attempt(lambda: program.compile('ptx').get_kernel('f'))"
    output = toolkit(ptx, FAKE_CUDA_FAIL="cuModuleLoadDataEx:222:1", FAKE_PTX="8.8", **versions)
    assert output.splitlines()[1] == (
        "the code is PTX 8.8, which came with CUDA 12.9, and the driver is of CUDA 12.4: make it with an older CUDA "
        "(pip install 'nvidia-cuda-nvrtc-cu12==12.4.*'), or install a newer driver"
    )
    # Code that the driver should know is refused for another reason.
    output = toolkit(ptx, FAKE_CUDA_FAIL="cuModuleLoadDataEx:222:1", FAKE_PTX="9.0")
    assert output == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: [cuModuleLoadDataEx] as the test asked\n"


def test_ptx_of_a_newer_cuda(toolkit):
    code = COMPILE + "attempt(lambda: Program('.version 9.1\\n.target sm_90', 'ptx').compile('cubin'))"
    output = toolkit(code, FAKE_CUDA_FAIL="cuLinkAddData:222:1")
    assert (
        output.startswith("[link] ") and "PTX 9.1, which came with CUDA 13.1, and the driver is of CUDA 13.0" in output
    )


def test_a_newer_major_version(toolkit):
    output = toolkit(DOCTOR, FAKE_CUDA_VERSION="12040")
    assert any("nvrtc is of CUDA 13, newer than the driver's 12" in line for line in lines(output, "wrong"))


@pytest.mark.parametrize(
    ("builtins", "there"), [((), "where there is none"), (("12.8", "12.6"), "where there is only that of 12.6, 12.8")]
)
def test_builtins_of_another_version(toolkit, builtins, there):
    output = toolkit(DOCTOR, builtins=builtins)
    (told,) = lines(output, "wrong")
    assert told == (
        f"NVRTC ({toolkit.folder}/libnvrtc.so.13) is of CUDA 13.0 and needs libnvrtc-builtins.so.13.0 beside it, {there}: "
        "pip install 'nvidia-cuda-nvrtc==13.0.*' --force-reinstall"
    )
    output = toolkit(
        COMPILE + "attempt(lambda: program.compile('ptx'))",
        builtins=builtins,
        FAKE_NVRTC_LOG="nvrtc: error: failed to open libnvrtc-builtins.so.13.0.",
    )
    assert output.splitlines()[1:] == ["nvrtc: error: failed to open libnvrtc-builtins.so.13.0.", told]


def test_nvjitlink_older_than_nvrtc(toolkit):
    told = "nvJitLink is of CUDA 12.8, older than NVRTC's 13.0, whose code it refuses: pip install 'nvidia-nvjitlink==13.0.*'"
    output = toolkit(DOCTOR, FAKE_NVJITLINK_VERSION="12.8")
    assert lines(output, "wrong") == [told]
    link = COMPILE + "attempt(lambda: Linker(program.compile('ltoir')).link('cubin'))"
    output = toolkit(link, FAKE_NVJITLINK_VERSION="12.8", FAKE_NVJITLINK_LOG="unknown version of NVVM")
    assert "unknown version of NVVM" in output and output.splitlines()[-1] == told


def test_libraries_that_are_broken(toolkit):
    output = toolkit(f"open({str(toolkit.folder)!r} + '/libnvrtc.so.13', 'w').write('nonsense')\n" + DOCTOR)
    assert "(toolkit, cannot be opened)" in output
    assert lines(output, "wrong")[0].startswith("nvrtc cannot be opened (")


@pytest.mark.parametrize(
    ("setting", "devices", "message"),
    [
        ("", "0", "CUDA_VISIBLE_DEVICES is '', which hides every GPU"),
        ("-1", "0", "CUDA_VISIBLE_DEVICES is '-1', which hides every GPU"),
        (
            "0,7",
            "1",
            "CUDA_VISIBLE_DEVICES is '0,7': expected numbers or UUIDs of GPUs of this machine, got 2 of which 1 is usable; the list ends "
            "at the first that is not",
        ),
        ("gpu", "0", "got 1 of which 0 are usable"),
    ],
)
def test_hidden_gpus(fake, setting, devices, message):
    names = {"CUDA_VISIBLE_DEVICES": setting, "FAKE_CUDA_DEVICES": devices}
    output, _ = fake(DOCTOR, TREADLE_DEVICE=None, **names)
    assert message in " ".join(lines(output, "wrong")) and f"CUDA_VISIBLE_DEVICES {setting!r}" in output
    if devices == "0":
        error, _ = fake("td.empty(3)", fails=True, **names)
        assert f"the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES is {setting!r}" in error
        error, _ = fake("td.empty(3)", fails=True, **{**names, "FAKE_CUDA_FAIL": "cuInit:100:1"})
        assert "the NVIDIA driver does not start: CUDA_ERROR_NO_DEVICE; CUDA_VISIBLE_DEVICES is" in error


def test_gpus_that_are_shown(fake):
    output, _ = fake(DOCTOR, CUDA_VISIBLE_DEVICES="0,1")
    assert "CUDA_VISIBLE_DEVICES" not in " ".join(lines(output, "wrong"))


@pytest.mark.parametrize("setting", ("gpu", "cuda:9", "cuda:x"))
def test_the_doctor_sees_a_bad_device(fake, setting):
    output, _ = fake(DOCTOR, TREADLE_DEVICE=setting)
    assert f"got '{setting}'" in " ".join(lines(output, "wrong")) and "status 1" in output


def test_the_doctor_without_a_driver(fake):
    for setting, wrong in (("cuda", True), (None, False)):
        output, _ = fake(DOCTOR, TREADLE_CUDA_DRIVER="/nowhere.so", TREADLE_DEVICE=setting)
        assert ("expected a GPU for 'cuda'" in " ".join(lines(output, "wrong"))) == wrong
        assert any("install NVIDIA's driver" in line for line in lines(output, "advice"))
