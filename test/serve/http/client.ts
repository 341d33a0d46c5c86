import { startEmulator, type EmulatorOptions } from '../../emulator/emulator.js';
import { onTestFinished } from 'vitest';
import { handClock, type HandClock } from './hand-clock.js';
import { arrayBackend, type DatedItem } from './array-backend.js';
import type { RunningApiServer } from '../../../src/serve/http/server.js';

/** The public answer's envelope, as far as tests look at it. */
export interface Body {
  readonly payload?: {
    readonly NextToken?: string;
    readonly FinancialEvents?: Readonly<Record<string, readonly { readonly id?: string | number }[]>>;
    readonly FinancialEventGroupList?: readonly { readonly FinancialEventGroupId: string }[];
  };
  readonly errors?: readonly { readonly code: string; readonly message: string; readonly details: string }[];
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Body;
  /** The first error's code and message. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  /** Ids of all results, list by list. */
  readonly ids: readonly (string | number | undefined)[];
  readonly token: string | undefined;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export interface Client {
  readonly clock: HandClock;
  readonly server: RunningApiServer;
  /** Sends a GET; parameters are percent-encoded. */
  readonly get: (path: string, parameters?: Query) => Promise<Reply>;
  /** Sends a path and query as they are. */
  readonly raw: (target: string, init?: RequestInit) => Promise<Reply>;
}

export const paths = {
  events: '/finances/v0/financialEvents',
  groups: '/finances/v0/financialEventGroups',
  ofGroup: (id: string) => `/finances/v0/financialEventGroups/${encodeURIComponent(id)}/financialEvents`,
  ofOrder: (id: string) => `/finances/v0/orders/${encodeURIComponent(id)}/financialEvents`,
};

/** The instant that tests begin at. */
export const start = '2025-07-01T12:00:00.000Z';

/** Starts a real service on a free port, over an array and a clock moved by hand, until the test is over. */
export async function startClient(
  items: readonly DatedItem[] = [],
  options: Partial<Omit<EmulatorOptions, 'clock'>> & { readonly clock?: HandClock } = {},
): Promise<Client> {
  const { clock = handClock(start) } = options;
  const server = await startEmulator({ backend: arrayBackend(items), ...options, clock });
  onTestFinished(() => server.close());

  async function raw(target: string, init?: RequestInit): Promise<Reply> {
    const response = await fetch(server.url + target, init);
    const text = await response.text();
    const body = (text === '' ? {} : JSON.parse(text)) as Body;
    const { FinancialEvents: events = {}, FinancialEventGroupList: groups = [] } = body.payload ?? {};
    return {
      status: response.status,
      headers: response.headers,
      text,
      body,
      code: body.errors?.[0]?.code,
      message: body.errors?.[0]?.message,
      ids: [
        ...Object.values(events).flatMap((list) => list.map(({ id }) => id)),
        ...groups.map((one) => one.FinancialEventGroupId),
      ],
      token: body.payload?.NextToken,
    };
  }
  return {
    clock,
    server,
    raw,
    get: (path, parameters = {}) => {
      const query = Object.entries(parameters).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
      );
      return raw(query.length === 0 ? path : `${path}?${query.join('&')}`);
    },
  };
}

/** All pages of a question, following tokens; `again` is sent along with each of them. */
export async function pages({ get }: Client, path: string, query: Query, again: Query = {}): Promise<Reply[]> {
  const replies = [await get(path, query)];
  for (let token = replies[0]?.token; token !== undefined; token = replies.at(-1)?.token) {
    replies.push(await get(path, { ...again, NextToken: token }));
  }
  return replies;
}

export async function firstToken({ get }: Client, path: string, query: Query): Promise<string> {
  const { token } = await get(path, query);
  if (token === undefined) throw new Error(`No token from ${path}`);
  return token;
}
