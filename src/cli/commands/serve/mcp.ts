import { pause } from "../../../base/index.ts";
import { STDIO_ID } from "../../../serve/principal.ts";
import { loadServer } from "../../../serve/mcp/load-server.ts";
import { openMcpDoor } from "../../../serve/mcp/mcp-door.ts";
import { stdioTransport } from "../../../serve/mcp/stdio-transport.ts";
import { DOORS_VARIABLE } from "../../../sources/mcp/wire/server-process.ts";
import type { CommandOptions, MCP } from "../../command-options.ts";
import { EXIT, UsageFailure, outlastErrors } from "../../failure.ts";
import { journalPathOf } from "../../input/open-journal.ts";
import { refuseLater } from "../../input/option-values.ts";
import { version } from "../../package-json.ts";
import { createApprover, Screen } from "../../terminal/executions/ask-approvals.ts";
import { standardStreams, writeInTime } from "../../terminal/standard-streams.ts";
import {
  decideCommandOf,
  listening,
  openHttpServer,
  readHttpSettings,
  tell,
  tellError,
  tellStray,
  untilStopped,
  openServed,
} from "./http-server.ts";
import { CONCURRENT_EXECUTIONS } from "./serve.ts";

/** How long closing may take. What has not ended by then, engines and servers too, ends with the process. */
const CLOSE_MS = 1400;
/** How long a door that is not open yet may still fail after its client has left: the cause of a failure is worth waiting for. */
const FAIL_MS = 300;
/** Maximum number of doors above a door, which may serve the tools of another door. */
const MOST_DOORS = 2;

/** `portcullis mcp`: serves MCP clients until they leave, or until it is stopped. Resolves with the exit code. */
export async function mcp(options: CommandOptions<typeof MCP>): Promise<number> {
  const { http, sandbox, approve: mode, drain = 0 } = options;
  const { patienceMs, ...places } = options.set;
  if (
    http === undefined &&
    [...listening(options), options.drain, ...Object.values(places)].some((one) => one !== undefined)
  )
    throw new UsageFailure(
      "--host, --keys, --host-name, --log, --drain, and --set of concurrency, perTenant and queued, go with --http: add --http PORT.",
    );
  countDoors();
  const settings = http === undefined ? undefined : readHttpSettings(options, http);
  const journalPath = journalPathOf(options.journal);
  const canWait = journalPath !== undefined;
  refuseLater(mode, canWait);
  await loadServer();
  return untilStopped(
    async (stack, cancelling) => {
      const transport = settings ? undefined : stdioTransport({ input: standardStreams().stdin, write: writeInTime });
      const ended = Promise.race([cancelling.asked, ...(transport ? [transport.ended] : [])]);
      const serve = async (): Promise<void> => {
        const approver = stack.use(createApprover({ mode, screen: new Screen(), canWait }));
        const runtime = await openServed(stack, options, (journal) => ({
          sandbox,
          approve: journal && (() => "later"),
          executions: settings && { concurrency: CONCURRENT_EXECUTIONS, ...places },
          tenant: options.tenant,
        }));
        const more = { patienceMs, approve: mode === "ask" ? undefined : approver.approve };
        if (settings) {
          // The server with the routes of MCP alone.
          const { server, url } = stack.use(await openHttpServer(runtime, settings, drain, { ...more, routes: "mcp" }));
          if (server.token !== undefined) tell(`clients send the header Authorization: Bearer ${server.token}`);
          tell(`MCP at ${url}/mcp`);
          return;
        }
        const decideCommand = decideCommandOf(journalPath);
        await serveStreams(stack, transport!, { runtime, version, ...more, decideCommand, onError: tellError });
      };
      await Promise.race([serve(), ended.then(() => pause(FAIL_MS))]);
      await ended;
      // A server over HTTP ends by a signal and by nothing else; a client on the standard streams ends its input.
      return transport && cancelling.signal.aborted ? cancelling.exitCode : EXIT.completed;
    },
    CLOSE_MS + (settings ? drain : 0),
  );
}

async function serveStreams(
  stack: AsyncDisposableStack,
  transport: ReturnType<typeof stdioTransport>,
  options: Parameters<typeof openMcpDoor>[0],
): Promise<void> {
  const door = await openMcpDoor(options);
  const principal = { id: STDIO_ID, tenant: options.runtime.tenant };
  const onerror = (error: Error) => door.onError(error);
  const open = () => door.serverFor(principal, transport.answerTurn);
  const handle = door.mcp.serveStdio(open, { transport, onerror });
  stack.defer(() => handle.close());
  stack.use(outlastErrors(tellStray));
}

/** Refuses a door that starts itself, by an entry that is not seen to be the door's own. */
function countDoors(): void {
  const above = Number(process.env[DOORS_VARIABLE] ?? 0);
  if (above >= MOST_DOORS)
    throw new UsageFailure(
      `This server was started by a server that was started by a server: a file of --mcp has an entry that starts the server itself. Set "disabled": true in that entry.`,
    );
  process.env[DOORS_VARIABLE] = String(above + 1);
}
