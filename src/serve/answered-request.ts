/** A request that was answered, without anything that it or its answer holds. */
export interface AnsweredRequest {
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  /** Its path as `/openapi.json` writes it, like `/v1/executions/{id}`; `(unknown)` for one that there is not. */
  readonly path: string;
  readonly status: number;
  /** Of a refusal. */
  readonly code?: string;
  /** Time until the head of the answer, in milliseconds. */
  readonly ms: number;
  /** Id of the key; missing where none was known. */
  readonly key?: string;
  readonly tenant?: string;
  /** The execution that it begins or is about, as its client names it: up to 256 characters, which may be any. */
  readonly execution?: string;
}
