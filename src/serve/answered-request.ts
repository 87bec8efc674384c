/** The facts of an answered request, without contents of the request or its answer. */
export interface AnsweredRequest {
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  /** Its path as `/openapi.json` writes it, like `/v1/executions/{id}`; `(unknown)` for an unknown path. */
  readonly path: string;
  readonly status: number;
  /** Code of a refusal. */
  readonly code?: string;
  /** Time until the headers of the answer, in milliseconds. */
  readonly ms: number;
  /** Id of the key; missing if the key is unknown. */
  readonly key?: string;
  readonly tenant?: string;
  /** The execution of the request, by its client's id: up to 256 arbitrary characters. */
  readonly execution?: string;
}
