import { createServer } from 'node:http';
import { connect, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';
import { certificate, privateKey } from './certificates.js';

export interface ProxyServer {
  readonly port: number;
  /** The targets of its CONNECT requests, with their `proxy-authorization`. */
  readonly connects: readonly (readonly [target: string | undefined, authorization: string | undefined])[];
}

/** A proxy on a free port that leads every target to `port` on loopback, or answers another status. */
export async function proxyServer(port: number, { status = 200 } = {}): Promise<ProxyServer> {
  const connects: (readonly [string | undefined, string | undefined])[] = [];
  const server = createServer((_, response) => response.writeHead(405).end());
  server.on('connect', (request, client) => {
    connects.push([request.url, request.headers['proxy-authorization']]);
    client.on('error', () => undefined);
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const target = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    target.on('error', () => client.destroy());
    client.on('close', () => target.destroy());
  });
  return { port: await listening(server), connects };
}

/** TLS on a free port in front of a plain server on loopback, with a certificate of the tests' authority. */
export async function tlsFront(port: number): Promise<{ readonly port: number; readonly connections: number }> {
  let connections = 0;
  const server = createTlsServer({ key: privateKey, cert: certificate }, (client) => {
    const target = connect(port, '127.0.0.1');
    for (const socket of [client, target]) socket.on('error', () => socket.destroy());
    target.pipe(client).pipe(target);
    client.on('close', () => target.destroy());
  });
  server.on('connection', () => connections++);
  server.on('tlsClientError', () => undefined);
  const own = await listening(server);
  return {
    port: own,
    get connections() {
      return connections;
    },
  };
}

/** A port on loopback at which nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<{ destroy: () => void }>();
  server.on('connection', (socket) => sockets.add(socket));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
