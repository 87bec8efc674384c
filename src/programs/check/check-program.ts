/*
 * Checks a program that a model wrote against the declarations of its tools, before its first call: fields that no result has
 * give a wrong answer in silence, and calls that the gate refuses come one at a time.
 */
import { monotonic } from "../../clock.ts";
import type { Tool } from "../../tools/tool.ts";
import type { SourceMap } from "../guest/source-map.ts";
import { compile, type Compiler, findCompiler } from "./compiler.ts";
import { declareTools } from "./declared-tools.ts";
import { type Finding, readFindings } from "./findings.ts";

export interface ProgramToCheck {
  /** The program as it runs, without types. */
  readonly program: string;
  readonly map: SourceMap;
  readonly tools: readonly Tool[];
  readonly signal: AbortSignal;
  /** Another compiler, for tests. */
  readonly compiler?: Compiler;
}

export interface Checked {
  readonly ms: number;
  /** In the order of the program, with positions in its source; undefined if the check was not made. */
  readonly findings: readonly Finding[] | undefined;
}

/** Never rejects: a check that cannot be made costs the program nothing. */
export async function checkProgram({
  program,
  map,
  tools,
  signal,
  compiler = findCompiler(),
}: ProgramToCheck): Promise<Checked> {
  const since = monotonic();
  const findings = await findIn(program, tools, compiler, signal).catch(() => undefined);
  return {
    ms: monotonic() - since,
    findings: findings?.map((finding) => ({ ...finding, position: map.toSource(finding.position) })),
  };
}

async function findIn(
  program: string,
  tools: readonly Tool[],
  { path }: Compiler,
  signal: AbortSignal,
): Promise<readonly Finding[] | undefined> {
  if (path === undefined) return undefined;
  const declarations = declareTools(tools, program);
  const printed = await compile(path, program, declarations.text, signal);
  return printed === undefined ? undefined : readFindings(printed, program, declarations);
}
