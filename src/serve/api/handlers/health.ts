import { pause, PortcullisError } from "../../../base/index.ts";
import { diagnoseStore } from "../../../journal/stored-journal.ts";
import { readList } from "../../../journal/reading/read-records.ts";
import { fleetGauges } from "../../fleet-gauges.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { ApiParts } from "../parts.ts";

/** How long `/metrics` waits for a database before it tells the rest, in milliseconds. */
const FIGURES_MS = 5000;

/** The server takes programs, and its journal answers. A database that cannot be used is told at once, and not waited for. */
export async function ready({ runtime, isReady }: ApiParts): Promise<Response> {
  if (!isReady()) throw new RequestProblem("server_closing", "The server is closing, and takes no further programs.");
  const { journal } = runtime;
  const findings = await diagnoseStore(journal);
  const missing = findings.find(({ state }) => state === "missing");
  if (missing) throw new PortcullisError(missing.code ?? "journal_unavailable", missing.detail);
  // What was deleted or damaged shows here.
  for await (const _ of readList(journal)) break;
  const told = findings.map(({ what, state }) => ({ what, state }));
  return Response.json({ status: "ready", ...(told.length > 0 && { journal: told }) });
}

export async function metricsText({ metrics, runtime: { fleet } }: ApiParts): Promise<Response> {
  const figures = fleet && Promise.race([fleet.figures().catch(() => {}), pause(FIGURES_MS, { ref: false })]);
  const gauges = fleet && fleetGauges((await figures) ?? undefined);
  return new Response(metrics.text(gauges), {
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
  });
}
