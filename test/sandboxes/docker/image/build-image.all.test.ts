import { createHash } from "node:crypto";
import { once } from "node:events";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { buildImage, fetchOnce } from "../../../../src/sandboxes/docker/image/build-image.ts";
import { Daemon } from "../../../../src/sandboxes/docker/daemon.ts";
import { portcullis } from "../../../cli/command.ts";
import { needDockerEngine } from "../../../docker-support/docker-engine.ts";
import { newFolder } from "../../../support/new-folder.ts";

let folder = "";
const BYTES = Buffer.from("what is wanted");
const INTEGRITY = `sha512-${createHash("sha512").update(BYTES).digest("base64")}`;

beforeEach(() => {
  folder = newFolder(onTestFinished);
});

/** A server of downloads, and how often it was asked. */
async function downloads(bytes = BYTES): Promise<{ readonly url: string; readonly asked: () => number }> {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.end(bytes);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/node-24.1.2.tgz`, asked: () => asked };
}

describe("a download", () => {
  test("is fetched once, and kept for this user", async () => {
    const { url, asked } = await downloads();
    const cache = join(folder, "cache");
    for (let time = 0; time < 2; time += 1)
      expect(await fetchOnce({ url, integrity: INTEGRITY }, () => {}, cache)).toEqual(BYTES);
    expect(asked()).toBe(1);
    expect(readdirSync(cache)).toEqual(["node-24.1.2.tgz"]);
    expect(lstatSync(cache).mode & 0o777).toBe(0o700);
  });

  test("that another user has put in its place is not used, and no link of theirs is followed", async () => {
    const { url } = await downloads();
    const victim = join(folder, "victim");
    writeFileSync(victim, "mine");
    const cache = join(folder, "cache");
    mkdirSync(cache);
    for (const name of ["node-24.1.2.tgz", `node-24.1.2.tgz.${process.pid}`]) symlinkSync(victim, join(cache, name));
    expect(await fetchOnce({ url, integrity: INTEGRITY }, () => {}, cache)).toEqual(BYTES);
    expect(readFileSync(victim, "utf8")).toBe("mine");
    expect(lstatSync(join(cache, "node-24.1.2.tgz")).isFile()).toBe(true);
  });

  test("with another checksum is reported and not kept", async () => {
    const { url } = await downloads(Buffer.from("something else"));
    const fetching = fetchOnce({ url, integrity: INTEGRITY }, () => {}, join(folder, "cache"));
    await expect(fetching).rejects.toThrow(`${url} does not have the expected SHA-512`);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test.each(["", "-h", "a b", "a\nRUN evil", "Debian"])("%j is refused as a base", async (base) => {
  await expect(buildImage(new Daemon(), { image: "none", base, onProgress: () => {} })).rejects.toThrow(
    "base: expected the name of an image, like debian:bookworm-slim, got ",
  );
});

describe.skipIf(needDockerEngine() !== undefined)("an image", () => {
  test(
    "is not built upon a base with another version of Python, and the error says so",
    { timeout: 120_000 },
    async () => {
      const daemon = new Daemon();
      const name = "portcullis-test-other-python";
      writeFileSync(
        join(folder, "Dockerfile"),
        `FROM debian:bookworm-slim
RUN printf '#!/bin/sh\\necho "python3 | 3.13.5-1 | here"\\n' > /usr/local/bin/apt-cache && ln -s /bin/true /usr/local/bin/apt-get && chmod +x /usr/local/bin/apt-cache
`,
      );
      await daemon.ask(async (docker) => {
        const stream = await docker.buildImage(
          { context: folder, src: ["Dockerfile"] },
          { t: name, forcerm: true, networkmode: "none" },
        );
        await new Promise((resolve) => docker.modem.followProgress(stream, resolve));
      }, 60_000);
      const { code, stderr } = await portcullis(["image", "build", "--base", name]);
      await daemon.ask((docker) => docker.getImage(name).remove({ force: true }));
      expect(stderr).toContain("portcullis image build --base debian:bookworm-slim\n");
      expect(code).toBe(5);
    },
  );
});
