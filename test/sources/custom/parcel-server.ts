import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** What is sent in the place of an answer; a body that isn't JSON comes as it is. */
export interface Struck {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ParcelServer {
  readonly url: string;
  /** Path and query of every request, in order. */
  readonly requests: string[];
  /** Shipments by their JSON, in order of time: what is served from now on. */
  shipments: Shipment[];
  /** Asked for each request before it is answered; undefined: it is answered. */
  strike: (request: string, number: number) => Struck | undefined;
  /** Asked for each request; it is answered once that has come about. */
  hold: (request: string) => Promise<void> | undefined;
}

export interface Shipment {
  readonly shippedAt: string;
  readonly json: string;
}

export const token = 'parcels-secret-token';

/** Numbers as JSON has them: what a float would change is told apart. */
export function shipmentAt(number: number, shippedAt: string): Shipment {
  const cost = `${number % 90}.${String((number * 7) % 100).padStart(2, '0')}`;
  const carrier = number % 3 === 0 ? 'null' : `{"name":"Käfer ${number % 4}","service":"std"}`;
  const json =
    `{"id":"S-${String(number).padStart(6, '0')}", "shipped_at":"${shippedAt}","carrier":${carrier},` +
    `"tracking_number":${9007199254740993n + BigInt(number)},"parcels":[${'{},'.repeat(number % 3)}{}],` +
    `"weight_kg":${number % 7}.${String(number % 1000).padStart(3, '0')},"cost":{"amount":${cost},"currency":"EUR"},` +
    `"insured":${number % 2 === 0},"promised_on":"2025-0${(number % 9) + 1}-11"}`;
  return { shippedAt, json };
}

/** `perDay` shipments of each day of a range, the first one at midnight. */
export function shipmentsOf(from: string, days: number, perDay: number): Shipment[] {
  return Array.from({ length: days * perDay }, (_, number) => {
    const at = Date.parse(from) + Math.floor((number * 86_400_000) / perDay);
    return shipmentAt(number, new Date(at).toISOString());
  });
}

/** An invented API: shipments by date, paged by a cursor, with errors and a rate header in a form of its own. */
export async function parcelServer(
  shipments: Shipment[],
  atEnd: (close: () => Promise<void>) => void = onTestFinished,
): Promise<ParcelServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    // Its clock is nobody's: those of the tests differ from the machine's.
    response.sendDate = false;
    const path = request.url ?? '';
    requests.push(path);
    const number = requests.length;
    void Promise.resolve(apiServer.hold(path)).then(() => {
      answer(apiServer, number, request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
  const apiServer: ParcelServer = { url, requests, shipments, strike: () => undefined, hold: () => undefined };
  return apiServer;
}

function answer(apiServer: ParcelServer, number: number, request: IncomingMessage, response: ServerResponse): void {
  const send = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) => {
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-requests-per-second': '50', ...headers })
      .end(body);
  };
  const refuse = (status: number, kind: string, text: string) => {
    send(status, JSON.stringify({ error: { kind, text } }));
  };
  const path = request.url ?? '';
  const struck = apiServer.strike(path, number);
  if (struck !== undefined) {
    send(struck.status, struck.body, struck.headers);
    return;
  }
  if (request.headers.authorization !== `Bearer ${token}`) {
    refuse(401, 'NO_ACCESS', 'the token is not one of ours');
    return;
  }
  const { pathname, searchParams } = new URL(path, 'http://host');
  if (pathname !== '/api/v2/shipments') {
    refuse(404, 'NOT_FOUND', `there is no ${pathname}`);
    return;
  }
  const cursor = searchParams.get('cursor');
  const asked =
    cursor === null
      ? { from: searchParams.get('shipped_from') ?? '', to: searchParams.get('shipped_to') ?? '', at: 0 }
      : (JSON.parse(Buffer.from(cursor, 'base64url').toString()) as { from: string; to: string; at: number });
  const size = Number(searchParams.get('limit') ?? 50);
  const found = apiServer.shipments.filter(({ shippedAt }) => shippedAt >= asked.from && shippedAt < asked.to);
  const page = found.slice(asked.at, asked.at + size).map(({ json }) => json);
  const next = asked.at + size < found.length ? { ...asked, at: asked.at + size } : undefined;
  const nextCursor = next && Buffer.from(JSON.stringify(next)).toString('base64url');
  // As those of many APIs, it leads back, too.
  const here = `${apiServer.url}/v2/shipments`;
  const link =
    nextCursor === undefined ? {} : { link: `<${here}>; rel="prev", <${here}?cursor=${nextCursor}>; rel="next"` };
  send(200, `{"shipments":[${page.join(', ')}],"next_cursor":${JSON.stringify(nextCursor ?? null)}}`, link);
}
