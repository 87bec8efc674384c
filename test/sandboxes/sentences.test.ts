import { onTestFinished, test, vi } from "vitest";
import { createRuntime } from "portcullis";
import { createDockerSandbox } from "portcullis/sandboxes";
import { imageLabels } from "../../src/sandboxes/docker/image/image.ts";
import { type Answers, fakeEngine } from "../docker-support/fake-engine.ts";
import { holdSentences } from "../support/sentences.ts";

const IMAGE = "GET /images/portcullis-sandbox/json";
const labelled = (labels: object) => ({ status: 200, body: { Config: { Labels: labels } } });
const FITTING: Answers = {
  [IMAGE]: labelled(imageLabels()),
  "GET /containers/json": { status: 200, body: [] },
  "GET /info": { status: 200, body: { Name: "elsewhere" } },
  "DELETE /containers/*": { status: 404, body: { message: "No such container" } },
};
const create = (message: string) => ({ ...FITTING, "POST /containers/create": { status: 500, body: { message } } });

async function run(callMs?: number): Promise<unknown> {
  await using sandbox = createDockerSandbox(callMs === undefined ? {} : { callMs });
  await using runtime = await createRuntime({ tools: [], sandbox });
  return await runtime.execute("return 1;");
}

const at = (address: string) => () => {
  vi.stubEnv("DOCKER_HOST", address);
  return run();
};
const answers = (engine: Answers, callMs?: number) => async () => {
  await fakeEngine(engine);
  return run(callMs);
};

test("each way in which programs cannot run in containers here has one sentence", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  await holdSentences([
    at("unix:///nowhere/docker.sock"),
    at("tcp://"),
    answers({}, 300),
    answers({ [IMAGE]: { status: 404, body: { message: "No such image: portcullis-sandbox" } } }),
    ...[{}, { "portcullis.contents": "0123456789abcdef" }].map((labels) => answers({ [IMAGE]: labelled(labels) })),
    answers(create("mkdir /var/lib/docker/overlay2/1: no space left on device")),
    answers(create("Unknown runtime specified runsc")),
    answers(create("it is broken\nin two lines.")),
    () => createDockerSandbox({ runtime: "kata" as "runc" }),
    () => createDockerSandbox({ egres: "none" } as object),
  ]);
});
