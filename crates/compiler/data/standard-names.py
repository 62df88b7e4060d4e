"""Writes standard-names.txt: what some of the image's Pythons have in their standard library, and others have not.

Run it with Python 3.12 or later and pip, in this directory: python standard-names.py > standard-names.txt
"""

import ast
import datetime
import pathlib
import subprocess
import sys
import tempfile
import zipfile

# The versions of Python that there are images of.
MINORS = range(11, 15)
# What versions of Python have although the stubs deny it.
DENIED = {"importlib.machinery.AppleFrameworkLoader", "ntpath.isdevdrive", "sqlite3.version"}
# The module that setuptools brings back, and the package that has what later versions have in `typing`.
BROUGHT = ("distutils", "typing_extensions")
# The package with the newest stubs of the standard library that are checked against all versions.
STUBS = "mypy"


def stubs(directory):
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", directory, STUBS]
    subprocess.run(command, check=True, capture_output=True)
    wheel = next(pathlib.Path(directory).glob(f"{STUBS}-*.whl"))
    return wheel.name.split("-")[1], zipfile.ZipFile(wheel)


class Library:
    """The modules of one version on Linux."""

    def __init__(self, archive, minor):
        self.archive, self.version = archive, (3, minor)
        self.paths, self.names = {}, {}
        root = "mypy/typeshed/stdlib/"
        for path in archive.namelist():
            if path.startswith(root) and path.endswith(".pyi"):
                module = path.removeprefix(root).removesuffix(".pyi").removesuffix("/__init__")
                self.paths[module.replace("/", ".")] = path
        self.ranges = dict(ranges(archive.read(f"{root}VERSIONS").decode()))

    def has(self, module):
        while module not in self.ranges and "." in module:
            module = module.rpartition(".")[0]
        first, last = self.ranges.get(module, ((3, 0), (4, 0)))
        return first <= self.version <= last

    def dotted(self):
        """All public names, with those of their modules before them."""
        found = set()
        for module in filter(self.has, self.paths):
            found |= {module} | {f"{module}.{name}" for name in self.of(module)}
        return {it for it in found if not is_hidden(it)}

    def of(self, module):
        if module not in self.names:
            self.names[module] = set()
            path = self.paths.get(module)
            if path and self.has(module):
                tree = ast.parse(self.archive.read(path))
                self.names[module] = set(self.defined(tree.body, module, path.endswith("/__init__.pyi")))
        return self.names[module]

    def defined(self, body, module, is_package):
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    yield node.name
                case ast.If():
                    branch = node.body if self.holds(node.test) else node.orelse
                    yield from self.defined(branch, module, is_package)
                # Without `as`, a stub imports a name for itself.
                case ast.Import():
                    yield from (it.asname for it in node.names if it.asname)
                case ast.ImportFrom():
                    parts = module.split(".") + ([""] if is_package else [])
                    parent = ".".join(parts[: len(parts) - node.level]) if node.level else ""
                    source = ".".join(filter(None, [parent, node.module]))
                    for it in node.names:
                        yield from self.of(source) if it.name == "*" else filter(None, [it.asname])
                case ast.Assign() | ast.AnnAssign() | ast.TypeAlias():
                    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None) or node.name]
                    yield from (it.id for target in targets for it in ast.walk(target) if isinstance(it, ast.Name))

    def holds(self, test):
        match test:
            case ast.BoolOp(op=ast.And()):
                return all(map(self.holds, test.values))
            case ast.BoolOp():
                return any(map(self.holds, test.values))
            case ast.UnaryOp(op=ast.Not()):
                return not self.holds(test.operand)
        text = ast.unparse(test).replace("sys.version_info", "version").replace("sys.platform", "platform")
        return eval(text, {"version": self.version, "platform": "linux", "TYPE_CHECKING": True})


def is_hidden(name):
    return name.startswith(BROUGHT) or name in DENIED or any(part.startswith("_") for part in name.split("."))


def ranges(text):
    for line in text.splitlines():
        module, _, versions = line.partition("#")[0].partition(":")
        if versions:
            first, last = versions.strip().split("-")
            yield module, (release(first), release(last) if last else (4, 0))


def release(version):
    return tuple(map(int, version.split(".")))


def main():
    with tempfile.TemporaryDirectory() as directory:
        version, archive = stubs(directory)
        have = {minor: Library(archive, minor).dotted() for minor in MINORS}
    print(f"# Written by standard-names.py on {datetime.date.today()} from the stubs of {STUBS} {version}.")
    print("# Modules and names, the first version of Python 3 that has them, and the last; `-` where all others have them.")
    for name in sorted(set.union(*have.values())):
        minors = [minor for minor in MINORS if name in have[minor]]
        parent = name.rpartition(".")[0]
        if len(minors) == len(MINORS) or parent and [it for it in MINORS if parent in have[it]] == minors:
            continue
        first = "-" if minors[0] == MINORS[0] else minors[0]
        last = "-" if minors[-1] == MINORS[-1] else minors[-1]
        print(name, first, last)


main()
