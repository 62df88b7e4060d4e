"""Builds the wheel with maturin, with the manual pages and completion scripts that the program writes."""

import itertools
import os
import shlex
import shutil
import subprocess

import maturin
from maturin import (  # noqa: F401
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

# maturin adds this directory to the wheel, if there is one.
DATA = "agentcli.data"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel."""
    arguments = shlex.split(os.environ.get("MATURIN_PEP517_ARGS", ""))
    # With the options that maturin gets, both share one build.
    options = {"--profile": "release"}
    for name in ("--profile", "--features", "--manifest-path"):
        if name in arguments:
            options[name] = arguments[arguments.index(name) + 1]
    # The program has to run here, wherever the wheel is for.
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_BUILD_TARGET"}
    program = ["cargo", "run", "--locked", "--quiet", "--package", "agentcli", *itertools.chain(*options.items())]
    shutil.rmtree(DATA, ignore_errors=True)
    subprocess.run([*program, "--", "package-files", f"{DATA}/data/share"], env=environment, check=True)
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
