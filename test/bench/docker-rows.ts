import { createRuntime, type Tool } from "portcullis";
import { createDockerSandbox, type Sandbox } from "portcullis/sandboxes";
import { Daemon } from "../../src/sandboxes/docker/daemon.ts";
import { containersOf } from "../docker-support/containers.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { teardown } from "../docker-support/stop-engine.ts";
import { medianOf } from "./measure.js";
import { CALLS, programs, pythonPrograms } from "./workloads.js";
import type { Row } from "./row.ts";

type Name = "start" | "awaited" | "atOnce" | "join";

const LANGUAGES = { javascript: "JavaScript", python: "Python" } as const;
type Language = keyof typeof LANGUAGES;

const SOURCES: Readonly<Record<Language, Readonly<Record<Name, () => string>>>> = {
  javascript: {
    start: programs.start,
    awaited: () => programs.awaited(named),
    atOnce: () => programs.atOnce(named),
    join: () => programs.join(named),
  },
  python: pythonPrograms,
};

function named(tool: string): string {
  return `tools.${tool}`;
}

/** What programs cost in containers: none of these rows where there can be no Docker engine. */
export async function dockerRows(tools: readonly Tool[], row: Row): Promise<void> {
  if (needDockerEngine() !== undefined) return;
  try {
    for (const language of Object.keys(LANGUAGES) as Language[]) {
      await using cold = createDockerSandbox();
      const startMs = await medianMs(tools, cold, language, "start", 11);
      row(`${LANGUAGES[language]} in a container: a start, none ready`, startMs, "ms", undefined, "");
      await using warm = createDockerSandbox({ warm: 1 });
      await warmRows(tools, warm, language, row);
    }
  } finally {
    await teardown();
  }
}

async function warmRows(tools: readonly Tool[], sandbox: Sandbox, language: Language, row: Row): Promise<void> {
  const named = (what: string) => `${LANGUAGES[language]} in a container: ${what}`;
  const median = (name: Name, count: number) =>
    medianMs(tools, sandbox, language, name, count, () => ready(sandbox, language));
  row(named("a start, one ready"), await median("start", 15), "ms", undefined, "≤ 15 ms");
  row(named("one of 1,000 awaited calls"), ((await median("awaited", 9)) * 1000) / CALLS, "µs", undefined, "≤ 150 µs");
  row(named("1,000 calls at once"), await median("atOnce", 9), "ms", undefined, "");
  row(named("join of two results of 10 MB"), await median("join", 5), "ms", undefined, "≤ 1,000 ms");
  await ready(sandbox, language);
  row(named("memory of one that waits, its shim not counted"), await waitingMb(), "MB", undefined, "");
}

async function medianMs(
  tools: readonly Tool[],
  sandbox: Sandbox,
  language: Language,
  name: Name,
  count: number,
  before?: () => Promise<void>,
): Promise<number> {
  await using runtime = await createRuntime({ tools, sandbox });
  const program = SOURCES[language][name]();
  const run = async () => {
    const { outcome } = await runtime.execute(program, { language });
    if (outcome.type !== "completed") throw new Error(`${language} ${name}: ${JSON.stringify(outcome)}`);
  };
  // The first program of a language is what containers are then kept ready for.
  await run();
  return await medianOf(run, { count, warmUp: 2, ...(before ? { before } : {}) });
}

/** The container before has been removed and the next one stands: neither is timed. */
async function ready(sandbox: Sandbox, language: Language): Promise<void> {
  // One for JavaScript is made ready with every runtime.
  const kinds = language === "javascript" ? 1 : 2;
  while (sandbox.load?.idle !== kinds || sandbox.load?.guests !== kinds)
    await new Promise((resolve) => setImmediate(resolve));
}

async function waitingMb(): Promise<number> {
  const [id = ""] = await containersOf();
  const stats = await new Daemon().ask((docker) => docker.getContainer(id).stats({ stream: false }));
  return stats.memory_stats.usage / 1e6;
}
