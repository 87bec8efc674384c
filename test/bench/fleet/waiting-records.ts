import { createRuntime, defineTool } from "portcullis";
import { createMemoryJournal, type JournalRecord } from "portcullis/journal";
import { z } from "zod";

/** The records of an execution that waits, as they are in a runtime's journal. */
export async function waitingRecords(): Promise<readonly JournalRecord[]> {
  const tools = Array.from({ length: 10 }, (_, n) =>
    defineTool({
      name: `crm.tool_${n}`,
      description: "Changes a customer",
      inputSchema: z.object({ id: z.string(), amount: z.number() }),
      allowedCallers: ["programmatic"],
      effect: "write",
      approval: "always",
      execute: () => "done",
    }),
  );
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools, journal, approve: () => "later" });
  const program = `
    const customers = ["ana", "ben", "cyd"];
    const refunds = [];
    for (const id of customers) refunds.push(await tools.crm.tool_1({ id, amount: 12.5 }));
    return { refunds, count: refunds.length };`;
  const { execution } = await runtime.execute(program);
  return await Array.fromAsync(journal.read(execution));
}
