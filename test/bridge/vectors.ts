import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { frameText, type GuestLimits, type Language, PROTOCOL_VERSION } from "../../bridge/frames.ts";
import { guestLink } from "../../src/executions/guest/guest-link.ts";
import { eventOf } from "../../src/executions/guest/replay-turns.ts";
import { DEFAULT_LIMITS } from "../../src/executions/limits.ts";
import type { Guest, Sandbox } from "../../src/sandboxes/sandbox.ts";

const folderOf = (language: Language) => fileURLToPath(new URL(`../../bridge/vectors/${language}/`, import.meta.url));

interface Head {
  readonly about: string;
  readonly program: string;
}

type Line =
  | {
      readonly start: {
        readonly now: number;
        readonly seed: string;
        readonly limits: GuestLimits;
        readonly tools: readonly string[];
        readonly positional?: Readonly<Record<string, string>>;
        readonly streams?: readonly string[];
      };
    }
  | { readonly host: object; readonly body?: string }
  | { readonly guest: string };

/** Every transcript of a language, on one sandbox: the guest must answer the host's lines with the guest's lines, byte for byte. */
export function vectorSuite(title: string, make: () => Sandbox, language: Language, isMissing = false): void {
  describe.skipIf(isMissing)(`golden transcripts on ${title}`, () => {
    const sandbox = make();
    afterAll(() => sandbox[Symbol.asyncDispose]());
    testVectors(sandbox, language);
  });
}

function testVectors(sandbox: Sandbox, language: Language): void {
  const folder = folderOf(language);
  for (const file of readdirSync(folder)) {
    const [head, ...lines] = readFileSync(folder + file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown) as [Head, ...Line[]];
    test(`${file}: ${head.about.toLowerCase()}`, async () => {
      const host = lines.flatMap((line) => hostText(line, head.program));
      const spoken = await speak(sandbox, language, host);
      if (process.env.UPDATE_VECTORS === "1") write(folder + file, head, lines, spoken);
      else expect(spoken.flat()).toEqual(lines.flatMap((line) => ("guest" in line ? [line.guest] : [])));
    });
  }
}

function hostText(line: Line, program: string): string[] {
  if ("start" in line) {
    const { tools, positional, streams, ...header } = line.start;
    const body = JSON.stringify({ program, tools, positional, streams });
    return [frameText({ kind: "start", protocol: PROTOCOL_VERSION, ...header, body })];
  }
  return "host" in line
    ? [line.body === undefined ? JSON.stringify(line.host) : `${JSON.stringify(line.host)}\n${line.body}`]
    : [];
}

/** What the guest says before the first event, and to each. */
async function speak(sandbox: Sandbox, language: Language, events: readonly string[]): Promise<string[][]> {
  const limits = { memoryBytes: 128 * 1024 * 1024, frameBytes: 4 * 1024 * 1024 };
  const guest = await sandbox.open({ language, limits, tenant: "vectors" }, AbortSignal.timeout(60_000));
  const heard: string[] = [];
  await using link = guestLink(listening(guest, heard), {
    language,
    limits: DEFAULT_LIMITS,
    tenant: "vectors",
  });
  const turns: string[][] = [];
  let counted = 0;
  const take = () => {
    turns.push(heard.slice(counted));
    counted = heard.length;
  };
  for (const event of events) {
    link.send([eventOf(event)]);
    const ended = await link.nextTurns();
    if (!Array.isArray(ended)) throw new Error(`the guest ended: ${JSON.stringify(ended)}`);
    take();
  }
  return turns;
}

/** A guest whose frames are also written down. */
function listening(guest: Guest, heard: string[]): Guest {
  return {
    ...guest,
    exit: guest.exit,
    send: (frames) => guest.send(frames),
    usage: () => guest.usage(),
    kill: (reason) => guest.kill(reason),
    release: () => guest.release(),
    [Symbol.asyncDispose]: () => guest[Symbol.asyncDispose](),
    frames: {
      async *[Symbol.asyncIterator]() {
        for await (const frames of guest.frames) {
          heard.push(...frames);
          yield frames;
        }
      },
    },
  };
}

function write(path: string, head: Head, lines: readonly Line[], spoken: readonly string[][]): void {
  const hostLines = lines.filter((line) => !("guest" in line));
  const all = hostLines.flatMap((line, index) => [line, ...(spoken[index] ?? []).map((guest) => ({ guest }))]);
  writeFileSync(path, `${[head, ...all].map((line) => JSON.stringify(line)).join("\n")}\n`);
}
