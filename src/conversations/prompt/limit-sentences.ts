import type { Limits } from "../../executions/limits.ts";
import type { Tool } from "../../tools/tool.ts";

type ProgramBounds = Pick<Limits, "cpuMs" | "wallMs" | "calls" | "totalBytes" | "outputBytes">;

/** For the model, in one line: the limits of calls of these tools and of runs of programs. `shares`: later programs can load what earlier ones keep, and all count their calls together. */
export function programBoundaries(
  { cpuMs, wallMs, calls, totalBytes, outputBytes }: ProgramBounds,
  { shares, tools }: { readonly shares: boolean; readonly tools: readonly Tool[] },
): string {
  const run = `Per run: ${seconds(cpuMs)} of computing, ${seconds(wallMs)} in all, ${size(totalBytes)} of inputs and results`;
  const all = shares ? `. Per conversation: ${calls} calls` : `, ${calls} calls`;
  const kept = shares ? ": all of it is kept as result-N, for load" : "";
  return `${run}${all}${perCall(tools)}. You see a part of a value over ${size(outputBytes)}${kept}.`;
}

/** The same where no programs run here: for calls that the model makes directly. Empty if no tool can be called directly. */
export function callBoundaries({ calls, outputBytes }: ProgramBounds, tools: readonly Tool[]): string {
  const direct = tools.filter(({ allowedCallers }) => allowedCallers.includes("direct"));
  if (direct.length === 0) return "";
  return `Per conversation: ${calls} calls${perCall(direct)}. You see a part of a result over ${size(outputBytes)}.`;
}

/** Empty if clients answer all calls, in their own time. */
function perCall(tools: readonly Tool[]): string {
  const times = tools.flatMap(({ execute: handler, timeoutMs }) => (handler === "client" ? [] : [timeoutMs]));
  return times.length === 0 ? "" : `, each up to ${seconds(Math.max(...times))}`;
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}

const UNITS = [
  ["MiB", 1024 * 1024],
  ["KiB", 1024],
] as const;

/** Rounded down, so that all of what a model is told is allowed. */
function size(bytes: number): string {
  const [name, unit] = UNITS.find(([, one]) => bytes >= one) ?? ["bytes", 1];
  return `${Math.floor((bytes / unit) * 10) / 10} ${name}`;
}
