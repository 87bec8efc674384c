import { addAbortListener, once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, cancel } from "../../../clock.ts";
import { EgressRefusal } from "./egress-refusal.ts";
import type { Target } from "./request-target.ts";

/** Connects to the first address that answers, within `connectMs` for all of them together. Looks up no names. */
export async function connectUpstream(
  { host, port }: Target,
  addresses: readonly string[],
  { connectMs, signal }: { readonly connectMs: number; readonly signal: AbortSignal },
): Promise<Socket> {
  let reason = "";
  for (const address of addresses) {
    try {
      return await connectTo(address, port, connectMs / addresses.length, signal);
    } catch (error) {
      reason = (error as { readonly code?: string }).code ?? (error as Error).message;
    }
    signal.throwIfAborted();
  }
  throw new EgressRefusal(504, "Host Not Reachable", `${host} cannot be reached at port ${port}: ${reason}.`, "failed");
}

async function connectTo(address: string, port: number, connectMs: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
  const giveUp = () => socket.destroy(new Error("no answer in time"));
  const timer = after(connectMs, giveUp);
  using _ = addAbortListener(signal, giveUp);
  try {
    await once(socket, "connect");
    return socket;
  } finally {
    cancel(timer);
    // A later error closes the socket, and its owner listens for that.
    socket.on("error", () => {});
  }
}
