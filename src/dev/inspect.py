# Prints the version of the interpreter and the packages that it lacks. Runs under any Python, however old, and changes nothing.
# Argument: {"requirements": [...], "files": [...], "editable": [...]} as JSON; paths relative to the working directory.
import json
import os
import sys


def lines(path):
    """The requirements in a file and in those that it includes. Other options do not say what has to be installed."""
    with open(path, "rb") as file:
        content = file.read()
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if utf16 else "utf-8-sig").replace("\r\n", "\n").replace("\\\n", "")
    for line in text.splitlines():
        line = line.split(" #")[0].strip()
        option, _, rest = line.replace("=", " ", 1).partition(" ") if line.startswith("--") else line.partition(" ")
        if option in ("-r", "--requirement"):
            for included in lines(os.path.join(os.path.dirname(path), rest.strip())):
                yield included
        elif option in ("-e", "--editable"):
            yield rest.strip()
        elif line and not line.startswith(("#", "-")):
            yield line.split(" --")[0]


def name_only(text):
    """The name of a requirement, for environments without `packaging`. The server requires it."""
    import re
    from types import SimpleNamespace

    name = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", text)
    if name is None:
        raise ValueError(text)
    return SimpleNamespace(name=name.group(1), marker=None, specifier=None)


def normalized(name):
    return (name or "").lower().replace("_", "-").replace(".", "-")


def missing(wanted):
    from importlib.metadata import distributions
    from urllib.request import url2pathname

    found = {}
    urls = []
    directories = {}
    for distribution in distributions():
        found.setdefault(normalized(distribution.metadata["Name"]), distribution.version)
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        if "dir_info" in origin:
            path = os.path.realpath(url2pathname(origin["url"].split("://", 1)[1]))
            directories[path] = origin["dir_info"].get("editable", False)
        elif origin:
            urls.append(origin["url"])
    try:
        from packaging.requirements import Requirement
    except ImportError:
        Requirement = name_only

    def holds(text):
        try:
            requirement = Requirement(text)
        except ValueError:
            return os.path.realpath(text) in directories or any(url in text for url in urls)
        if requirement.marker is not None and not requirement.marker.evaluate():
            return True
        version = found.get(normalized(requirement.name))
        if version is None or requirement.specifier is None:
            return version is not None
        return requirement.specifier.contains(version, prereleases=True)

    absent = [text for text in wanted["requirements"] if not holds(text)]
    for path in wanted["files"]:
        absent += ["%s (%s)" % (text, path) for text in lines(path) if not holds(text)]
    return absent + [path for path in wanted["editable"] if not directories.get(os.path.realpath(path))]


answer = {"version": list(sys.version_info[:3]), "missing": []}
if sys.version_info >= (3, 11):
    import sysconfig

    answer["packages"] = sysconfig.get_path("purelib")
    try:
        answer["missing"] = missing(json.loads(sys.argv[1]))
    except Exception as error:
        answer["missing"] = ["unreadable environment: %s" % error]
print(json.dumps(answer))
