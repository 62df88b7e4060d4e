# Compiles what is loaded when packages are imported, with the hash of the source (PEP 552).
# Arguments: the distribution of the server, and the packages besides those that it requires [default: all].
import dis, importlib.metadata, importlib.util, marshal, os, re, sys, sysconfig
from concurrent.futures import ProcessPoolExecutor

LIBRARY = sysconfig.get_path("purelib")

def required(names):
    for name in names:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        texts = (text for text in distribution.requires or [] if "extra ==" not in text)
        names += {re.match(r"[\w.-]+", text)[0] for text in texts} - set(names)
        yield from {outermost(file.parts) for file in distribution.files or [] if file.suffix == ".py"}

def outermost(parts):
    for end in range(1, len(parts)):
        if os.path.exists(os.path.join(LIBRARY, *parts[:end], "__init__.py")):
            return ".".join(parts[:end])
    return ".".join(parts).removesuffix(".py")

def below(name=""):
    path = os.path.join(LIBRARY, *name.split("."))
    if os.path.isdir(path) and not os.path.exists(f"{path}/__init__.py"):
        parts = {part.removesuffix(".py") for part in os.listdir(path)}
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

def compiled(module):
    path, package = os.path.join(LIBRARY, *module.split("."), "__init__.py"), module
    if not os.path.exists(path):
        path, package = path.removesuffix("/__init__.py") + ".py", module.rpartition(".")[0]
    target = importlib.util.cache_from_source(path)
    try:
        if os.path.exists(target):
            return []
        with open(path, "rb") as file:
            source = file.read()
        code = compile(source, path, "exec", dont_inherit=True)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + b"\3\0\0\0" + importlib.util.source_hash(source))
            file.write(marshal.dumps(code))
        return list(imports(code, package))
    except Exception:  # Python reports it when the module is imported.
        return []

if __name__ == "__main__":
    try:
        with ProcessPoolExecutor() as processes:
            server, packages = sys.argv[1:2], sys.argv[2:]
            known, new = set(), set(required(server)).union(*map(below, packages)) if server else below()
            while new:
                known |= new
                found = {name for names in processes.map(compiled, sorted(new), chunksize=16) for name in names}
                new = {name.rsplit(".", at)[0] for name in found for at in range(name.count(".") + 1)} - known
    except Exception as error:  # Such as too little memory: the server works without, and starts slower.
        print(f"not all packages are compiled to bytecode: {error}")
