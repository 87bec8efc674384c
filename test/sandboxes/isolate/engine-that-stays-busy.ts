/*
 * An engine that was taken over: it serves a program as it should, and when it is to prepare for the next one it loops,
 * grows or sleeps instead, as its first argument says.
 */
import { Socket } from "node:net";
import { encodeFrames, FrameDecoder } from "../../../bridge/wire.ts";

const how = process.argv[2];
const pipe = new Socket({ fd: 3 });
const decoder = new FrameDecoder(1024 * 1024);
let prepared = 0;
pipe.on("data", (chunk: Buffer) => {
  for (const message of decoder.push(chunk)) {
    if (!message.startsWith("prepare ")) {
      pipe.write(encodeFrames(['{"kind":"settled","ok":true,"notes":[]}\n"settled"']));
    } else if ((prepared += 1) === 1) {
      pipe.write(encodeFrames(["prepared", '{"kind":"ready","protocol":1,"language":"javascript"}']));
    } else if (how === "loops") {
      for (;;);
    } else if (how === "grows") {
      const kept: Buffer[] = [];
      for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1));
    }
  }
});
pipe.on("end", () => process.exit());
pipe.on("error", () => process.exit());
