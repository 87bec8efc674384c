/*
 * The server that is measured, in a process of its own, with the journal of `portcullis serve` in a file. Arguments: the
 * address of the upstream, and the path of the journal. Sends its address.
 */
import { createRuntime, createSqliteJournal, openaiChat } from "portcullis";
import { createServer } from "portcullis/serve";
import { TOKEN } from "./task.ts";

const [, , upstream = "", path = ""] = process.argv;
const journal = createSqliteJournal({ path });
const runtime = await createRuntime({ tools: [], journal });
const model = openaiChat({ model: "bench", baseUrl: `${upstream}/v1`, apiKey: "none", retries: 0 });
const keys = { keys: [{ id: "bench", key: TOKEN, tenant: "bench", scopes: ["converse"] }] };
const onError = (error: unknown) => process.stderr.write(`${String(error)}\n`);
const server = await createServer(runtime, { model, keys, onError });
process.send?.((await server.listen({ port: 0 })).url);
process.once("disconnect", () => process.exit());
