/** Submits a program with an owner in another process, decides what waits, and prints what came of it. */
import { createRuntime } from "portcullis";
import { createFleet } from "portcullis/fleet";
import { createPostgresJournal } from "portcullis/journal";

const PROGRAM = `
const receipts = {};
for (const { id, cents } of await tools.billing.open_invoices({}))
  receipts[id] = await tools.billing.charge({ id, cents });
return receipts;`;

const [, , url = "http://127.0.0.1:8790"] = process.argv;
await using journal = createPostgresJournal({ url: process.env["PORTCULLIS_JOURNAL"] ?? "" });
await using fleet = createFleet({ journal });
await using runtime = await createRuntime({ tools: [], fleet });

// The secret of the owner is in PORTCULLIS_OWNER_KEY.
const id = await runtime.submit(PROGRAM, { owner: { url } });
for (;;) {
  const { report } = await runtime.wait(id);
  if (report?.outcome.type !== "waiting") {
    process.stdout.write(`${JSON.stringify(report?.outcome)}\n`);
    break;
  }
  for (const { callId, tool, input } of report.outcome.approvals) {
    process.stdout.write(`allowed: ${tool} ${JSON.stringify(input)}\n`);
    await runtime.decide(id, { [callId]: { allow: true, by: "ann" } });
  }
}
