import { createRuntime, type Runtime, type RuntimeOptions } from "portcullis";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import type { Model } from "portcullis/models";
import { createServer, type PortcullisServer, type ServerOptions } from "portcullis/serve";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { makeTool } from "../../support/tools.ts";
import type { SharedFleet } from "../../fleet/use-fleets.ts";
import { type Answer, ask, type AskOptions, keyOf } from "../servers.ts";

/** A key that may use two tools, in programs alone. `boss` may use all. */
export const SMALL = {
  id: "small",
  key: keyOf("small"),
  tenant: "acme",
  scopes: ["run", "decide", "read", "converse"],
  tools: ["ask", "free"],
  allowedCallers: ["programmatic"],
};
export const BOSS = { id: "boss", key: keyOf("boss"), tenant: "acme", scopes: ["run", "decide", "read", "converse"] };
export const keys = (...all: readonly object[]) => ({ keys: all });

/** Asks for a decision, and then calls all that there is. */
export const PROGRAM = `await tools.ask({});
for (const name of ["free", "other"]) try { await tools[name]({}) } catch {}
return "end";`;

/** A conversation whose program waits for a decision; then the model calls a tool itself, and runs another program. */
export const talker = (): Model =>
  scriptedModel(
    [
      { programs: [PROGRAM] },
      { calls: [{ tool: "free", input: {} }] },
      { programs: [`try { return await tools.other({}) } catch { return "none" }`] },
      { text: "end" },
    ],
    { hostsPrograms: false, name: "scripted:m" },
  );

export interface Host {
  readonly runtime: Runtime;
  readonly errors: unknown[];
  readonly server: PortcullisServer;
  readonly ask: (method: string, path: string, options?: AskOptions) => Promise<Answer>;
  /** Asks with the key of this id. */
  readonly as: (id: string) => (method: string, path: string, body?: object) => Promise<Answer>;
}

/** A journal with all its hosts, and what their tools have run. */
export function world(of: { readonly fleets?: SharedFleet | undefined; readonly journal?: Journal } = {}) {
  const { fleets } = of;
  const journal = of.journal ?? fleets?.open() ?? createMemoryJournal();
  const stack = new AsyncDisposableStack();
  if (fleets) stack.use(fleets);
  const ran: string[] = [];
  const slow = { begun: Promise.withResolvers<void>(), ended: Promise.withResolvers<unknown>() };
  const tool = (name: string, more: object = {}) =>
    makeTool({
      name,
      allowedCallers: ["direct", "programmatic"],
      execute: (_: unknown, { caller }: { readonly caller: string }) => {
        ran.push(`${name} ${caller}`);
        return name;
      },
      ...more,
    });
  const tools = [
    tool("ask", { effect: "write", approval: "always" }),
    tool("free"),
    tool("other"),
    tool("slow", {
      execute: async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
        slow.begun.resolve();
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            slow.ended.resolve(signal.reason);
            reject(signal.reason as Error);
          });
        });
      },
    }),
  ];
  const open = async (more: Partial<RuntimeOptions> = {}): Promise<Runtime> =>
    stack.use(
      await createRuntime({
        tools,
        ...(fleets ? { fleet: fleets.join() } : { journal }),
        sandbox: createMemorySandbox(),
        approve: () => "later",
        logger: { error: () => {} },
        ...more,
      }),
    );
  return {
    ran,
    slow,
    journal,
    open,
    /** A server of its own runtime. */
    async serve(options: ServerOptions, more: Partial<RuntimeOptions> = {}): Promise<Host> {
      const runtime = await open(more);
      const errors: unknown[] = [];
      const server = await createServer(runtime, { ...options, onError: (error) => errors.push(error) });
      stack.defer(async () => void (await server.close({ drainMs: 0 })));
      return {
        runtime,
        errors,
        server,
        ask: (method, path, asked) => ask(server, method, path, asked),
        as: (id) => (method, path, body) => ask(server, method, path, { key: keyOf(id), body }),
      };
    },
    /** The id in the journal of the root execution. */
    async root(): Promise<string> {
      for await (const { execution } of journal.list({})) if (/^t-|^mcp-|^gateway-/.test(execution)) return execution;
      throw new Error("The journal has no execution.");
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export type World = ReturnType<typeof world>;

/** What an execution ended as; undefined while it is open. */
export async function endingOf(journal: Journal, id: string): Promise<unknown> {
  for await (const record of journal.read(id)) if (record.type === "outcome") return JSON.parse(record.outcome);
  return undefined;
}
