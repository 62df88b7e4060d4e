"""Writes library-names.txt, what the libraries of agents had, and have in no version that the server takes, and
library-modules.txt, what they have.

Run it with Python 3.11 or later and pip, in this directory.
"""

import ast
import copy
import datetime
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

# The distributions, the first versions that count, and older ones that they are compared with, the last of each series.
DISTRIBUTIONS = {
    "langchain": ("1.0", ["0.0.354", "0.1.20", "0.2.17", "0.3.30"]),
    "langchain-core": ("1.0", ["0.1.53", "0.2.43", "0.3.86"]),
    "langgraph": ("1.0", ["0.0.69", "0.1.19", "0.2.76", "0.3.34", "0.4.10", "0.5.4", "0.6.11"]),
    "langgraph-checkpoint": ("3.0", ["1.0.12", "2.1.2"]),
    "langgraph-prebuilt": ("1.0", ["0.1.8", "0.2.3", "0.5.2", "0.6.5"]),
    "langgraph-sdk": ("0.2", ["0.1.74"]),
}
# Modules that distributions of their own have.
MOVED = ("langgraph.checkpoint.postgres", "langgraph.checkpoint.sqlite")


def pip(*arguments):
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def versions(distribution, first):
    line = next(line for line in pip("index", "versions", distribution).splitlines() if "Available" in line)
    numbers = [version.strip() for version in line.split(":")[1].split(",")]
    return [it for it in numbers if release(it) >= release(first)]


def release(version):
    return [int(part) for part in version.split(".") if part.isdigit()]


def wheel(distribution, version, directory):
    target = pathlib.Path(directory, f"{distribution}-{version}")
    if not target.exists():
        pip("download", "--no-deps", "--only-binary=:all:", "--dest", str(target), f"{distribution}=={version}")
    return zipfile.ZipFile(next(target.iterdir()))


def modules(archive, read):
    """What `read` finds in each module of a wheel."""
    found = {}
    for path in archive.namelist():
        if path.endswith(".py"):
            module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found[module] = read(ast.parse(archive.read(path)), path.endswith("/__init__.py"))
    return found


def bound(tree, _):
    """All names that a module may have; `*` if it may have others."""
    found = set(offered(tree, True))
    for statement in statements(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            found |= {(it.asname or it.name).split(".")[0] for it in statement.names}
        found |= {it.id for it in ast.walk(statement) if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)}
    return found


def offered(tree, is_package):
    """The names that others are to import from a module: its own, and those that a package takes from its modules."""
    own, imported = set(), set()
    for statement in statements(tree.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(statement.name)
        elif isinstance(statement, ast.ImportFrom) and is_package and is_own(statement):
            imported |= {it.asname or it.name for it in statement.names}
        elif isinstance(statement, ast.Assign):
            own |= {it.id for it in statement.targets if isinstance(it, ast.Name)}
    listed = [it.value for it in tree.body if isinstance(it, ast.Assign) and ast.unparse(it.targets[0]) == "__all__"]
    if listed and isinstance(listed[0], (ast.List, ast.Tuple)):
        imported &= {it.value for it in listed[0].elts if isinstance(it, ast.Constant)}
    found = own | imported
    # The names that such a module has when they are asked for stand in it as strings.
    if is_package and "__getattr__" in found:
        strings = [it.value for it in ast.walk(tree) if isinstance(it, ast.Constant) and isinstance(it.value, str)]
        found |= {it for it in strings if it.isidentifier()} or {"*"}
    return found


def is_own(statement):
    return statement.level > 0 or statement.module.startswith(("langchain", "langgraph"))


def statements(body):
    """The statements that run when the module is loaded, without the bodies of functions and classes."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            statement = copy.copy(statement)
            statement.body = []
        blocks = [getattr(statement, block, []) for block in ["body", "orelse", "finalbody"]]
        blocks += [handler.body for handler in getattr(statement, "handlers", [])]
        if any(blocks):
            for block in blocks:
                yield from statements(block)
        else:
            yield statement


def is_public(name):
    return not any(part.startswith("_") for part in name.split("."))


def main():
    taken, current, offers, newest, older, packages = [], {}, {}, {}, {}, set()
    with tempfile.TemporaryDirectory() as directory:
        directory = sys.argv[1] if sys.argv[1:] else directory
        for distribution, (first, last_ones) in DISTRIBUTIONS.items():
            numbers = versions(distribution, first)
            taken.append(f"{distribution} {numbers[-1]} to {numbers[0]}")
            for number in numbers:
                add(current, modules(wheel(distribution, number, directory), bound), number)
                add(offers, modules(wheel(distribution, number, directory), offered), number)
            add(newest, modules(wheel(distribution, numbers[0], directory), offered), numbers[0])
            for number in last_ones:
                found = modules(wheel(distribution, number, directory), offered)
                packages |= set(found)
                add(older, found, number)
    by = f"Written by library-names.py on {datetime.date.today()}"
    with open("library-names.txt", "w") as file:
        print(f"# {by}: modules and names that {', '.join(taken)} lack.", file=file)
        print("# After each the last older version that had it, and the module that has it now.", file=file)
        for name, number in sorted(older.items()):
            parent = name.rpartition(".")[0]
            if is_gone(name, current) and not (parent and is_gone(parent, current)):
                print(name, number, "-" if name in packages else home(name, newest) or "-", file=file)
    with open("library-modules.txt", "w") as file:
        print(f"# {by}: the modules of {', '.join(taken)}, each with its names.", file=file)
        print("# A * is for any name. A - is before a name that the module only imports.", file=file)
        for line in lines_of_modules(current, offers):
            print(*line, file=file)


def lines_of_modules(current, offers):
    """Each module with its names."""
    names = {}
    for name in current:
        parent, _, last = name.rpartition(".")
        if parent in current:
            names.setdefault(parent, set()).add(last)
    everywhere = {name.rpartition(".")[2] for name in offers}
    for module in sorted(name for name in current if name in names):
        own = {it for it in names[module] if it == "*" or f"{module}.{it}" in offers}
        # Of the names that it imports, only these could be taken for a mistake.
        is_near = lambda it: it in everywhere or difflib.get_close_matches(it, own, cutoff=0.5)
        mistakable = set(filter(is_near, names[module] - own))
        yield [module, *sorted(own), *sorted(f"-{it}" for it in mistakable)]


def add(all_names, found, number):
    """Adds the dotted names of a wheel, with its version; `module.*` for a module that may have others."""
    for module, names in found.items():
        for name in [module, *(f"{module}.{it}" for it in names)]:
            last = name.rpartition(".")[2]
            if is_public(name) and (last == "*" or len(last) > 2):
                all_names[name] = number


def is_gone(name, current):
    parent = name.rpartition(".")[0]
    is_shared = any(other.startswith(f"{name}.") for other in current)
    return not (name in current or name.startswith(MOVED) or is_shared or f"{parent}.*" in current)


def home(name, newest):
    """The module that offers the name now, the nearest of them."""
    last = name.rpartition(".")[2]
    library = name.partition(".")[0]
    is_near = lambda it: it.endswith(f".{last}") and (library == "langchain" or it.startswith(f"{library}."))
    modules = [it.rpartition(".")[0] for it in filter(is_near, newest)]
    shared = lambda it: len(os.path.commonprefix([it.split("."), name.split(".")]))
    return min(modules, key=lambda it: (-shared(it), it.count("."), len(it), it), default=None)


main()
