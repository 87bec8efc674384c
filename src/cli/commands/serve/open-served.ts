import type { Journal } from "../../../journal/journal.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../runtime/create-runtime.ts";
import type { ServedOptions } from "../../command-options.ts";
import { reasonOf } from "../../failure.ts";
import { type OpenJournal, optionalJournal } from "../../input/open-journal.ts";
import { openAnyTools, openTools, tellUnassigned } from "../../input/open-tools.ts";
import { writeStderr } from "../../terminal/standard-streams.ts";
import { printFailures } from "../../terminal/executions/operator-log.ts";

/**
 * Opens the tools, the journal and a runtime with both. All of them close with the stack. Where models are served, the
 * clients may bring all the tools.
 */
export async function openServed(
  stack: AsyncDisposableStack,
  options: ServedOptions & { readonly model?: readonly string[] },
  more: (journal: Journal | undefined) => Partial<RuntimeOptions>,
): Promise<Runtime> {
  const open = stack.use(await (options.model?.length ? openAnyTools : openTools)(options));
  tellUnassigned(open, options);
  const journal = stack.use(optionalJournal(options.journal));
  const { limit: limits, policy } = options;
  const tools = () => open.tools;
  const fleet = journal && (await fleetOf(stack, journal));
  const where = fleet ? { fleet } : { journal };
  return stack.use(await createRuntime({ tools, limits, logger: printFailures, ...where, policy, ...more(journal) }));
}

/** The fleet of a journal in PostgreSQL; undefined for a journal in a file, which other machines do not reach. */
async function fleetOf(stack: AsyncDisposableStack, journal: OpenJournal) {
  if (!("query" in journal)) return undefined;
  const { createFleet } = await import("../../../fleet/fleet.ts");
  const onError = (error: unknown) => writeStderr(`portcullis: the queue of the fleet: ${reasonOf(error)}\n`);
  return stack.use(createFleet({ journal, onError }));
}
