import { startEmulator, type EmulatorOptions } from '../../emulator/emulator.js';
import { onTestFinished } from 'vitest';
import { createSeller, type SellerOptions } from '../../../src/emulator/seller/seller.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { RunningApiServer } from '../../../src/serve/http/server.js';
import {
  amountsIn,
  isObject,
  type Json,
  type JsonObject,
  microsOf,
  parse,
  textOf,
} from '../../emulator/seller/reading.js';
import { type HandClock, handClock } from '../http/hand-clock.js';

export const day = 86_400_000;
export const iso = (instant: number) => new Date(instant).toISOString();

export const paths = {
  transactions: '/finances/2024-06-19/transactions',
  summary: '/finances/2024-06-19/summary',
  payouts: '/finances/transfers/2024-06-01/payouts',
};

export type Query = Readonly<Record<string, string | undefined>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** With the text of each amount in place of its number. */
  readonly body: JsonObject;
  /** The first error's message. */
  readonly message: string | undefined;
}

export interface SellerServer {
  readonly clock: HandClock;
  readonly server: RunningApiServer;
  readonly get: (path: string, query?: Query) => Promise<Answer>;
  readonly raw: (target: string, init?: RequestInit) => Promise<Answer>;
}

type Options = Partial<SellerOptions> & Partial<Omit<EmulatorOptions, 'backend' | 'clock'>>;

export const start = Date.parse('2025-06-15T12:34:56Z');

/** A real service over a synthetic seller, whose clock is moved by hand, until the test is over. */
export async function startSeller(options: Options = {}, clock = handClock(start)): Promise<SellerServer> {
  const { seed = 1, events = 1500, profile = 'plausible' as const, ...rest } = options;
  return startOver(createSeller({ seed, events, profile }, clock), clock, rest);
}

/** A real service over a backend, until the test is over. */
export async function startOver(
  backend: Backend,
  clock: HandClock,
  options: Partial<Omit<EmulatorOptions, 'backend' | 'clock'>> = {},
): Promise<SellerServer> {
  const server = await startEmulator({ ...options, backend, clock });
  onTestFinished(() => server.close());
  async function raw(target: string, init?: RequestInit): Promise<Answer> {
    const response = await fetch(server.url + target, init);
    const text = await response.text();
    const body = parse(text);
    const [error] = listIn(body, 'errors');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body,
      message: error && textOf(error['message']),
    };
  }
  const queryOf = (query: Query) =>
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
  return { clock, server, raw, get: (path, query = {}) => raw(`${path}?${queryOf(query).join('&')}`) };
}

/** A list of objects; null and absent are empty. */
export function listIn(object: JsonObject, name: string): readonly JsonObject[] {
  const value = object[name] ?? [];
  if (!Array.isArray(value)) throw new Error(`expected a list of ${name}, got ${JSON.stringify(value).slice(0, 100)}`);
  return (value as readonly Json[]).filter(isObject);
}

export function payloadOf({ body }: Answer): JsonObject {
  const payload = body['payload'] ?? body;
  if (!isObject(payload)) throw new Error('expected an object');
  return payload;
}

/** All pages of a question: each token goes with all parameters of the first request. */
export async function pages({ get }: SellerServer, path: string, query: Query): Promise<Answer[]> {
  const answers: Answer[] = [];
  let token: string | undefined;
  do {
    const answer = await get(path, { ...query, nextToken: token });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    answers.push(answer);
    const next = payloadOf(answer)['nextToken'];
    token = typeof next === 'string' ? next : undefined;
  } while (token !== undefined);
  return answers;
}

export async function transactionsOf(server: SellerServer, query: Query): Promise<readonly JsonObject[]> {
  return (await pages(server, paths.transactions, query)).flatMap((answer) =>
    listIn(payloadOf(answer), 'transactions'),
  );
}

/** Millionths. */
export function micros(money: Json | undefined): bigint {
  return microsOf(textOf(isObject(money) ? money['currencyAmount'] : undefined));
}

export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

export function identifier(transaction: JsonObject, name: string): string | undefined {
  const found = listIn(transaction, 'relatedIdentifiers').find((one) => one['relatedIdentifierName'] === name);
  return found && textOf(found['relatedIdentifierValue']);
}

export const idOf = (transaction: JsonObject) => textOf(transaction['transactionId']);
export const statusOf = (transaction: JsonObject) => textOf(transaction['transactionStatus']);
export const totalOf = (transaction: JsonObject) => micros(transaction['totalAmount']);
export const isTransfer = (transaction: JsonObject) => transaction['transactionType'] === 'Transfer';

/** Released money without what went to the bank: what v0 shows as events. */
export const isPaid = (transaction: JsonObject) => statusOf(transaction) === 'RELEASED' && !isTransfer(transaction);

export interface ReadEvent {
  readonly list: string;
  readonly event: JsonObject;
  /** Net millionths. */
  readonly net: bigint;
}

/** All events or groups of one of v0's questions. */
export async function v0Payloads({ get }: SellerServer, path: string, query: Query): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  let token: string | undefined;
  do {
    const answer = await get(path, token === undefined ? query : { NextToken: token });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    const payload = payloadOf(answer);
    found.push(payload);
    token = typeof payload['NextToken'] === 'string' ? payload['NextToken'] : undefined;
  } while (token !== undefined);
  return found;
}

export async function v0Events(server: SellerServer, path: string, query: Query = {}): Promise<ReadEvent[]> {
  const payloads = await v0Payloads(server, path, query);
  return payloads.flatMap((payload) => {
    const lists = payload['FinancialEvents'];
    return !isObject(lists)
      ? []
      : Object.keys(lists).flatMap((list) =>
          listIn(lists, list).map((event) => ({ list, event, net: netOf(list, event) })),
        );
  });
}

function netOf(list: string, event: JsonObject): bigint {
  return sum(amountsIn(list, event).flatMap(({ role, micros: amount }) => (role === 'net' ? [amount] : [])));
}
