/*
 * Checks a program that a model wrote against the declarations of its tools, before its first call: fields that no result has
 * give a wrong answer in silence, and calls that the gate refuses come one at a time.
 */
import { deadline, monotonic, untilAborted } from "../../base/index.ts";
import type { Tool } from "../../tools/tool.ts";
import { faultAt, type SourceMap } from "../guest/source-map.ts";
import type { ExecutionEvent } from "../event.ts";
import type { Fault } from "../outcome.ts";
import type { ProgramCheckMode } from "../scope.ts";
import { compile, type Compiler, findCompiler } from "./compiler.ts";
import { declareForCheck } from "./declared-tools.ts";
import { type ProgramFinding, readFindings } from "./findings.ts";

/** Time for one check, in milliseconds. */
const CHECK_MS = 2000;

export interface ProgramToCheck {
  /** The program as it runs, without types. */
  readonly program: string;
  readonly map: SourceMap;
  readonly tools: readonly Tool[];
  readonly tenant: string;
  readonly signal: AbortSignal;
  /** Another compiler, for tests. */
  readonly compiler?: Compiler;
}

interface CheckResult {
  readonly ms: number;
  /** In the order of the program, with positions in its source; undefined if the check was not made. */
  readonly findings: readonly ProgramFinding[] | undefined;
}

/** Never rejects: a check that cannot be made costs the program nothing. */
export async function checkProgram({
  program,
  map,
  tools,
  tenant,
  signal,
  compiler = findCompiler(),
}: ProgramToCheck): Promise<CheckResult> {
  const since = monotonic();
  const ending = AbortSignal.any([signal, deadline(CHECK_MS)]);
  // Schemas of tools are asked, which may never answer.
  const finding = untilAborted(findIn(program, tools, compiler, { tenant, signal: ending }), ending);
  const findings = await finding.catch(() => undefined);
  return {
    ms: monotonic() - since,
    findings: findings?.map((finding) => ({ ...finding, position: map.toSource(finding.position) })),
  };
}

async function findIn(
  program: string,
  tools: readonly Tool[],
  { path }: Compiler,
  turn: { readonly tenant: string; readonly signal: AbortSignal },
): Promise<readonly ProgramFinding[] | undefined> {
  if (path === undefined) return undefined;
  const declarations = await declareForCheck(tools, program);
  const checked = plainProgram(program);
  const printed = await compile(path, checked, declarations.text, turn);
  return printed === undefined ? undefined : readFindings(printed, checked, declarations, turn.signal);
}

/** The program with each position as it was. The compiler looks for no field that is read as `t["id"]`, and heeds comments. */
function plainProgram(program: string): string {
  return program
    .replaceAll("@ts-", "@ts_")
    .replaceAll(QUOTED_FIELD, (whole, mark: string | undefined, _, field: string) =>
      `${mark ?? "."}${field}`.padEnd(whole.length),
    );
}

const QUOTED_FIELD =
  /(?<=[\w$)\]])(?<!\b(?:await|case|else|in|of|return|typeof|yield))(\?\.)?\[(["'])([A-Za-z_$][\w$]{0,63})\2\]/g;

/** Findings that are told, and characters of one result in which fields are looked for. */
const [FINDINGS_TOLD, LOOKED_AT] = [10, 256 * 1024];
const REFUSED =
  "No tool was called, because calls of this program would be refused. Correct all of this, and send the program again:";

interface Judged extends Pick<
  Extract<ExecutionEvent, { readonly type: "program_checked" }>,
  "verdict" | "findings" | "ms"
> {
  readonly fault?: Fault;
}

/** The check of a program that is about to run. Its first call waits for it. */
export function programCheck(mode: ProgramCheckMode, checked: ProgramToCheck) {
  const { source } = checked.map;
  const ending = new AbortController();
  const signal = AbortSignal.any([checked.signal, ending.signal]);
  const checking = checkProgram({ ...checked, signal });
  let warnings: readonly ProgramFinding[] = [];
  const self = {
    isJudged: false,

    /** Asked once, before the program's first call. */
    async judge(): Promise<Judged> {
      self.isJudged = true;
      const { findings, ms } = await checking;
      if (!findings) return { verdict: "not_made", findings: 0, ms };
      const summary = { findings: findings.length, ms };
      const first = mode === "refuse" ? findings.find(({ about }) => about === "call") : undefined;
      if (first) {
        const message = `${REFUSED}\n${toldOf(findings).join("\n")}`;
        const fault = { name: "ProgramError", code: "calls_invalid", message };
        return { verdict: "refused", ...summary, fault: faultAt(source, fault, first.position) };
      }
      warnings = findings;
      return { verdict: findings.length > 0 ? "warned" : "right", ...summary };
    },

    /** A field that a result has, although its schema does not name it, is no fault of the program. */
    saw(result: string): void {
      const isThere = ({ maybe }: ProgramFinding) =>
        maybe !== undefined && (result.length > LOOKED_AT || result.includes(`${JSON.stringify(maybe)}:`));
      if (warnings.length > 0) warnings = warnings.filter((finding) => !isThere(finding));
    },

    get notes(): readonly string[] {
      return toldOf(warnings);
    },

    end(): void {
      ending.abort();
    },
  };
  return self;
}

export type ProgramCheck = ReturnType<typeof programCheck>;

function toldOf(findings: readonly ProgramFinding[]): readonly string[] {
  const lines = findings.slice(0, FINDINGS_TOLD).map(({ position, text }) => `Line ${position.line}: ${text}`);
  return findings.length > lines.length ? [...lines, `There are ${findings.length - lines.length} more.`] : lines;
}
