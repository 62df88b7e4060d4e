# Tells what an interpreter is and what is missing in it. Runs under any Python, however old, and changes nothing.
# Argument: {"requirements": [...], "files": [...], "editable": [...]} as JSON; paths relative to the working directory.
import json
import os
import sys


def lines(path):
    """Requirements of a file and of those it includes; None for a line that only an installer understands."""
    with open(path, "rb") as file:
        content = file.read()
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if utf16 else "utf-8-sig").replace("\r\n", "\n").replace("\\\n", "")
    for line in text.splitlines():
        line = line.split(" #")[0].strip()
        if line.startswith(("-r ", "--requirement ")):
            for included in lines(os.path.join(os.path.dirname(path), line.split(None, 1)[1])):
                yield included
        elif line and not line.startswith("#"):
            yield None if line.startswith("-") else line.split(" --hash")[0]


def missing(wanted):
    from importlib.metadata import distributions

    found = {}
    editable = set()
    for distribution in distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")
        found.setdefault(name, distribution.version)
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        if origin.get("dir_info", {}).get("editable"):
            from urllib.request import url2pathname

            editable.add(os.path.realpath(url2pathname(origin["url"].split("://", 1)[1])))
    absent = [path for path in wanted["editable"] if os.path.realpath(path) not in editable]
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return wanted["requirements"] + wanted["files"] + absent

    def holds(text):
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            return True
        version = found.get(requirement.name.lower().replace("_", "-").replace(".", "-"))
        return version is not None and requirement.specifier.contains(version, prereleases=True)

    for text in wanted["requirements"]:
        if not holds(text):
            absent.append(text)
    for path in wanted["files"]:
        if not all(text is not None and holds(text) for text in lines(path)):
            absent.append(path)
    return absent


answer = {"version": list(sys.version_info[:2]), "missing": []}
if sys.version_info >= (3, 11):
    import sysconfig

    answer["packages"] = sysconfig.get_path("purelib")
    try:
        answer["missing"] = missing(json.loads(sys.argv[1]))
    except Exception as error:
        answer["missing"] = ["unreadable environment: %s" % error]
print(json.dumps(answer))
