export type { AnsweredRequest } from "./answered-request.ts";
export { createServer } from "./create-server.ts";
export type { Listening, PortcullisServer } from "./create-server.ts";
export type { CloseOptions, ListenOptions, ServerOptions } from "./server-options.ts";
