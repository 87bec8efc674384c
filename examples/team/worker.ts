import { createRuntime, createSqliteJournal } from "portcullis";
import model from "./model.ts";
import tools from "./tools.ts";

/*
 * A process of the host. Each asks for the same conversation: the first begins it, the next one takes up what a dead one has
 * left. Prints a line for each agent that answers, and the report.
 */
const [, , path = "team.db"] = process.argv;
using journal = createSqliteJournal({ path });
await using runtime = await createRuntime({ tools, journal, leaseMs: 500 });
const { answer, ending, usage } = await runtime.agent({
  model,
  task: "How many things came back broken at the fair?",
  id: "team",
  onEvent: (event) => {
    if (event.type === "call_ended" && event.tool === "task") process.stdout.write(`answered ${event.callId}\n`);
  },
  loop: { maxTokens: 10_000 },
});
const tokens = usage.inputTokens + usage.outputTokens;
process.stdout.write(`${JSON.stringify({ answer, ending: ending.type, tokens })}\n`);
