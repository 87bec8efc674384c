import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { connect as connectTls } from "node:tls";

/** What node sends first when it wants to speak to this host by TLS. */
export async function firstBytes(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connectTls({ socket: connect(port, "127.0.0.1"), servername });
  client.on("error", () => {});
  const [socket] = (await once(server, "connection")) as [ReturnType<typeof connect>];
  const [bytes] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}
