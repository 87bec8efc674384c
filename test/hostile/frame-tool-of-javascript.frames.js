// Tries: to find a function under names that every object of the host has.
// Ends: completed "refused"
// Records: refused tool_unknown
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "vault", "vault.open.call", "VAULT.OPEN", "vault.open\u0000", " vault.open", "valueOf"];
let refused = 0;
const hears = (answer) => {
  if (answer.includes("tool_unknown")) refused += 1;
  return [turnEnd(names.length - refused)];
};
export default () => {
  refused = 0;
  return guestThatSays(
    [READY],
    [...names.map((name, index) => call(index + 1, name)), turnEnd(names.length)],
    ...names.slice(1).map(() => hears),
    (answer) => [settled(answer.includes("tool_unknown") && refused === names.length - 1 ? '"refused"' : '"answered"')],
  );
};
