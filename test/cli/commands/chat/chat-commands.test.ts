import { expect, test } from "vitest";
import { z } from "zod";
import { type ChatState, runChatCommand } from "../../../../src/cli/commands/chat/chat-commands.ts";
import { createRuntime, defineTool } from "../../../../src/index.ts";
import { createMemorySandbox } from "../../../../src/testing.ts";

const tools = ["warehouse.stock.list", "warehouse.orders.list"].map((name) =>
  defineTool({
    name,
    description: "Rows",
    input: z.object({}),
    allowedCallers: ["direct", "programmatic"],
    effect: "read",
    handler: () => 1,
  }),
);

test.each([80, 40])(
  "the lists of a conversation fit a terminal of %d columns, and no word is broken",
  async (columns) => {
    await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
    const state: ChatState = {
      runtime,
      execution: "talk",
      model: "m",
      programs: [],
      report: undefined,
      columns,
    };
    for (const [command, words] of [
      ["/tools", ["warehouse.stock.list", "programmatic", "never"]],
      ["/help", ["/save FILE", "transcript", "interrupts"]],
    ] as const) {
      const shown = await runChatCommand(command, state);
      if (typeof shown === "string" || !("lines" in shown)) throw new Error("There are no lines.");
      const lines = shown.lines.join("\n").split("\n");
      for (const line of lines) expect(line.length).toBeLessThan(columns);
      for (const word of words) expect(lines.join("\n")).toContain(word);
    }
  },
);
