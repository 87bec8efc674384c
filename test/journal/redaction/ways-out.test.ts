import { hash } from "node:crypto";
import * as fc from "fast-check";
import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type AgentEvent, content, createSqliteJournal, PortcullisError } from "../../../src/index.ts";
import type { FailureEntry } from "../../../src/runtime/reports.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { makeTool } from "../../gate/open-session.ts";
import { serve } from "../../models/wire.ts";
import { WIRES } from "../../models/wires.ts";
import { finding, formsOf } from "./redact.ts";
import { newFile, runs, runtimeWith } from "../../support/index.ts";

const printed = vi.spyOn(console, "error").mockImplementation(() => {});
beforeEach(() => {
  printed.mockClear();
});

/** How a secret comes out of a tool. */
const WAYS = ["value", "name", "nested", "text", "long", "late", "parts", "failed", "thrown", "refused"] as const;
type Way = (typeof WAYS)[number];

/** A tool that gives the secret away, and one that takes anything. */
function toolsOf(secret: string) {
  const give = makeTool({
    name: "give",
    inputSchema: z.object({ way: z.enum(WAYS) }),
    allowedCallers: ["direct", "programmatic"],
    execute: ({ way }) => given(way, secret),
  });
  const take = makeTool({
    name: "take",
    inputSchema: z.object({ what: z.string() }),
    execute: ({ what }) => {
      throw new Error(`cannot take ${what}`);
    },
  });
  return [give, take];
}

function given(way: Way, secret: string): unknown {
  switch (way) {
    case "value":
      return secret;
    case "name":
      return { [secret]: 1, [`${secret}2`]: 2 };
    case "nested":
      return [{ deep: [{ text: `a ${secret} b` }] }];
    case "text":
      return JSON.stringify({ inner: secret });
    // What is shown of it ends in the midst of the secret.
    case "long":
      return ["-".repeat(1000), `${"-".repeat(20)}${secret}`.repeat(2000)];
    case "late":
      return { rows: Array.from({ length: 3000 }, () => ({ text: secret })) };
    case "parts":
      return content({
        value: { said: secret },
        display: { shown: secret },
        parts: [
          { type: "file", mediaType: "text/plain", data: Buffer.from(`in a file ${secret}`), name: "notes.txt" },
          { type: "link", url: `https://example.com/?q=${secret}`, name: secret },
        ],
      });
    case "failed":
      throw new PortcullisError("tool_failed", `No row for ${secret}.`);
    case "refused":
      return content({
        isError: true,
        value: { said: secret, [secret]: 1 },
        display: { shown: secret },
        source: `/files/${secret}.txt`,
        parts: [{ type: "file", mediaType: "text/plain", data: Buffer.from(`in a file ${secret}`), name: secret }],
      });
    case "thrown":
      throw new Error(`lost ${secret}`, { cause: new Error(secret) });
  }
}

const programOf = (way: Way) => `
  const given = await tools.give({ way: ${JSON.stringify(way)} }).catch((error) => error.value ?? error.message);
  const text = typeof given === "string" ? given : JSON.stringify(given);
  console.log(text.slice(0, 200));
  await tools.take({ what: text.slice(0, 300) }).catch(() => {});
  await save("kept", given).catch(() => {});
  await tools[text.slice(0, 50)]?.({}).catch?.(() => {});
  if (text.length % 2) throw new Error(text.slice(0, 100));
  return given;
`;

/** Words that a program and a test do not use themselves, also such as JSON escapes. */
const secretOf = fc
  .tuple(fc.constantFrom("Zq", 'é"Z', "Z\\n", "Z\n\t", "</Z>"), fc.stringMatching(/^[0-9A-F]{12}$/))
  .map(([head, tail]) => `${head}${tail}Y`);

