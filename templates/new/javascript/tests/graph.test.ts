import assert from "node:assert/strict";
import test from "node:test";

import { graph } from "../src/graph.js";

test("greets by name", async () => {
  assert.equal((await graph.invoke({ name: "Ada" })).greeting, "Hello, Ada!");
});

test("greets without a name", async () => {
  assert.equal((await graph.invoke({})).greeting, "Hello, world!");
});
