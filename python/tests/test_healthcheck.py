import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from healthcheck import address


class Address(unittest.TestCase):
    def test_follows_the_port_and_the_prefix_of_the_server(self):
        http = '{"mount_prefix": "/of/config"}'
        for environment, expected in [
            ({}, "http://127.0.0.1:8000/ok"),
            ({"PORT": ""}, "http://127.0.0.1:8000/ok"),
            ({"PORT": "9000", "LANGGRAPH_HTTP": "{}"}, "http://127.0.0.1:9000/ok"),
            ({"LANGGRAPH_HTTP": http}, "http://127.0.0.1:8000/of/config/ok"),
            ({"LANGGRAPH_HTTP": http, "MOUNT_PREFIX": "/other"}, "http://127.0.0.1:8000/other/ok"),
            ({"LANGGRAPH_MOUNT_PREFIX": "/first", "MOUNT_PREFIX": "/other"}, "http://127.0.0.1:8000/first/ok"),
        ]:
            self.assertEqual(address(environment), expected)
