// Tries: to reach the network by everything that node has: the internet, the cloud's metadata, the host, itself.
// Ends: completed []
const net = require("node:net");
const targets = [["1.1.1.1", 443], ["169.254.169.254", 80], ["172.17.0.1", 2375], ["127.0.0.1", 80], ["::1", 80]];
const attempts = [
  ...targets.map(([host, port]) => () => new Promise((resolve, reject) => net.connect(port, host, resolve).on("error", reject))),
  () => new Promise((resolve, reject) => net.createServer().listen(0, resolve).on("error", reject)),
  () => new Promise((resolve, reject) => net.createServer().listen("/tmp/socket", resolve).on("error", reject)),
  () => new Promise((resolve, reject) => require("node:dgram").createSocket("udp4").bind(0, resolve).on("error", reject)),
  () => require("node:dns/promises").resolve("example.com"),
  () => require("node:dns/promises").lookup("example.com"),
  () => fetch("http://example.com"),
];
void Promise.allSettled(attempts.map((attempt) => attempt())).then((all) => settle(all.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []))));
forever();
