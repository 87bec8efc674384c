// Tries: to keep what is no plain JSON, and under names that the guest would refuse, by frames of its own.
// Ends: completed [9]
import { guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
const saves = [
  ["a", "[1,"],
  ["a", '{"__proto__":{"admin":true}}'],
  ["a", '[{"\\u005f_proto__":1}]'],
  ["a", "[1e999]"],
  ["a", "[".repeat(200) + "]".repeat(200)],
  ["a", "not json"],
  ["a", "[".repeat(1_000_000)],
  ["../../etc/cron.d/a", "1"],
  ["__proto__", "1"],
].map(([name, body], index) => `${JSON.stringify({ kind: "call", id: index + 1, tool: "save_artifact", name })}\n${body}`);
let refused = 0;
const answered = (last) => (event) => {
  refused += event.includes('"ok":false') && event.includes("input_invalid") ? 1 : 0;
  return last ? [settled(JSON.stringify([refused]))] : [turnEnd(saves.length - 1 - done++)];
};
let done = 0;
export default () => {
  refused = 0;
  done = 0;
  return guestThatSays(
    [READY],
    [...saves, turnEnd(saves.length)],
    ...saves.map((_, index) => answered(index === saves.length - 1)),
  );
};
