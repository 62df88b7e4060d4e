import functools, importlib, os, sys
source, wheels, backend, *sys.path[:1] = sys.argv[1:]
os.environ["PATH"] = sys.prefix + "/bin:" + os.environ["PATH"]
os.chdir(source)
module, _, names = backend.partition(":")
hooks = functools.reduce(getattr, filter(None, names.split(".")), importlib.import_module(module))
with open(wheels + "/list.txt", "a") as built:
    print(wheels + "/" + hooks.build_editable(wheels), file=built)
