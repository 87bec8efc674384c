// @ts-check
/*
 * The thread on which programs are prepared. This file is plain JavaScript, so that one name is right before and after a build.
 *
 *   host:   a `Request`
 *   thread: an `Answer` for each request, in their order; "loading" and "ready" around what it loads
 */
import { parentPort } from "node:worker_threads";
import { prepareText } from "./prepare-text.ts";

parentPort?.on("message", (request) => {
  // A rejection ends the thread, and the host learns of it.
  void prepareText(request).then((answered) => parentPort?.postMessage(answered, []));
});
parentPort?.postMessage("ready", []);
// The first program finds the parser compiled: unless it comes at once, it does not wait for that.
void prepareText({
  source: "return (await tools.ping({ i: 1 })).i;",
  language: "javascript",
  tools: new Map([["ping", "promise"]]),
});
