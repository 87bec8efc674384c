import { setTimeout as sleep } from "node:timers/promises";
import { namedDatabase } from "../../../journal/postgres/connection/address.ts";
import type { RecoveredConversation } from "../../../executions/recover-options.ts";
import { WORKER_KEY_VARIABLE } from "../../../owners/owner-options.ts";
import { given } from "../../../option-rules/given.ts";
import { count } from "../../../output/count-text.ts";
import { CLOSE_RULES } from "../../../serve/server-options.ts";
import type { CommandOptions, WORKER } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure, reasonOf } from "../../failure.ts";
import { outlastErrors } from "../../guarded.ts";
import { loadModel } from "../../input/load-model.ts";
import { fleetJournalOf } from "../../input/open-journal.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { keepStdout } from "../../terminal/standard-streams.ts";
import { tell, tellStray } from "./http-server.ts";
import { openServed } from "./open-served.ts";

/** Time to close tools and journal at the end, in milliseconds. */
const CLOSE_MS = 2000;

/** `portcullis worker`: drives executions of a fleet until it is told to end. Resolves with the exit code. */
export async function worker(options: CommandOptions<typeof WORKER>): Promise<number> {
  const {
    baseUrl,
    sandbox,
    concurrency,
    perTenant,
    leaseMs,
    reconcileMs,
    drain = CLOSE_RULES.drainMs.default,
  } = options;
  const { owner: owners } = options;
  const url = fleetJournalOf(options.journal, "A worker");
  if (owners.length > 0 && !process.env[WORKER_KEY_VARIABLE])
    throw new Failure(
      EXIT.usage,
      `worker --owner: set ${WORKER_KEY_VARIABLE} to the key of the owner's workers, as portcullis owner --worker-key prints it where the owner's secret is.`,
    );
  const models = await Promise.all(options.model.map((text) => loadModel(text, given({ baseUrl }))));
  const model = ({ model: name }: RecoveredConversation) => models.find((one) => one.name === name);
  keepStdout();
  using cancelling = cancelOnSignal();
  using _ = outlastErrors(tellStray);
  const stack = new AsyncDisposableStack();
  try {
    const runtime = await openServed(stack, { ...options, needsTools: owners.length === 0 }, () => ({
      sandbox,
      owners,
      approve: () => "later",
      ...given({ leaseMs }),
    }));
    const onError = (error: unknown) => tell(reasonOf(error));
    const started = await runtime.work({ model, onError, ...given({ concurrency, perTenant, reconcileMs }) });
    tell(`works for the fleet of ${namedDatabase(url)}`);
    await cancelling.asked;
    tell(`takes up nothing more; calls that change something have ${drain / 1000} s to end.`);
    const left = await started.drain(drain);
    if (left > 0) tell(`${count(left)} ${left === 1 ? "execution goes" : "executions go"} on with other workers.`);
    return EXIT.completed;
  } finally {
    await Promise.race([stack.disposeAsync().catch(() => {}), sleep(CLOSE_MS)]);
  }
}
