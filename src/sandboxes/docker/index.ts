export { Daemon } from "./daemon.ts";
export { createDockerSandbox } from "./docker-sandbox.ts";
export { buildImage } from "./image/build-image.ts";
export { checkImage, IMAGE_NAME } from "./image/image.ts";
