export { Daemon } from "./daemon.ts";
export { createDockerSandbox } from "./docker-sandbox.ts";
export { buildImage } from "./image/build-image.ts";
export { checkImage, IMAGE } from "./image/image.ts";
