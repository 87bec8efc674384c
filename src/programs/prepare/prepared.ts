import type { Fault } from "../outcome.ts";
import type { SourceMap } from "../source-map.ts";

/** A program in the form a guest runs, or the fault that prevents it. */
export type Prepared =
  | { readonly ok: true; readonly program: string; readonly map: SourceMap }
  | { readonly ok: false; readonly fault: Fault };
