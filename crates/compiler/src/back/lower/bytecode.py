# Compiles what is loaded when packages are imported, with the hash of the source (PEP 552).
# Arguments: the distribution of the server, and the packages besides those that it requires [default: all].
import dis, functools, importlib.metadata, importlib.util, marshal, os, re, sys, sysconfig
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

LIBRARY = sysconfig.get_path("purelib")
SEEN = set()

@functools.cache
def listed(*parts):
    path = os.path.join(LIBRARY, *parts)
    return set(os.listdir(path)) if os.path.isdir(path) else set()

def required(names):
    for name in names:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        texts = (text for text in distribution.requires or [] if "extra ==" not in text)
        names += {re.match(r"[\w.-]+", text)[0] for text in texts} - set(names)
        files = re.findall(r"^[^,]+\.py(?=,)", distribution.read_text("RECORD") or "", re.M)
        yield from {outermost(file.split("/")) for file in files}

def outermost(parts):
    for end in range(1, len(parts)):
        if "__init__.py" in listed(*parts[:end]):
            return ".".join(parts[:end])
    return ".".join(parts).removesuffix(".py")

def below(name=""):
    files = listed(*name.split("."))
    if files and "__init__.py" not in files:
        parts = {part.removesuffix(".py") for part in files}
        return set().union(*(below(f"{name}.{part}".lstrip(".")) for part in parts if part.isidentifier()))
    return {name}

def untyped(code):
    loaded, end = [], 0
    for step in dis.get_instructions(code):
        if step.offset < end:
            continue
        if step.opname.startswith("LOAD_"):
            loaded.append(step.argval)
        elif step.opname.endswith("_IF_FALSE") and loaded[-1:] == ["TYPE_CHECKING"]:
            end = step.argval
        elif step.opname == "IMPORT_NAME":
            yield step.argval, *loaded[-2:]

def imports(code, package):
    find = untyped if "TYPE_CHECKING" in code.co_names else dis._find_imports
    for name, level, names in find(code):
        name = importlib.util.resolve_name("." * level + name, package)
        yield from [name, *(f"{name}.{part}" for part in names or ())]

def unseen(names):
    for name in names:
        while name and name not in SEEN:
            SEEN.add(name)
            *parents, last = name.split(".")
            if last in listed(*parents) or f"{last}.py" in listed(*parents):
                yield name
            name = ".".join(parents)

def compiled(module):
    try:
        *parents, last = module.split(".")
        is_package = "__init__.py" in listed(*parents, last)
        path = os.path.join(LIBRARY, *parents, *([last, "__init__.py"] if is_package else [f"{last}.py"]))
        target = importlib.util.cache_from_source(path)
        if os.path.exists(target):
            return []
        with open(path, "rb") as file:
            source = file.read()
        code = compile(source, path, "exec", dont_inherit=True)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + b"\3\0\0\0" + importlib.util.source_hash(source))
            file.write(marshal.dumps(code))
        package = module if is_package else ".".join(parents)
        return list(unseen([*imports(code, package)]))
    except Exception:  # Python reports it when the module is imported.
        return []

def all_compiled(modules):
    return [name for module in modules for name in compiled(module)]

if __name__ == "__main__":
    try:
        with ProcessPoolExecutor() as processes:
            server, packages = sys.argv[1:2], sys.argv[2:]
            new, known, pending = set(required(server)).union(*map(below, packages)) if server else below(), set(), set()
            while new or pending:
                known |= new
                modules = sorted(new)
                batches = (modules[at:at + 32] for at in range(0, len(modules), 32))
                pending |= {processes.submit(all_compiled, batch) for batch in batches}
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                new = {name for batch in done for name in batch.result()} - known
    except Exception as error:  # Such as too little memory: the server works without, and starts slower.
        print(f"not all packages are compiled to bytecode: {error}")
