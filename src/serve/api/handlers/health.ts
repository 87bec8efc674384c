import { now, pause, PortcullisError, ignore } from "../../../base/index.ts";
import { diagnoseStore } from "../../../journal/stored-journal.ts";
import { readList } from "../../../journal/reading/index.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { ApiParts } from "../parts.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import { type Gauge, gauge } from "../../../gate/telemetry/index.ts";

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
  const checks = findings.map(({ what, state }) => ({ what, state }));
  return Response.json({ status: "ready", journal: checks.length > 0 ? checks : undefined });
}

export async function metricsText({ metrics, runtime: { fleet } }: ApiParts): Promise<Response> {
  const figures = fleet && Promise.race([fleet.figures().catch(ignore), pause(FIGURES_MS, { ref: false })]);
  const gauges = fleet && fleetGauges((await figures) ?? undefined);
  return new Response(metrics.text(gauges), {
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
  });
}

type FleetFigures = Awaited<ReturnType<NonNullable<Runtime["fleet"]>["figures"]>>;

/** Tenants that have series of their own: those with the most that waits. */
const MOST_TENANTS = 200;
const OTHERS = { "otel.metric.overflow": true };

/** The figures of a fleet as `/metrics` tells them. They are missing, but for `up`, if the database does not tell them. */
export function fleetGauges(figures: FleetFigures | undefined): readonly Gauge[] {
  const of = (name: string, unit: string, description: string, read: Gauge["read"]) =>
    gauge(`portcullis.fleet.${name}`, unit, description, read);
  const up = of("up", "1", "Whether the figures of the fleet's database could be read.", () => [[figures ? 1 : 0]]);
  if (!figures) return [up];
  const { driven, lacking } = figures;
  const queued = byTenant(figures);
  return [
    up,
    of("queued", "{execution}", "Executions that wait for a worker, by tenant.", () =>
      queued.map(({ wakes, of }) => [wakes, of]),
    ),
    of("oldest_wait", "s", "Time that the first of them has waited for a worker, by tenant.", () =>
      queued.map(({ since, of }) => [Math.max(0, now() - since) / 1000, of]),
    ),
    of("driven", "{execution}", "Executions that drivers hold.", () => [[driven]]),
    of("misfits", "{execution}", "Executions that wait for a worker with what they need.", () =>
      (["tools", "sandbox", "protocol", "model"] as const).map((what) => [
        lacking.get(what) ?? 0,
        { "portcullis.needs": what },
      ]),
    ),
  ];
}

function byTenant({ queued }: FleetFigures) {
  const all = queued.toSorted((a, b) => b.wakes - a.wakes);
  const named = all
    .slice(0, MOST_TENANTS)
    .map(({ tenant, ...row }) => ({ ...row, of: { "portcullis.tenant": tenant } }));
  const others = all.slice(MOST_TENANTS);
  if (others.length === 0) return named;
  const wakes = others.reduce((sum, row) => sum + row.wakes, 0);
  return [...named, { wakes, since: Math.min(...others.map(({ since }) => since)), of: OTHERS }];
}