/** Whether a secret is in a text, in a form that the rule covers. */
function leaks(text: string, secret: string): boolean {
  const inFile = Buffer.from(`in a file ${secret}`).toString("base64");
  return [...formsOf(secret), inFile].some((form) => text.includes(form));
}

/** Everything that can be seen of a runtime, as text. */
function watch() {
  const events: AgentEvent[] = [];
  const logged: unknown[] = [];
  const log = (entry: FailureEntry, message: string) => {
    const { err } = entry;
    const error = err instanceof Error ? [err.message, err.stack, err.cause instanceof Error && err.cause.stack] : err;
    logged.push(entry.tool, error, message);
  };
  const seen = () =>
    JSON.stringify([
      events.map((event) => ("error" in event && event.error instanceof Error ? [event, event.error.stack] : event)),
      logged,
      printed.mock.calls,
    ]);
  return { onEvent: (event: AgentEvent) => void events.push(event), logger: { error: log }, seen, events };
}

test("no digest of an input lets a short secret be found by trying all, in the journal, a report, an event or a log", async () => {
  const input = { pin: "493027" };
  const held = makeTool({ name: "held", approval: "always", inputSchema: z.object({ pin: z.string() }) });
  const late = makeTool({ name: "late", approval: "always", inputSchema: z.object({ pin: z.string() }) });
  const plain = makeTool({ name: "plain", inputSchema: z.object({ pin: z.string() }) });
  const { onEvent, logger, seen } = watch();
  const journal = createMemoryJournal();
  await using runtime = await runtimeWith([held, late, plain], {
    journal,
    redact: finding("493027", ["model", "log"]),
    approve: ({ tool }) => (tool === "late" ? "later" : true),
    onEvent,
    logger,
  });
  const program = ["plain", "held", "late"].map((name) => `await tools.${name}(${JSON.stringify(input)});`).join("");
  const report = await runtime.execute(program);
  expect(report.outcome).toMatchObject({ type: "waiting", approvals: [{ tool: "late" }] });
  const records = await Array.fromAsync(journal.read(report.execution));
  const digests = records.flatMap((record) => (record.type === "call" ? [record.inputDigest] : []));
  expect(digests).toHaveLength(4);
  expect(new Set(digests).size).toBe(1);
  const view = await runtime.execution(report.execution).status();
  const everything = JSON.stringify([report, records, view]) + seen();
  for (const text of [JSON.stringify(input), input.pin, JSON.stringify(input.pin)])
    for (const kind of ["sha256", "sha1", "sha512", "md5"])
      expect(everything).not.toContain(hash(kind, text).slice(0, 12));
});

test("a value is not kept under a name that must not leave", async () => {
  const journal = createMemoryJournal();
  await using runtime = await runtimeWith([], { journal, redact: finding("Zq12") });
  const report = await runtime.execute(`await save("kept-Zq12", 1).catch(() => {}); await save("kept", 2); return 1;`);
  expect(report.artifacts.map(({ name }) => name)).toEqual(["kept"]);
  const records = await Array.fromAsync(journal.read(report.execution));
  expect(JSON.stringify([report, records])).not.toContain("Zq12");
  const failed = await runtime.execute(`await save("kept-Zq12", 1);`);
  expect(failed.output.text).toContain("its name holds something that is taken out of texts");
  expect(failed.output.text).not.toContain("Zq12");
});

