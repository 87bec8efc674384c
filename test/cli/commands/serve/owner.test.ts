import { createRuntime } from "portcullis";
import { createFleet } from "portcullis/fleet";
import { createMemoryJournal } from "portcullis/journal";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { MemoryQueue } from "../../../fleet/memory-queue.ts";
import { fixtures, portcullis, start } from "../../command.ts";

const SECRET = "a-secret-of-24-characters-or-more";

test("an owner needs its secret in the environment, and tools", async () => {
  const without = await portcullis(["owner", "--tools", `${fixtures}approval-tools.ts`]);
  expect(without.code).toBe(2);
  expect(without.stderr).toBe(
    "portcullis: owner: set PORTCULLIS_OWNER_KEY to the secret that it shares with the processes that submit. Make one with: openssl rand -base64 32\n",
  );
  const environment = { PORTCULLIS_OWNER_KEY: "short" };
  const short = await start(["owner", "--tools", `${fixtures}approval-tools.ts`], { environment }).finished();
  expect(short.code).not.toBe(0);
  expect(short.stderr).toContain("a secret of at least 24 characters");
  expect(short.stderr).not.toContain('"short"');
});

test("an owner serves its tools until it is told to end, and names its secret nowhere", async () => {
  const { child, finished } = start(["owner", "--tools", `${fixtures}approval-tools.ts`], {
    environment: { PORTCULLIS_OWNER_KEY: SECRET },
  });
  const ended = finished();
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await expect.poll(() => said, { timeout: 30_000 }).toMatch(/has the tools of http:/);
  const url = /--owner (\S+), and PORTCULLIS_WORKER_KEY/.exec(said)?.[1] ?? "";
  const environment = { PORTCULLIS_OWNER_KEY: SECRET };
  const printed = await start(["owner", "--worker-key"], { environment }).finished();
  expect(printed).toMatchObject({ code: 0, stderr: "" });
  const workerKey = printed.stdout.trim();
  expect(workerKey).toMatch(/^[\w-]{43}$/);
  const parts = { journal: createMemoryJournal(), queue: new MemoryQueue() };
  await using server = await createRuntime({ tools: [], sandbox: createMemorySandbox(), fleet: createFleet(parts) });
  await using worker = await createRuntime({
    tools: [],
    sandbox: createMemorySandbox(),
    fleet: createFleet(parts),
    owners: [{ url, workerKey }],
  });
  await using _ = await worker.work();
  const id = await server.submit("return typeof tools;", { owner: { url, key: SECRET } });
  expect((await server.wait(id)).report?.outcome).toEqual({ type: "completed", value: "object" });
  child.kill("SIGTERM");
  const { code, stderr } = await ended;
  expect(code).toBe(0);
  expect(stderr).not.toContain(SECRET);
});
