import ast
import re
import unittest
from pathlib import Path

SERVER = Path(__file__).parent.parent / "server"


def requirements(name):
    text = (SERVER / name / "requirements.txt").read_text().replace("\\\n", "")
    return dict(line.split("==", 1) for line in text.splitlines() if not line.startswith("#"))


class Requirements(unittest.TestCase):
    def test_each_has_one_version_and_the_hashes_of_its_wheels(self):
        for name in ["memory", "pg"]:
            for package, rest in requirements(name).items():
                self.assertRegex(rest, r"^[\w.]+(\s+--hash=sha256:[0-9a-f]{64})+$", package)

    def test_the_adapter_is_for_the_versions_that_are_installed(self):
        source = (SERVER / "pg" / "agentcli_adapter.py").read_text()
        versions = ast.literal_eval(re.search(r"^VERSIONS = (.*)$", source, re.M)[1])
        installed = requirements("pg")
        self.assertEqual(versions, {name: installed[name].split()[0] for name in versions})
