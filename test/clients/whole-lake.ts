import { expect, onTestFinished } from 'vitest';
import type { EventOperationName } from '../../src/sources/finances/api-v0/operations.js';
import { startApiServer } from '../../src/serve/http/server.js';
import { database } from '../app/lake-run.js';
import { steppingClock } from '../app/maintenance/kept-lake.js';
import { makeLake } from '../app/maintenance/made-lake.js';
import { lakeBackend } from '../serve/lake/served-lake.js';
import { handClock } from '../serve/http/hand-clock.js';

/** What is asked, in no client's own words. */
export interface Asked {
  readonly operation: EventOperationName;
  /** The group or the order. */
  readonly subject: string;
  /** ISO 8601; for the operations that take dates. */
  readonly after: string;
  readonly before: string;
  readonly pageSize: number;
  /** Undefined: the first page. */
  readonly token: string | undefined;
}

/** The answer as a client hands it over. */
export interface Payload {
  readonly NextToken?: string | undefined;
  readonly FinancialEventGroupList?: readonly unknown[] | undefined;
  readonly FinancialEvents?: object | undefined;
}

export interface Replica {
  readonly url: string;
  readonly port: number;
  readonly credentials: { readonly id: string; readonly secret: string };
  /** A new access token, asked for with nothing but `fetch`. */
  readonly signIn: () => Promise<string>;
}

/** Sends a request by some client: resolves with the payload, when it isn't refused for good. */
export type Ask = (asked: Asked) => Promise<Payload>;

const range = { after: '2026-01-24T00:00:00Z', before: '2026-03-10T00:00:00Z' };
const hourMs = 3_600_000;

/**
 * Reads all of a lake through a client that others wrote, all four operations page by page, from a replica with a sign-in and
 * a quota that is soon used up, and holds the counts of each list against SQL. Midway its access token expires.
 */
export async function expectWholeLake(connect: (replica: Replica) => Ask): Promise<void> {
  const made = await makeLake(steppingClock(), { events: 600, orders: 8 });
  onTestFinished(() => made.remove());
  const clock = handClock('2026-03-15T12:00:00Z');
  const credentials = { id: 'amzn1.application-oa2-client.test', secret: 'amzn1.oa2-cs.v1.test' };
  const server = await startApiServer({
    backend: await lakeBackend(made.lake, clock),
    clock,
    quota: { rate: 0.5, burst: 4 },
    signIn: { clientId: credentials.id, clientSecret: credentials.secret },
    onAccess: ({ status }) => {
      // Time goes by when it must: until there is a token of the quota again, and once until the access token is too old.
      if (status === 429) clock.move(2000);
      if (server.counts.requests(undefined, 200) === 15) clock.move(2 * hourMs);
    },
  });
  onTestFinished(() => server.close());
  const signIn = async (): Promise<string> => {
    const response = await fetch(`${server.url}/auth/o2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: 'Atzr|test',
        client_id: credentials.id,
        client_secret: credentials.secret,
      }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  const ask = connect({ url: server.url, port: server.port, credentials, signIn });

  /** How many events of each list, or groups, all pages of a question hold. */
  async function counted(
    operation: EventOperationName,
    subject: string,
    pageSize: number,
  ): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const payload = await ask({ operation, subject, ...range, pageSize, token });
      const lists = payload.FinancialEvents ?? { '': payload.FinancialEventGroupList ?? [] };
      let size = 0;
      for (const [list, items] of Object.entries(lists) as [string, readonly unknown[] | null | undefined][]) {
        const length = items?.length ?? 0;
        if (length > 0) counts[list] = (counts[list] ?? 0) + length;
        size += length;
      }
      expect(size).toBeLessThanOrEqual(pageSize);
      token = payload.NextToken ?? undefined;
    }
    return counts;
  }

  const duckdb = await database(made.lake, clock);
  const held = async (from: string): Promise<Record<string, number>> => {
    const rows = await duckdb.rows(`SELECT event_list, count(*) AS events FROM ${from} GROUP BY ALL`);
    return Object.fromEntries(rows.map(({ event_list: list, events }) => [String(list), Number(events)]));
  };
  const ids = async (sql: string): Promise<string[]> => {
    const found = (await duckdb.rows(sql)).map(({ id }) => String(id));
    expect(found.length).toBeGreaterThan(2);
    return found;
  };

  const groups = await ids('SELECT group_id AS id FROM groups ORDER BY ALL');
  expect(await counted('ListFinancialEventGroups', '', 2)).toEqual({ '': groups.length });
  expect(await counted('ListFinancialEvents', '', 60)).toEqual(await held('events'));
  for (const id of groups) {
    const own = `group_events WHERE group_id = '${id}'`;
    expect(await counted('ListFinancialEventsByGroupId', id, 40)).toEqual(await held(own));
  }
  for (const id of made.orders) {
    const own = `order_events WHERE requested_order_id = '${id}'`;
    expect(await counted('ListFinancialEventsByOrderId', id, 1)).toEqual(await held(own));
  }
  const others = `SELECT amazon_order_id AS id FROM events WHERE amazon_order_id LIKE '___-%' AND amazon_order_id NOT IN
    (SELECT requested_order_id FROM order_events) GROUP BY ALL ORDER BY count(*) DESC, id LIMIT 3`;
  for (const id of await ids(others)) {
    const own = `events WHERE amazon_order_id = '${id}'`;
    expect(await counted('ListFinancialEventsByOrderId', id, 1)).toEqual(await held(own));
  }
  for (const operation of ['ListFinancialEvents', 'ListFinancialEventsByOrderId'] as const) {
    expect(server.counts.requests(operation, 429)).toBeGreaterThan(0);
  }
  expect(server.counts.requests(undefined, 403)).toBeGreaterThan(0);
  expect(server.counts.requests(undefined, 500)).toBe(0);
}

/**
 * Sends a request again while it is throttled, and with a new access token when the old one has expired: for clients that
 * leave that to their user. `statusOf`: the status in what the client throws.
 */
export function patiently(
  { signIn }: Replica,
  statusOf: (error: unknown) => number | undefined,
  send: (asked: Asked, accessToken: string) => Promise<Payload>,
): Ask {
  let accessToken: string | undefined;
  return async (asked) => {
    for (;;) {
      accessToken ??= await signIn();
      try {
        return await send(asked, accessToken);
      } catch (error) {
        const status = statusOf(error);
        if (status !== 429 && status !== 403) throw error;
        if (status === 403) accessToken = undefined;
      }
    }
  };
}
