import { createMemoryJournal } from "../../journal/memory-journal.ts";
import type { Journal } from "../../journal/journal.ts";
import { createRuntime } from "../../runtime.ts";
import { createServer } from "../../serve/create-server.ts";
import { openPage } from "../terminal/open-page.ts";
import { writeStdout } from "../terminal/standard-streams.ts";

/** The page of a demo: it shows every execution of this journal. */
export interface DemoPage extends AsyncDisposable {
  readonly journal: Journal;
  /** Serves the page until the signal aborts, and says so. */
  readonly stay: (signal: AbortSignal) => Promise<void>;
}

/** Serves the page on this machine, on any port that is free, prints its address, and opens it where a person is at the terminal. */
export async function openDemoPage(): Promise<DemoPage> {
  const journal = createMemoryJournal();
  const stack = new AsyncDisposableStack();
  const runtime = stack.use(await createRuntime({ tools: [], journal }));
  const server = await createServer(runtime);
  stack.defer(async () => void (await server.close({ drainMs: 0 })));
  const { url } = await server.listen({ port: 0 });
  const address = `${url}/#token=${server.token ?? ""}`;
  writeStdout(`The page: ${address}\n`);
  if (process.stdout.isTTY) stack.use(openPage(address, "--page"));
  return {
    journal,
    stay: async (signal) => {
      writeStdout(`\nThe page stays until you press Ctrl-C: ${address}\n`);
      await aborted(signal);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
