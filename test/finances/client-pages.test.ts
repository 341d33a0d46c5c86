import { describe, expect, onTestFinished, test } from 'vitest';
import { createFinancesClient, type Answer } from '../../src/finances/client.js';
import { pagesOf } from '../../src/finances/pages.js';
import { followUp, type RequestParameters } from '../../src/finances/request-path.js';
import { createTransport } from '../../src/http/agent.js';
import { recordingServer, type RecordingServer } from '../http/recording-server.js';

interface Body {
  readonly payload: { readonly NextToken?: string };
}

const nextTokenOf = ({ body }: Answer): string | undefined =>
  (JSON.parse(Buffer.from(body).toString()) as Body).payload.NextToken;

/** A service whose page for a token leads to the next token of a list; the first page has none. */
function chain(tokens: readonly (string | undefined)[]): Promise<RecordingServer> {
  return recordingServer((_, response, number) => {
    response.end(JSON.stringify({ payload: { NextToken: tokens[number - 1], FinancialEvents: {} } }));
  });
}

function pages(server: RecordingServer, first: RequestParameters, from?: string): AsyncGenerator<Answer> {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const client = createFinancesClient({ endpoint: server.origin, transport });
  const name = 'ListFinancialEvents';
  return pagesOf(
    (token) => client.request(name, token === undefined ? first : followUp(name, first, token)),
    nextTokenOf,
    from,
  );
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const queries = (server: RecordingServer): string[] =>
  server.requests.map(({ url }) => decodeURIComponent(url.split('?')[1] ?? ''));

const first = { PostedAfter: 0, PostedBefore: 86_400_000, MaxResultsPerPage: 10 };
const firstQuery = 'PostedAfter=1970-01-01T00:00:00.000Z&PostedBefore=1970-01-02T00:00:00.000Z&MaxResultsPerPage=10';

describe('pages', () => {
  test('are followed by their tokens, through empty ones too, until there is none', async () => {
    const server = await chain(['a+/=', 'b', undefined]);
    expect(await collected(pages(server, first))).toHaveLength(3);
    expect(queries(server)).toEqual([
      firstQuery,
      'MaxResultsPerPage=10&NextToken=a+/=',
      'MaxResultsPerPage=10&NextToken=b',
    ]);
    expect(server.requests[1]?.url).toContain('NextToken=a%2B%2F%3D');
    expect(server.connections).toBe(1);
  });

  test('an empty token is none', async () => {
    const server = await chain(['']);
    expect(await collected(pages(server, first))).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });

  test('are asked for one by one, none before it is wanted', async () => {
    const server = await chain(['a', 'b', undefined]);
    const reading = pages(server, first);
    await reading.next();
    await reading.return(undefined);
    expect(server.requests).toHaveLength(1);
  });

  test('can be gone on with from a token', async () => {
    const server = await chain(['c', undefined]);
    expect(await collected(pages(server, first, 'b'))).toHaveLength(2);
    expect(queries(server)).toEqual(['MaxResultsPerPage=10&NextToken=b', 'MaxResultsPerPage=10&NextToken=c']);
  });

  test.each([
    [['a', 'a'], undefined, 2, 2],
    [['a', 'b', 'c', 'a'], undefined, 4, 2],
    [['b'], 'b', 1, 1],
  ])(
    'a token that comes round again (%j from %j) ends in an error, not in a circle',
    async (tokens, from, sent, before) => {
      const server = await chain(tokens);
      const seen: Answer[] = [];
      const reading = (async () => {
        for await (const answer of pages(server, first, from)) seen.push(answer);
      })();
      await expect(reading).rejects.toMatchObject({
        code: 'UPSTREAM_BODY',
        message: expect.stringContaining(`got the token of page ${before} again`) as string,
      });
      expect([server.requests.length, seen.length]).toEqual([sent, sent]);
    },
  );

  test('a failure midway ends them', async () => {
    const server = await recordingServer((_, response, number) => {
      if (number === 2) response.writeHead(503).end();
      else response.end('{"payload":{"NextToken":"a"}}');
    });
    const reading = pages(server, first);
    await reading.next();
    await expect(reading.next()).rejects.toMatchObject({ code: 'UPSTREAM_STATUS', status: 503 });
    expect(await reading.next()).toEqual({ done: true, value: undefined });
  });
});
