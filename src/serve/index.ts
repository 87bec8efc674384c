export { createServer } from "./create-server.ts";
export type { Listening, PortcullisServer } from "./create-server.ts";
export type { AnsweredRequest, CloseOptions, ListenOptions, ServerOptions } from "./server-options.ts";
