import type { Limits } from "../../programs/limits.ts";
import type { Tool } from "../../tools/tool.ts";

type ProgramBounds = Pick<Limits, "runningMs" | "wallMs" | "calls" | "totalBytes" | "outputBytes">;

/** For the model, in one line: what a run of a program may take, and what happens beyond. `shares`: later programs can load what earlier ones keep. */
export function programBoundaries(limits: ProgramBounds, { shares }: { readonly shares: boolean }): string {
  const { runningMs, wallMs, calls, totalBytes, outputBytes } = limits;
  const time = `${seconds(runningMs)} of computing, ${seconds(wallMs)} in all`;
  const beyond = shares ? "; load gives all of it" : "";
  return `A run has ${time}, ${calls} calls with ${size(totalBytes)}; beyond, it fails. Of a value over ${size(outputBytes)} you get the beginning${beyond}.`;
}

/** The same for calls that the model makes directly. Empty if no tool can be called directly. */
export function callBoundaries({ calls, outputBytes }: ProgramBounds, tools: readonly Tool[]): string {
  const direct = tools.filter(({ allowedCallers }) => allowedCallers.includes("direct"));
  if (direct.length === 0) return "";
  const times = direct.flatMap(({ handler, timeoutMs }) => (handler === "client" ? [] : [timeoutMs]));
  const time = times.length === 0 ? "" : `, each up to ${seconds(Math.max(...times))}`;
  return `You have ${calls} calls${time}; beyond, they fail. Of a result over ${size(outputBytes)} you get the beginning.`;
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
