import { PortcullisError, thrownMessage } from "../../base/index.ts";
import { buildImage as build, checkImage, Daemon, IMAGE_NAME } from "../../sandboxes/docker/index.ts";
import type { CommandOptions, IMAGE as IMAGE_OPTIONS } from "../command-options.ts";
import { tellWork, writeStdout } from "../terminal/standard-streams.ts";

/** `portcullis image build`. Rejects with `sandbox_unavailable` if no Docker daemon answers, or the image cannot be built. */
export async function runImageBuild({ network, base }: CommandOptions<typeof IMAGE_OPTIONS>): Promise<void> {
  const daemon = new Daemon();
  try {
    await build(daemon, { image: IMAGE_NAME, network, base, onProgress: tellWork });
    await checkImage(daemon, IMAGE_NAME);
  } catch (error) {
    throw PortcullisError.is(error) ? daemon.unavailable(error) : notBuilt(daemon, error);
  }
  writeStdout(`The image ${IMAGE_NAME} is there, and fits this version of portcullis.\n`);
}

/** The Docker daemon's message names the step that failed. Exit code 42 is the Dockerfile's check of Python; without a network `apt-get` fails. */
function notBuilt(daemon: Daemon, cause: unknown): PortcullisError {
  const message = thrownMessage(cause);
  const why = message.trim().endsWith("code: 42")
    ? "its base has another version of Python than the one that its Dockerfile pins. Use Debian 12: portcullis image build --base debian:bookworm-slim"
    : /apt-get/.test(message)
      ? "Debian's packages could not be installed in it. If the Docker daemon gives builds no network: portcullis image build --network host"
      : /manifest|pull|registry|dial tcp/i.test(message)
        ? "its base is not on the Docker daemon and cannot be pulled. Name another one: portcullis image build --base …"
        : undefined;
  if (why === undefined) return daemon.unavailable(cause);
  return new PortcullisError("sandbox_unavailable", `The image cannot be built: ${why}`, { cause });
}
