import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRuntime, type ExecutionEvent, type Limits, type Report, type Runtime } from "../../src/index.ts";
import { createIsolateSandbox, type Sandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { type Attack, endsAsDeclared, guestOf, programOf } from "./attacks.ts";
import { NotedJournal } from "./noted-journal.ts";
import { forbiddenRuns, HOST_SECRET, HOSTILE_TOOLS, makeLargeResults } from "./tools.ts";

const MIB = 1024 * 1024;
/** What nothing is stopped by, on any machine. */
const FAR_MS = 60_000;
const HANGING_MS = 300;
const RUNNING_MS = 1000;
const ORDINARY = "const rows = await Promise.all([1, 2, 3].map((id) => tools.read({ id }))); return rows[2].name;";

/** Control characters but tab and line feed, and characters that turn or hide text. */
const UNSAFE_TEXT =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

const framesEngine = fileURLToPath(new URL("frames-engine.ts", import.meta.url));

/** Holds attacks to their endings and effects, whatever they cost, and to a next program that is right. */
export function hostileSuite(attacks: readonly Attack[]): void {
  const sandbox = createIsolateSandbox({ engines: 2 });
  const log = new HostileLog();
  let house: Runtime;

  beforeAll(async () => {
    makeLargeResults();
    house = await log.open(sandbox);
  });

  afterAll(async () => {
    await house[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });

  const of = (kind: Attack["kind"]) => titled(attacks.filter((attack) => attack.kind === kind));

  describe("a hostile program", () => {
    test.each(of("program"))("%s", async (_, attack) => {
      await log.hold(attack, house, await programOf(attack));
      await expectOrdinary(house);
    });
  });

  describe("a guest that forges frames", () => {
    test.each(of("frames"))("%s", async (_, attack) => {
      await using guest = createMemorySandbox({ guest: await guestOf(attack) });
      await using runtime = await log.open(guest);
      await log.hold(attack, runtime, "return 1;");
    });
  });

  describe("an engine that was taken over", () => {
    test.each(of("engine"))("%s", async (_, attack) => {
      await judgeEngine(log, attack, [attack.path]);
      await expectOrdinary(house);
    });
  });
}

/** The same for guests that forge frames on a real pipe: each takes an engine of its own. */
export function framesOnPipeSuite(attacks: readonly Attack[]): void {
  // Waiting for the longest limit is the same on a pipe.
  const forging = attacks.filter(({ kind, endings }) => kind === "frames" && !endings.includes("stopped wallMs"));
  test.each(titled(forging))("%s", async (_, attack) => {
    await judgeEngine(new HostileLog(), attack, [framesEngine, attack.path]);
  });
}

/** Runs an attack in an engine that is started as `node` with these arguments. */
async function judgeEngine(log: HostileLog, attack: Attack, prefix: readonly string[]): Promise<void> {
  const command = { command: process.execPath, prefix, mode: "watch" } as const;
  await using sandbox = createIsolateSandbox({ warm: 1, engines: 1, command });
  await using runtime = await log.open(sandbox);
  await log.hold(attack, runtime, "return 1;");
}

async function expectOrdinary(runtime: Runtime): Promise<void> {
  expect((await runtime.execute(ORDINARY)).outcome).toEqual({ type: "completed", value: "row 3" });
}

export function titled(attacks: readonly Attack[]): [string, Attack][] {
  return attacks.map((attack) => [
    `${attack.name} tries ${attack.tries.replace(/\.$/, "")}, and ends ${attack.endings.join(" or ")}`,
    attack,
  ]);
}

/** A limit that an attack need not run into is far: whether it does must not depend on the machine. */
export function limitsOf({ endings }: Attack): Partial<Limits> {
  const ends = (limit: string) => endings.includes(`stopped ${limit}`);
  return {
    memoryBytes: 64 * MIB,
    cpuMs: ends("cpuMs") ? RUNNING_MS : FAR_MS,
    wallMs: endings.join() === "stopped wallMs" ? HANGING_MS : ends("wallMs") ? 5 * RUNNING_MS : FAR_MS,
  };
}

/** What observers and the journal are told of the execution that runs. */
export class HostileLog {
  readonly #events: ExecutionEvent[] = [];
  readonly #journal = new NotedJournal();

  open(sandbox: Sandbox): Promise<Runtime> {
    const onEvent = (event: ExecutionEvent) => void this.#events.push(event);
    return createRuntime({ tools: HOSTILE_TOOLS, sandbox, journal: this.#journal, onEvent, logger: { error() {} } });
  }

  /** Runs an attack, and expects of its ending what it declares and what holds of all. */
  async hold(attack: Attack, runtime: Runtime, program: string): Promise<Report> {
    this.#events.length = 0;
    this.#journal.kinds.length = 0;
    const limits = limitsOf(attack);
    const report = await runtime.execute(program, { limits });
    this.#expectDeclared(attack, report, limits);
    expectNothingOfHost(report);
    this.#expectOneEnding(report);
    for (const kind of attack.records) expect(this.#journal.kinds).toContain(kind);
    return report;
  }

  #expectDeclared(attack: Attack, { outcome, usage }: Report, { cpuMs = 0 }: Partial<Limits>): void {
    expect(endsAsDeclared(attack, outcome), `ended otherwise: ${JSON.stringify(outcome).slice(0, 500)}`).toBe(true);
    if (outcome.type === "stopped") {
      expect(outcome.seen).toBeGreaterThanOrEqual(outcome.allowed);
      if (outcome.limit === "cpuMs") expect(usage.cpuMs).toBeGreaterThanOrEqual(cpuMs);
    }
    expect(forbiddenRuns).toEqual([]);
    for (const [tool, runs] of attack.runs) expect({ [tool]: this.#started(tool) }).toEqual({ [tool]: runs });
  }

  #started(tool: string): number {
    return this.#events.filter((event) => event.type === "call_started" && event.tool === tool).length;
  }

  /** A program that cannot be read is refused before there is an execution to record. */
  #expectOneEnding({ usage, outcome }: Report): void {
    const ends = this.#events.filter(({ type }) => type === "execution_ended").length;
    if (ends === 0) expect({ type: outcome.type, turns: usage.turns }).toEqual({ type: "failed", turns: 0 });
    expect(ends).toBeLessThanOrEqual(1);
    const { kinds } = this.#journal;
    const outcomes = kinds.flatMap((kind, index) => (kind === "outcome" ? [index] : []));
    expect(outcomes).toEqual(ends === 0 ? [] : [kinds.length - 1]);
  }
}

/** How an engine died is for the operator, and may hold what the engine said. */
function expectNothingOfHost({ output, outcome, logs, notes, remarks, calls }: Report): void {
  const ending = outcome.type === "crashed" ? outcome.code : outcome;
  const text = JSON.stringify({ output, outcome: ending, logs, notes, remarks, calls });
  for (const secret of [HOST_SECRET, process.cwd(), process.env.PATH ?? HOST_SECRET, "node:internal"])
    expect(text).not.toContain(secret);
  expect(output.text).not.toMatch(UNSAFE_TEXT);
}
