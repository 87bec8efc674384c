import { expect, test } from "vitest";
import { openServer, type OpenServer, KEYS } from "../../servers.ts";
import { openSession, send } from "./messages.ts";

/** A client that opens no stream of its own, and asks its user in the protocol's forms. */
async function openClient(door: OpenServer, version: string) {
  const session = await openSession(door, { key: "con", version, capabilities: { elicitation: {} } });
  return (message: object, signal?: AbortSignal) => send(door, message, { key: "con", session, version, signal });
}

const PAY = { name: "run_program", arguments: { code: "return await tools.bank.pay({ amount: 1 })" } };
const questionIn = (text: string) =>
  /"method":"elicitation\/create".*"id":(\d+)|"id":(\d+).*"elicitation\/create"/.exec(text);

/** Reads an answer to its end, and gives what came. Its question is told of once. */
async function readAnswer({ body }: Response, onAsked: (id: number) => Promise<unknown>): Promise<string> {
  let came = "";
  for await (const part of body ?? []) {
    const isNew = !questionIn(came);
    came += Buffer.from(part).toString();
    const asked = questionIn(came);
    if (isNew && asked) await onAsked(Number(asked[1] ?? asked[2]));
  }
  return came;
}

test.each(["2025-06-18", "2025-11-25"])(
  "the question of a call comes on its own stream, protocol %s",
  async (version) => {
    await using door = await openServer({ keys: KEYS });
    const post = await openClient(door, version);
    const answer = await post({ id: 2, method: "tools/call", params: PAY });
    const result = { action: "accept", content: { allow: true } };
    expect(await readAnswer(answer, (id) => post({ id, result }))).toContain('\\"paid\\":1');
  },
);

test.each([
  ["has left", async (_: unknown, leave: () => void) => leave()],
  [
    "cannot show it",
    async (post: (message: object) => Promise<Response>, _: unknown, id: number) =>
      post({ id, error: { code: -32601, message: "no forms" } }),
  ],
])("a question of a client that %s waits in the journal", async (_what, end) => {
  const decideCommand = () => "portcullis decide";
  await using door = await openServer({ keys: KEYS, decideCommand });
  const post = await openClient(door, "2025-06-18");
  const left = new AbortController();
  const answer = await post({ id: 2, method: "tools/call", params: PAY }, left.signal);
  const reading = readAnswer(answer, (id) => end(post, () => left.abort(), id)).catch(() => {});
  const waiting = async () => (await door.ask("GET", "/v1/executions?state=waiting")).text;
  await expect.poll(waiting).toContain('"waiting"');
  left.abort();
  await reading;
});
