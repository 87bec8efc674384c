import { test } from "vitest";
import { scriptedModel } from "portcullis/testing";
import { failure } from "../../src/models/provider/provider-failure.ts";
import { holdSentences } from "../support/sentences.ts";

const about = { provider: "Anthropic", keyVariable: "ANTHROPIC_API_KEY", key: "key", requests: { attempts: 1 } };
const scripted = (script: unknown, options?: object) => () => scriptedModel(script as never, options);

test("each failure of a provider has a code and one sentence, and so has a script that is refused", () =>
  holdSentences([
    ...(
      [
        "key_refused",
        "rate_limited",
        "overloaded",
        "request_refused",
        "server_failed",
        "timed_out",
        "unreachable",
        "interrupted",
        "reply_invalid",
      ] as const
    ).map((code) => failure(code, about, "")),
    failure("key_refused", { ...about, requests: { attempts: 3 } }, "no such key", 401),
    scripted([{ text: "a" }, { txt: "x" }]),
    scripted([{ text: 1 }]),
    scripted([null]),
    scripted([], { nam: "x" }),
  ]));
