import { START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";

/** Input and output of the graph. */
const State = new StateSchema({
  name: z.string().default("world"),
  greeting: z.string().optional(),
});

/** The graph that the server runs. */
export const graph = new StateGraph(State)
  .addNode("greet", ({ name }) => ({ greeting: `Hello, ${name}!` }))
  .addEdge(START, "greet")
  .compile();
