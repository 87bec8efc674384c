import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { wholeNumber } from "../../options/options.ts";
import type { Limits } from "../../programs/limits.ts";
import { createRuntime } from "../../runtime.ts";
import { type Keys, tokenKeys } from "../../serve/http/keys.ts";
import { STDIO_ID } from "../../serve/principal.ts";
import { listen } from "../../serve/mcp/listen.ts";
import { loadServer } from "../../serve/mcp/load-server.ts";
import { McpDoor } from "../../serve/mcp/mcp-door.ts";
import { StdioTransport } from "../../serve/mcp/stdio-transport.ts";
import { DOORS_VARIABLE } from "../../sources/mcp/server-process.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, reasonOf } from "../failure.ts";
import { outlastErrors } from "../guarded.ts";
import { readDoorKeys, refuseOpen } from "../input/door-keys.ts";
import { journalPathOf, optionalJournal } from "../input/open-journal.ts";
import { openTools, tellUnassigned, type ToolsOptions } from "../input/open-tools.ts";
import { parseApprove } from "../input/parse-approve.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { parseWhole } from "../input/parse-whole.ts";
import { version } from "../package-json.ts";
import { createApprover } from "../terminal/ask-approvals.ts";
import { type Cancelling, cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { printFailures } from "../terminal/print-failures.ts";
import { createScreen } from "../terminal/screen.ts";
import { keepStdout, writeInTime } from "../terminal/standard-streams.ts";
import { decideCommand } from "../terminal/waiting-hints.ts";
import { checkDoor } from "./check-door.ts";

export interface McpOptions extends ToolsOptions {
  readonly http?: string;
  readonly host?: string;
  readonly keys?: string;
  readonly hostName: readonly string[];
  readonly sandbox: string;
  readonly limit: Partial<Limits>;
  readonly approve: string;
  readonly tenant?: string;
  readonly journal?: string;
  readonly patience?: string;
  readonly check?: boolean;
  readonly json?: boolean;
}

/** How long closing may take. What has not ended by then ends with the process, engines and servers too. */
const CLOSE_MS = 1400;
/** How long a door that is not open yet may still fail after its client has left: why it failed is worth more than that it ended. */
const FAIL_MS = 300;
const PORT = wholeNumber({ min: 0, max: 65_535 });
const PATIENCE = wholeNumber({ min: 1, max: 86_400 });
/** Doors above one door: one may serve the tools of another. */
const MOST_DOORS = 2;
const LOOPBACK = "127.0.0.1";

/** `portcullis mcp`: serves MCP clients until they leave, or until it is told to end. Resolves with the exit code. */
export async function mcp(options: McpOptions): Promise<number> {
  const { http, check = false } = options;
  refuseIdle(options);
  countDoors();
  const port = http === undefined ? undefined : parseWhole("--http", http, PORT);
  const keys = port === undefined || options.keys === undefined ? undefined : readDoorKeys(options.keys).keys;
  const patience = options.patience === undefined ? undefined : parseWhole("--patience", options.patience, PATIENCE);
  const patienceMs = patience === undefined ? {} : { patienceMs: patience * 1000 };
  const canWait = journalPathOf(options.journal) !== undefined;
  const mode = parseApprove(options.approve, canWait);
  const sandbox = parseSandbox(options.sandbox);
  if (check) return checkDoor(options);
  await loadServer();
  keepStdout();
  using cancelling = cancelOnSignal();
  const transport = port === undefined ? new StdioTransport({ input: process.stdin, write: writeInTime }) : undefined;
  const ended = Promise.race([signalled(cancelling), ...(transport ? [transport.ended] : [])]);

  const stack = new AsyncDisposableStack();
  const serve = async (): Promise<void> => {
    const open = stack.use(await openTools(options));
    tellUnassigned(open, options);
    const journal = stack.adopt(optionalJournal(options.journal), (one) => one?.[Symbol.dispose]());
    const approver = stack.use(createApprover({ mode, screen: createScreen(), canWait }));
    const runtime = stack.use(
      await createRuntime({
        tools: () => open.tools,
        sandbox,
        limits: options.limit,
        logger: printFailures,
        ...(journal ? { journal, approve: () => "later" as const } : {}),
        ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
      }),
    );
    const door = await McpDoor.open({
      runtime,
      version,
      ...patienceMs,
      ...(mode === "ask" ? {} : { approve: approver.approve }),
      ...(journal ? { decideCommand: (execution, call, tenant) => commandFor(options, execution, call, tenant) } : {}),
      onError: tell,
    });
    if (transport) {
      const principal = { id: STDIO_ID, tenant: tenantOf(options) };
      stack.use(serveStdio(door, principal, transport));
      return;
    }
    const listening = stack.use(
      await listen(door, {
        port: port ?? 0,
        host: options.host ?? LOOPBACK,
        keys: keys ?? createToken(tenantOf(options)),
        hostNames: options.hostName,
      }),
    );
    process.stderr.write(`portcullis: MCP at ${listening.url}\n`);
  };
  try {
    const serving = serve().then(() => stack.use(outlastErrors(tell)));
    await Promise.race([serving, ended.then(() => sleep(FAIL_MS))]);
    await ended;
    return cancelling.signal.aborted ? cancelling.exitCode : EXIT.completed;
  } finally {
    await Promise.race([stack.disposeAsync().catch(() => {}), sleep(CLOSE_MS)]);
  }
}

function tell(error: unknown): void {
  process.stderr.write(`portcullis: ${reasonOf(error)}\n`);
}

function serveStdio(
  door: McpDoor,
  principal: { readonly id: string; readonly tenant: string },
  transport: StdioTransport,
): AsyncDisposable {
  const onerror = (error: Error) => door.onError(error);
  const handle = door.mcp.serveStdio(() => door.serverFor(principal), { transport, onerror });
  return { [Symbol.asyncDispose]: () => handle.close() };
}

/** A door that starts itself, by an entry that is not seen to be its own, ends here. */
function countDoors(): void {
  const above = Number(process.env[DOORS_VARIABLE] ?? 0);
  if (above >= MOST_DOORS)
    throw new Failure(
      EXIT.usage,
      `This door was started by a door that was started by a door: a file of --mcp has an entry that starts the door itself. Set "disabled": true in that entry.`,
    );
  process.env[DOORS_VARIABLE] = String(above + 1);
}

/** Refuses options that would do nothing, and addresses that others could reach without a key. */
function refuseIdle({ http, host, keys, hostName, check, json }: McpOptions): void {
  const idle = Object.entries({ "--host": host, "--keys": keys, "--host-name": hostName[0] }).find(
    ([, value]) => value !== undefined,
  );
  if (http === undefined && idle) throw new Failure(EXIT.usage, `${idle[0]} goes with --http: add --http PORT.`);
  if (json && !check) throw new Failure(EXIT.usage, "--json goes with --check.");
  refuseOpen(host, keys);
}

/** A key for this run of the door. It is printed, and kept nowhere. */
function createToken(tenant: string): Keys {
  const token = randomBytes(24).toString("base64url");
  process.stderr.write(`portcullis: clients send the header Authorization: Bearer ${token}\n`);
  return tokenKeys(token, tenant);
}

function tenantOf({ tenant = "default" }: McpOptions): string {
  return tenant;
}

function commandFor({ journal }: McpOptions, execution: string, call: string, tenant: string): string {
  return decideCommand(execution, call, {
    ...(journal === undefined ? {} : { journal }),
    ...(tenant === "default" ? {} : { tenant }),
  });
}

function signalled({ signal }: Cancelling): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
