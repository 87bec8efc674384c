import type { Fault } from "../outcome.ts";
import type { SourceMap } from "../source-map.ts";

/** A program as a guest takes it, or why it is none. */
export type Prepared =
  | { readonly ok: true; readonly program: string; readonly map: SourceMap }
  | { readonly ok: false; readonly fault: Fault };
