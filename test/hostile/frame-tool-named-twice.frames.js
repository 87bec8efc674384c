// Tries: to be checked for one tool and to be run for another, by a header that names two.
// Ends: completed "refused"
// Records: refused tool_unknown
// Runs: vault.open 0, read 0
import { guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
export default () =>
  guestThatSays(
    [READY],
    ['{"kind":"call","id":1,"tool":"read","tool":"vault.open"}\n{"id":1}', turnEnd(1)],
    (answer) => [settled(answer.includes("tool_unknown") ? '"refused"' : '"answered"')],
  );
