import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** The pages of one question, in the order of their cursors. */
export interface PageChain {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly pages: string[];
}

/** What is between a program and a service, and keeps each body that goes by. */
export interface Recording {
  readonly url: string;
  /** The questions whose last page was answered. */
  readonly chains: () => readonly PageChain[];
}

/** Passes requests on to a service until the test ends. */
export async function recording(service: string): Promise<Recording> {
  const chains: PageChain[] = [];
  const byCursor = new Map<string, PageChain>();
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '', service);
      const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
        typeof value === 'string' && !/^(host|connection|content-length|accept-encoding)$/.test(name)
          ? [[name, value]]
          : [],
      );
      const method = request.method ?? 'GET';
      const answer = await fetch(url, { method, headers, ...(method === 'POST' && { body: await text(request) }) });
      const body = await answer.text();
      if (answer.status === 200) keep(url, body);
      const passed = [...answer.headers].filter(
        ([name]) => !/^(connection|content-length|keep-alive|transfer-)/.test(name),
      );
      response.writeHead(answer.status, Object.fromEntries(passed)).end(body);
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const keep = (url: URL, body: string): void => {
    const cursor = url.searchParams.get('NextToken') ?? url.searchParams.get('nextToken');
    const chain = cursor === null ? { path: url.pathname, query: url.searchParams, pages: [] } : byCursor.get(cursor);
    if (chain === undefined) throw new Error(`expected a known cursor, got ${url.href}`);
    if (cursor === null) chains.push(chain);
    else byCursor.delete(cursor);
    chain.pages.push(body);
    const { payload } = JSON.parse(body) as { payload?: { NextToken?: string; nextToken?: string } };
    const next = payload?.NextToken ?? payload?.nextToken;
    if (next !== undefined) byCursor.set(next, chain);
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    chains: () => {
      const unfinished = new Set(byCursor.values());
      return chains.filter((chain) => !unfinished.has(chain));
    },
  };
}
