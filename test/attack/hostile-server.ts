import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Answers one request, as badly as it likes. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** The address of a service for the time of one test. */
export async function serving(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    // Its clock would be compared with one that may run faster.
    response.sendDate = false;
    response.on('error', () => undefined);
    request.resume();
    request.on('end', () => {
      answer(response, request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
