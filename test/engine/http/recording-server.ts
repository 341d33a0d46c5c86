import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as a server got it. */
export interface Recorded {
  readonly method: string | undefined;
  /** Path and query as they came over the wire. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface RecordingServer {
  readonly origin: string;
  readonly port: number;
  readonly requests: readonly Recorded[];
  /** Connections that were opened so far. */
  readonly connections: number;
}

/** A server on a free port that keeps what it was sent, for the time of one test. `number`: of the request, from 1. */
export async function recordingServer(
  answer: (request: Recorded, response: ServerResponse, number: number) => void,
): Promise<RecordingServer> {
  const requests: Recorded[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const recorded = { method: request.method, url: request.url ?? '', headers: request.headers };
    requests.push(recorded);
    answer(recorded, response, requests.length);
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return connections;
    },
  };
}
