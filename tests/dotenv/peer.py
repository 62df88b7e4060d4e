"""python-dotenv, as the server's launcher calls it: the text of a file in, what it holds out, each a line of JSON."""

import json
import logging
import sys

from dotenv.main import DotEnv
from dotenv.parser import parse_stream

# Mistakes are counted below instead.
logging.disable()


def mistakes(path):
    """The line of each, where it starts: the library's own number is that of the blank lines before it."""
    with open(path) as stream:
        for binding in parse_stream(stream):
            if binding.error:
                text = binding.original.string
                yield binding.original.line + text[: len(text) - len(text.lstrip())].count("\n")


(path,) = sys.argv[1:]
for line in sys.stdin:
    with open(path, "w", newline="") as file:
        file.write(json.loads(line))
    found = {"variables": list(DotEnv(dotenv_path=path).dict().items()), "mistakes": list(mistakes(path))}
    print(json.dumps(found), flush=True)
