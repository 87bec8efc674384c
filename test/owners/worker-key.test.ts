import { Readable } from "node:stream";
import { assert, nat, property, record, string } from "fast-check";
import { expect, test } from "vitest";
import { exportLines, importLines } from "../../src/journal/index.ts";
import type { ProgramHeader } from "../../src/journal/record.ts";
import { openKey } from "../../src/owners/execution-key.ts";
import { CalledOwners } from "../../src/owners/owned-tools.ts";
import { openAsWorker, sealForWorkers, workerKeyOf } from "../../src/owners/worker-key.ts";
import { viewExecution } from "../../src/views/view-execution.ts";
import { Between } from "./between.ts";
import { OwnedFleet, openOwner, ownersTools, SECRET } from "./owned-fleet.ts";

const PROGRAM = "const { n } = await tools.crm.get({ n: 1 }); return n + await tools.ask({ n: 2 });";
const about = record({ url: string(), execution: string(), tenant: string() });

test("a sealed key is opened with the workers' key for its own use, and in no other way", () => {
  const workerKey = workerKeyOf(SECRET);
  assert(
    property(string(), about, about, nat(), (key, one, other, at) => {
      const sealed = sealForWorkers(workerKey, key, one);
      expect(openAsWorker(workerKey, sealed, one)).toBe(key);
      expect(openAsWorker(workerKeyOf(`${SECRET}x`), sealed, one)).toBeUndefined();
      if (JSON.stringify(one) !== JSON.stringify(other)) expect(openAsWorker(workerKey, sealed, other)).toBeUndefined();
      const bytes = Buffer.from(sealed, "base64url");
      bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ 1;
      expect(openAsWorker(workerKey, bytes.toString("base64url"), one)).toBeUndefined();
      expect(openAsWorker(workerKey, sealed.slice(0, at % sealed.length), one)).toBeUndefined();
    }),
  );
  // The owner's secret cannot be found from what workers have, and is not what they have.
  expect(workerKey).not.toContain(SECRET);
});

/** All texts in it that a bearer of HTTP could be. */
function tokensIn(value: unknown): readonly string[] {
  return JSON.stringify(value).match(/[\w.-]{20,}/g) ?? [];
}

test("who reads the journal, an export or a view finds no key that an owner takes; another journal's worker goes on with it", async () => {
  await using owner = await openOwner({ tools: ownersTools([]) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  await fleet.worker([owner.url]);
  const id = await server.submit(PROGRAM, { owner });
  expect((await server.wait(id)).listed).toMatchObject({ state: "waiting", waitsFor: ["ask"] });

  const lines = await Array.fromAsync(exportLines(fleet.journal, [id]));
  const seen = [...lines, await viewExecution(fleet.journal, id), await server.status(id)];
  const tokens = seen.flatMap(tokensIn);
  expect(tokens.length).toBeGreaterThan(0);
  for (const token of tokens) {
    expect(openKey(SECRET, token)).toBeUndefined();
    const answer = await fetch(`${owner.url}/v1/ready`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
  }
  const header = JSON.parse(lines[0] ?? "") as ProgramHeader;
  expect(header.owner).toEqual({ url: owner.url, sealedKey: expect.any(String) as string });
  const shown = JSON.stringify([await viewExecution(fleet.journal, id), await server.status(id)]);
  expect(shown).not.toContain(header.owner?.sealedKey);

  await using other = new OwnedFleet();
  await Array.fromAsync(importLines(other.journal, Readable.from(lines)));
  const second = await other.runtime();
  await other.worker([owner.url]);
  await second.answer(id, { 2: { value: 41 } });
  expect((await second.wait(id)).report?.outcome).toEqual({ type: "completed", value: 42 });
});

test.each([
  ["no key of the owner's workers", undefined, /this process has no key of its workers\. Set PORTCULLIS_WORKER_KEY to/],
  ["the key of another owner", workerKeyOf(`${SECRET}x`), /the key of the execution cannot be opened with the key/],
])("a worker with %s takes nothing up and says why; one with it goes on", async (_, workerKey, said) => {
  await using owner = await openOwner({ tools: ownersTools([]) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  const owners = [workerKey === undefined ? owner.url : { url: owner.url, workerKey }];
  const without = await fleet.workerOf({ owners });
  const id = await server.submit("return await tools.crm.get({ n: 1 });", { owner });
  await expect
    .poll(() => fleet.errors.map(({ message }) => message))
    .toContainEqual(expect.stringMatching(said) as string);
  expect((await server.status(id)).listed).toMatchObject({ driven: false, needs: { what: "owner" } });
  expect(without.driven).toBe(0);
  // An owner is what its workers may call, as it is.
  await fleet.workerOf({ owners: [owner] });
  expect((await server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 1 } });
});

test("a row that was changed sends the key to no other owner, and for no other execution or tenant", async () => {
  await using owner = await openOwner({ tools: ownersTools([]) });
  await using fleet = new OwnedFleet();
  const id = await (await fleet.runtime()).submit("return 1;", { owner, tenant: "acme" });
  const [record] = await Array.fromAsync(fleet.journal.read(id));
  const header = record as ProgramHeader;
  await using thief = await Between.open(owner.url);
  const owners = new CalledOwners([owner, { url: thief.url, workerKey: workerKeyOf(SECRET) }], 100);
  const signal = AbortSignal.timeout(20_000);
  await owners.check(header, signal);
  const { owner: { sealedKey } = { sealedKey: "" } } = header;
  const before = thief.seen.length;
  for (const changed of [
    { ...header, owner: { url: thief.url, sealedKey } },
    { ...header, execution: "another" },
    { ...header, tenant: "other" },
  ])
    await expect(owners.check(changed, signal)).rejects.toMatchObject({
      code: "owner_unavailable",
      message: expect.stringContaining("the key of the execution cannot be opened") as string,
    });
  expect(thief.seen.length).toBe(before);
});
