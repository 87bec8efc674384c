export { verifyWebhook, type WebhookVerification } from "./webhooks/signature.ts";
export type { WebhookBody } from "./webhooks/webhooks.ts";
export type { WebhookEvent, WebhookOptions } from "./webhooks/webhook-options.ts";
export { createServer, type Listening, type PortcullisServer } from "./create-server.ts";
export type { AnsweredRequest, CloseOptions, ListenOptions, ServerOptions } from "./server-options.ts";