test("no text that a rule covers leaves a program by any way: report, journal's file, events, logger", async () => {
  await fc.assert(
    fc.asyncProperty(secretOf, fc.constantFrom(...WAYS), async (secret, way) => {
      const path = newFile();
      const journal = createSqliteJournal({ path });
      const { onEvent, logger, seen, events } = watch();
      const runtime = await runtimeWith(toolsOf(secret), { journal, redact: finding(secret), onEvent, logger });
      const report = await runtime.execute(programOf(way));
      const called = await runtime.call({ tool: "give", input: { way }, caller: "direct" });
      const artifacts = await Promise.all(report.artifacts.map(async (one) => [one, await one.read()]));
      await runtime[Symbol.asyncDispose]();
      const records = await Array.fromAsync(journal.read(report.execution));
      journal[Symbol.dispose]();
      expect(leaks(JSON.stringify([report, called, artifacts]), secret)).toBe(false);
      expect(leaks(report.output.text, secret)).toBe(false);
      expect(leaks(JSON.stringify(records), secret)).toBe(false);
      expect(leaks(readFileSync(path).toString("latin1"), Buffer.from(secret).toString("latin1"))).toBe(false);
      expect(leaks(seen(), secret)).toBe(false);
      expect(events.map(({ type }) => type)).toContain("execution_ended");
      // The program itself had it.
      if (way !== "thrown") expect(records.some((record) => "redacted" in record)).toBe(true);
    }),
    { numRuns: runs(60) },
  );
}, 120_000);

describe.each(WIRES)("%s", (_, wire) => {
  test("no text that a rule covers is in a request, a transcript, a report or an event of a conversation", async () => {
    await fc.assert(
      fc.asyncProperty(secretOf, fc.constantFrom(...WAYS), async (secret, way) => {
        await using served = await serve(wire, [
          { calls: [{ tool: "give", input: { way } }] },
          { calls: [{ program: programOf(way) }] },
          { text: "Done." },
        ]);
        const { onEvent, logger, seen } = watch();
        await using runtime = await runtimeWith(toolsOf(secret), { redact: finding(secret), logger });
        const report = await runtime.agent({ model: served.model(), task: "Do it.", onEvent });
        expect(report.ending).toMatchObject({ type: "answered" });
        const requests = served.asked.map(({ text }) => text).join("\n");

        expect(leaks(requests, secret)).toBe(false);
        expect(leaks(JSON.stringify(report), secret)).toBe(false);
        expect(leaks(seen(), secret)).toBe(false);
        const { results } = report.transcript.turns[0] ?? { results: [] };
        if (way !== "thrown") expect(results[0]?.provenance.filtered).toMatch(/^\d+ characters redacted$/);
      }),
      { numRuns: runs(10) },
    );
  }, 120_000);
});

test("what a schema makes of a redacted result is left out if it is no JSON, and the program has completed", async () => {
  const journal = createMemoryJournal();
  const { onEvent, events } = watch();
  const result = z.object({ text: z.string() }).transform(({ text }) => ({ text, count: 3n }));
  await using runtime = await runtimeWith([], { journal, redact: finding("hunter2", ["model"]), onEvent });
  const report = await runtime.execute('return { text: "hunter2" }', { id: "with-result", result });
  expect(report.outcome).toEqual({ type: "completed", value: { text: "[redacted 7 characters: test]" } });
  expect(report.value).toBeUndefined();
  expect(events.map(({ type }) => type)).toEqual(["execution_started", "execution_ended"]);
  expect(await runtime.execution("with-result").resume({ result })).toEqual(report);
});

test("what is printed is redacted before it is shortened, and what is kept of it is shown without", async () => {
  await using runtime = await runtimeWith([], { redact: finding("hunter2", ["model"]), limits: { outputBytes: 512 } });
  const program = `console.log("x".repeat(60) + "hunter2" + "y".repeat(2000) + "hunter2" + "z".repeat(60));`;
  const { logs, output, artifacts } = await runtime.execute(program, { id: "printed" });
  // A cut through the secret would leave a part of it that is not found.
  for (const text of [logs.text, output.text]) {
    expect(text).toMatch(/x+[^]*characters of this line left out[^]*z+\n?$/);
    expect(text).not.toMatch(/h(?:u|$)|r2/);
  }
  expect(logs.lines).toBe(1);
  expect(artifacts.map(({ name }) => name)).toEqual(["printed"]);
  const again = await runtime.execution("printed").resume();
  expect(again.logs).toEqual(logs);
});
