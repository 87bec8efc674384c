import type { Journal } from "../../../journal/journal.ts";
import { given } from "../../../option-rules/given.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../runtime.ts";
import type { ServedOptions } from "../../command-options.ts";
import { optionalJournal } from "../../input/open-journal.ts";
import { openTools, tellUnassigned } from "../../input/open-tools.ts";
import { printFailures } from "../../terminal/executions/operator-log.ts";

/** Opens the tools, the journal and a runtime with both. All of them close with the stack. */
export async function openServed(
  stack: AsyncDisposableStack,
  options: ServedOptions,
  more: (journal: Journal | undefined) => Partial<RuntimeOptions>,
): Promise<Runtime> {
  const open = stack.use(await openTools(options));
  tellUnassigned(open, options);
  const journal = stack.use(optionalJournal(options.journal));
  const { limit: limits, policy } = options;
  const tools = () => open.tools;
  return stack.use(
    await createRuntime({ tools, limits, logger: printFailures, ...given({ journal, policy }), ...more(journal) }),
  );
}
