import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A request as it came. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answered {
  readonly status?: number;
  /** JSON; left out: none. */
  readonly body?: unknown;
  /** In its place as it is. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Breaks the connection off in the place of an answer. */
  readonly isBroken?: boolean;
}

/** An emulated API on a port of its own, closed when the test ends. */
export async function exampleServer(
  answer: (asked: Asked, number: number) => Answered | Promise<Answered>,
): Promise<{ readonly url: string; readonly asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    // Its clock is nobody's: those of the tests differ from the machine's.
    response.sendDate = false;
    void text(request).then(async (body) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://host');
      const one = { method: request.method ?? '', path: pathname, query: searchParams, headers: request.headers, body };
      asked.push(one);
      const given = await answer(one, asked.length);
      const { status = 200, body: value, text: written, headers, isBroken = false } = given;
      if (isBroken) {
        request.socket.destroy();
        return;
      }
      response.writeHead(status, { ...headers, ...(value !== undefined && { 'content-type': 'application/json' }) });
      response.end(written ?? (value === undefined ? undefined : JSON.stringify(value)));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
