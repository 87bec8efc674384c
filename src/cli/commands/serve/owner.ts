import { createOwner, secretOf } from "../../../owners/owner.ts";
import { KEY_VARIABLE, WORKER_KEY_VARIABLE } from "../../../owners/owner-options.ts";
import { workerKeyOf } from "../../../owners/worker-key.ts";
import { given } from "../../../option-rules/given.ts";
import type { CommandOptions, OWNER } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure, reasonOf } from "../../failure.ts";
import { outlastErrors } from "../../guarded.ts";
import { openTools, tellUnassigned } from "../../input/open-tools.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { keepStdout, writeStdout } from "../../terminal/standard-streams.ts";
import { tell, tellStray } from "./http-server.ts";

/** `portcullis owner`: serves the handlers of tools to the workers of a fleet until it is told to end. Resolves with the exit code. */
export async function owner(options: CommandOptions<typeof OWNER>): Promise<number> {
  const { port, host, url } = options;
  // A secret among the arguments could be read by every user of the machine.
  const secret = process.env[KEY_VARIABLE];
  if (!secret)
    throw new Failure(
      EXIT.usage,
      `owner: set ${KEY_VARIABLE} to the secret that it shares with the processes that submit. Make one with: openssl rand -base64 32`,
    );
  if (options.workerKey) {
    writeStdout(`${workerKeyOf(secretOf("owner", secret))}\n`);
    return EXIT.completed;
  }
  keepStdout();
  using cancelling = cancelOnSignal();
  using _ = outlastErrors(tellStray);
  await using open = await openTools(options);
  tellUnassigned(open, options);
  const onError = (error: unknown) => tell(reasonOf(error));
  await using serving = await createOwner({ tools: open.tools, onError, ...given({ port, host, url }) });
  tell(
    `has the tools of ${serving.url}. Workers call it with: portcullis worker --owner ${serving.url}, and ${WORKER_KEY_VARIABLE} (portcullis owner --worker-key prints it)`,
  );
  await cancelling.asked;
  return EXIT.completed;
}
