import { createIsolateSandbox } from "../../../src/sandboxes/isolate/isolate-sandbox.ts";
import { sandboxContract } from "../contract.ts";

sandboxContract(createIsolateSandbox, { ends: "anything" });
