import { count } from "../../../base/index.ts";
import { namedDatabase } from "../../../fleet/postgres/connection/address.ts";
import type { RecoveredConversation } from "../../../runtime/executions/index.ts";
import { CLOSE_RULES } from "../../../serve/server-options.ts";
import type { CommandOptions, WORKER } from "../../command-options.ts";
import { EXIT, UsageFailure, outlastErrors } from "../../failure.ts";
import { loadModel } from "../../input/load-module.ts";
import { fleetJournalOf } from "../../input/open-journal.ts";
import {
  type HttpSettings,
  listening,
  openHttpServer,
  readHttpSettings,
  tell,
  tellError,
  tellStray,
  untilStopped,
  openServed,
} from "./http-server.ts";

/** `portcullis worker`: drives executions of a fleet until it is stopped. Resolves with the exit code. */
export async function worker(options: CommandOptions<typeof WORKER>): Promise<number> {
  const { baseUrl, sandbox, drain = CLOSE_RULES.drainMs.default } = options;
  const { leaseMs, ...set } = options.set;
  const url = fleetJournalOf(options.journal, "A worker");
  const settings = metricsSettings(options);
  const models = await Promise.all(options.model.map((text) => loadModel(text, { baseUrl })));
  const model = ({ model: name }: RecoveredConversation) => models.find((one) => one.name === name);
  using _ = outlastErrors(tellStray);
  return await untilStopped(async (stack, cancelling) => {
    const runtime = await openServed(stack, options, () => ({
      sandbox,
      approve: () => "later",
      leaseMs,
    }));
    const started = await runtime.fleet!.work(runtime, { model, onError: tellError, ...set });
    if (settings) {
      // What drives nothing, and tells of this process and its fleet by the routes of any server.
      const routes = { routes: "operator", workers: "elsewhere" } as const;
      const { server, url } = stack.use(await openHttpServer(runtime, settings, 0, routes));
      tell(`tells of itself at ${url}/metrics and ${url}/readyz`);
      if (server.token !== undefined) tell(`they need the header Authorization: Bearer ${server.token}`);
    }
    tell(`works for the fleet of ${namedDatabase(url)}`);
    await cancelling.asked;
    tell(`accepts no more executions; calls that change something have ${drain / 1000} s to end.`);
    const left = await started.drain(drain);
    if (left > 0) tell(`${count(left)} ${left === 1 ? "execution goes" : "executions go"} on with other workers.`);
    return EXIT.completed;
  });
}

/** The server of a worker's metrics, if there is to be one. */
function metricsSettings(options: CommandOptions<typeof WORKER>): HttpSettings | undefined {
  const { metrics } = options;
  if (metrics !== undefined) return readHttpSettings({ ...options, log: undefined }, metrics);
  if (listening(options).some((one) => one !== undefined))
    throw new UsageFailure("worker: --host, --keys and --host-name go with --metrics: add --metrics PORT.");
  return undefined;
}
