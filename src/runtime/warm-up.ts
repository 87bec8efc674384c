/*
 * Code takes several times as long when it runs for the first time, because it is compiled then. While the first engine
 * starts, the host has nothing to do but wait. So it runs a program of this package meanwhile, with a guest in memory, and
 * the first program finds the code compiled that programs and calls go through.
 */
import { Gate } from "../gate/gate.ts";
import { createMemoryJournal } from "../journal/memory-journal.ts";
import { reportOf } from "../executions/output/report.ts";
import { execute } from "../executions/execute.ts";
import { DEFAULT_LIMITS } from "../executions/limits.ts";
import { InProcessGuest } from "../sandboxes/in-process-guest.ts";
import { defineTool } from "../tools/define-tool.ts";
import type { Position } from "../executions/guest/source-lines.ts";
import { jsonSchema } from "../tools/schema.ts";
import { ToolSet } from "../tools/tool-set.ts";

/**
 * Calls that the program makes at once, after the answers of those before them: first it awaits one after the other. Few
 * are enough for code to be compiled, and more take as much time as they save.
 */
const GROUPS = [1, 1, 4];
/** Ends the program if time is not what it seems: a host may have replaced its timers. */
const WALL_MS = 1000;

const SOURCE = "return 1;";
const READY = '{"kind":"ready","protocol":1,"language":"javascript"}';
const SETTLED = '{"kind":"settled","ok":true,"notes":[]}\n1';

let running: Promise<void> | undefined;
let isOver = false;

/**
 * Runs the program, once in a process. It is told to no journal, listener, log or telemetry of the host and runs no code of
 * the host's, and no option changes it. Never rejects.
 */
export function warmUp(): Promise<void> {
  running ??= isOver ? Promise.resolve() : run().catch(() => {});
  return running;
}

/** Ends the program with its current turn, and starts none later: the host's thread is needed, or no longer used. */
export function endWarmUp(): void {
  isOver = true;
}

async function run(): Promise<void> {
  const tool = defineTool({
    name: "ping",
    description: "Answers with its input.",
    input: jsonSchema<{ readonly i: number }>({ type: "object", properties: { i: { type: "number" } } }),
    allowedCallers: ["programmatic"],
    effect: "read",
    handler: ({ i }) => ({ i }),
  });
  const gate = new Gate(new ToolSet([tool], "warmUp"));
  const scope = {
    sandbox: {
      name: "warm-up",
      languages: ["javascript"],
      open: async () => new WarmUpGuest(),
      [Symbol.asyncDispose]: async () => {},
    },
    gate,
    journal: createMemoryJournal(),
    leaseMs: 30_000,
    language: "javascript",
    limits: { ...DEFAULT_LIMITS, wallMs: WALL_MS },
    tenant: "warm-up",
    signal: new AbortController().signal,
    onEvent: () => {},
  } as const;
  // The thread that reads programs starts just now, and warms itself.
  const read = async () => {
    const map = { source: SOURCE, toSource: (position: Position) => position };
    return { ok: true, program: SOURCE, map } as const;
  };
  reportOf(await execute(scope, SOURCE, { read }), gate.tools);
}

/** Makes calls in groups, and ends. All turns of events that it was sent together come back together, as from an engine. */
class WarmUpGuest extends InProcessGuest {
  readonly #groups = GROUPS.values();
  #made = 0;
  #open = 0;

  constructor() {
    super();
    this.#arrive(() => [READY]);
  }

  send(events: readonly string[]): void {
    this.#arrive(() => events.flatMap((event) => this.#turn(event)));
  }

  #arrive(frames: () => readonly string[]): void {
    setImmediate(() => this.frames.push(frames())).unref();
  }

  #turn(event: string): readonly string[] {
    if (!event.startsWith('{"kind":"start"')) this.#open -= 1;
    const calls: string[] = [];
    if (this.#open === 0) {
      const { value: group } = this.#groups.next();
      if (group === undefined || isOver) return [SETTLED];
      for (this.#open = group; calls.length < group; this.#made += 1)
        calls.push(`{"kind":"call","id":${this.#made + 1},"tool":"ping"}\n{"i":${this.#made}}`);
    }
    return [...calls, `{"kind":"turn_end","open":${this.#open}}`];
  }
}
