import { describe, expect, test } from "vitest";
import { sandboxContract } from "../sandboxes/contract.ts";
import { heardUntil, iterate, LIMITS, openGuest, startText } from "./guests.ts";
import { createForkedPythonSandbox, createPythonProcessSandbox, PYTHON } from "./python-process-sandbox.ts";

describe.skipIf(PYTHON.missing)("Python in a process", () => {
  sandboxContract(createForkedPythonSandbox, { ends: "what yields", language: "python" });

  test("an interpreter with random hashes starts itself again without them", async () => {
    await using sandbox = createPythonProcessSandbox("isolated");
    await using guest = await openGuest(sandbox, "test", LIMITS, "python");
    guest.send([startText("import sys\nreturn [hash('text') % 1000, sys.flags.hash_randomization, sys.argv]")]);
    expect((await heardUntil(iterate(guest), "settled")).at(-1)).toBe(
      '{"kind":"settled","ok":true,"notes":[]}\n[886,0,["program.py"]]',
    );
  });

  test("what is written to descriptors, and by children, is no frame", async () => {
    await using sandbox = createPythonProcessSandbox();
    await using guest = await openGuest(sandbox, "test", LIMITS, "python");
    const program =
      "import os\nfor fd in (1, 2):\n    os.write(fd, b'\\0\\0\\0\\1x')\nos.system('echo spoken by a child')\nif os.fork() == 0:\n    tools.ping()\n    await asyncio.sleep(0)\n    return 'from the child'\nos.wait()\nreturn 'from the parent'";
    guest.send([startText(program)]);
    expect(await heardUntil(iterate(guest), "settled")).toEqual([
      '{"kind":"ready","protocol":1,"language":"python"}',
      '{"kind":"unreplayable","cause":"processes"}',
      '{"kind":"settled","ok":true,"notes":[]}\n"from the parent"',
    ]);
  });

  test("a program that ends its own process has died", async () => {
    await using sandbox = createPythonProcessSandbox();
    const guest = await openGuest(sandbox, "test", LIMITS, "python");
    const frames = iterate(guest);
    guest.send([startText("import sys, os\nos._exit(3)")]);
    await heardUntil(frames, "ready");
    expect(await guest.exit).toEqual({ type: "died", detail: "the process ended with 3: " });
  });
});
