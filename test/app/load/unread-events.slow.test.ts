import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { status } from '../../../src/app/status/status.js';
import type { Emit } from '../../../src/core/events/run-event.js';
import type { Format } from '../../../src/core/text/formats.js';
import { Kept } from '../../core/text/streams.js';
import { ran, temporaryFolder } from '../lake-run.js';
import { verified } from '../verify/verified.js';
import { setClock, synced } from './synced.js';
import { listening } from '../../listening.js';

const clock = setClock('2025-03-06T00:05:00Z');

const amount = '{"CurrencyCode":"USD","CurrencyAmount":12.5}';
const laterAmount = '{"currencyCode":"USD","currencyAmount":12.5}';
const start = '"FinancialEventGroupStart":"2025-03-04T01:00:00Z","FinancialEventGroupEnd":"2025-03-05T01:00:00Z"';

/** A record of each operation, with a text that may be no JSON. */
const records: Readonly<Record<string, (id: string, text: string) => string>> = {
  groups: (id, text) =>
    `{"FinancialEventGroupId":"${id}","ProcessingStatus":"Closed",${start},"OriginalTotal":${amount},"TraceId":"${text}"}`,
  events: (id, text) =>
    `{"AdjustmentType":"${id}","PostedDate":"2025-03-04T05:06:07Z","AdjustmentAmount":${amount},"Text":"${text}"}`,
  transactions: (id, text) =>
    `{"transactionId":"${id}","transactionType":"Shipment","transactionStatus":"RELEASED","postedDate":"2025-03-04T05:06:07Z",` +
    `"description":"${text}","totalAmount":${laterAmount}}`,
  payouts: (id, text) =>
    `{"payoutId":"${id}","payoutStatus":"SUCCESS","creationDate":"2025-03-04T05:06:07Z","amount":${laterAmount},"note":"${text}"}`,
};

const bodies: Readonly<Record<string, (list: string, token: string | undefined) => string>> = {
  groups: (list, token) => `{"payload":{"FinancialEventGroupList":[${list}]${tokenOf('NextToken', token)}}}`,
  events: (list, token) =>
    `{"payload":{"FinancialEvents":{"AdjustmentEventList":[${list}]}${tokenOf('NextToken', token)}}}`,
  transactions: (list, token) => `{"payload":{"transactions":[${list}]${tokenOf('nextToken', token)}}}`,
  payouts: (list, token) => `{"payouts":[${list}]${tokenOf('nextToken', token)}}`,
};

function tokenOf(name: string, token: string | undefined): string {
  return token === undefined ? '' : `,"${name}":"${token}"`;
}

function kindOf(path: string): string {
  if (path.includes('financialEventGroups') && !path.endsWith('/financialEvents')) return 'groups';
  return ['transactions', 'payouts'].find((kind) => path.endsWith(kind)) ?? 'events';
}

/** A service whose second pages have an event that can't be cut out, for as long as `isBroken`. */
async function brokenServer(): Promise<{
  endpoint: string;
  requests: string[];
  answers: string[];
  isBroken: boolean;
}> {
  const requests: string[] = [];
  const answers: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    requests.push(url.pathname);
    const kind = kindOf(url.pathname);
    const isSecond = [...url.searchParams.keys()].some((name) => /^nextToken$/i.test(name));
    const id = isSecond ? 'second' : 'first';
    const text = isSecond && apiServer.isBroken ? 'a "b" c' : 'a';
    const list = [records[kind]?.(`${id}-0`, 'a'), records[kind]?.(`${id}-1`, text), records[kind]?.(`${id}-2`, 'a')];
    const body = bodies[kind]?.(list.join(','), isSecond ? undefined : 'next') ?? '';
    answers.push(body);
    const headers = { 'content-type': 'application/json', 'x-amzn-RequestId': `request-${requests.length}` };
    response.writeHead(200, headers).end(body);
  });
  const apiServer = { endpoint: await listening(server), requests, answers, isBroken: true };
  return apiServer;
}

async function shown(lake: string, format: Format): Promise<string> {
  const output = new Kept();
  const context = { clock, signal: new AbortController().signal, output, emit: () => undefined };
  await status({ lake, account: undefined, from: undefined, to: undefined, format, color: false }, context);
  return output.text;
}

const range = { from: '2025-03-04', to: '2025-03-05' };
const window = 'window/2025-03-04T00:00:00.000Z/2025-03-05T00:00:00.000Z';

async function holesIn(lake: string): Promise<unknown> {
  const { accounts } = JSON.parse(await shown(lake, 'json')) as { accounts: { holes: unknown }[] };
  return accounts[0]?.holes;
}

const orders = ['111-0000000-0000001', '111-0000000-0000002', '111-0000000-0000003'];

test.each([
  ['financial-event-groups', [window], []],
  ['financial-events', [window], []],
  ['group-events', ['group/first-0', 'group/first-1', 'group/first-2', 'group/second-0', 'group/second-2'], []],
  ['order-events', orders.map((id) => `order/${id}`), orders],
  ['transactions', [window], []],
  ['order-transactions', orders.map((id) => `order/${id}`), orders],
  ['payouts', [window], []],
])(
  'events of %s that cannot be read stay with their load key, are listed and not asked for again',
  async (pipeline, keys, asked) => {
    const apiServer = await brokenServer();
    const { endpoint, requests, answers } = apiServer;
    const lake = join(await temporaryFolder(), 'lake');
    const orderFile = asked.length === 0 ? {} : { orders: asked };
    const options = { lake, endpoint, account: 'shop', pipelines: [pipeline], ...range, ...orderFile };
    const loaded = (more = {}) =>
      ran({ ...options, ...more }, { clock }).then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await loaded()).toMatchObject({ code: 'HOLES', exitCode: 1 });

    const holes = (await holesIn(lake)) as { pipeline: string; load_key: string; byte: number; request_id: string }[];
    const own = holes.filter((hole) => hole.pipeline === pipeline);
    expect(own.map(({ load_key: loadKey }) => loadKey).toSorted()).toEqual(keys.toSorted());
    for (const hole of own) {
      expect(hole).toEqual({
        pipeline,
        load_key: hole.load_key,
        page: 1,
        byte: expect.any(Number) as number,
        request_id: expect.stringMatching(/^request-\d+$/) as string,
      });
      // The event begins in front of the fault, and it is the one of the request that is named.
      const answer = answers[Number(hole.request_id.slice('request-'.length)) - 1] ?? '';
      expect(answer.slice(hole.byte, answer.indexOf('"b"'))).toMatch(/^\{[^{}]*(?:\{[^{}]*\}[^{}]*)*$/);
      expect(answer.slice(hole.byte)).toContain('second-1');
    }
    const place = `${own[0]?.load_key ?? ''}: page 2, byte ${own[0]?.byte ?? -1}, request id ${own[0]?.request_id ?? ''}`;
    expect(await shown(lake, 'table')).toContain(`Events that could not be read:\n  `);
    expect(await shown(lake, 'table')).toContain(`  ${pipeline} ${place}\n`);
    const { problems, checks } = await verified({ root: lake, clock });
    const listed = problems.filter(({ check, table }) => check === 'unread-events' && table !== 'groups');
    expect(checks.find(({ check }) => check === 'unread-events')?.result).toBe('note');
    if (pipeline !== 'financial-event-groups') {
      expect(listed.map(({ slice, kind }) => [slice, kind]).toSorted()).toEqual(
        keys.map((key) => [key, 'note']).toSorted(),
      );
    }

    // They are not asked for again.
    const before = requests.length;
    expect(await loaded()).toBeUndefined();
    expect(requests).toHaveLength(before);
    expect(await holesIn(lake)).toEqual(holes);

    // Read again with the same faults nothing changes; corrected ones are holes no more.
    expect(await loaded({ refresh: true })).toMatchObject({ code: 'HOLES' });
    expect(await holesIn(lake)).toEqual(holes);
    apiServer.isBroken = false;
    expect(await loaded({ refresh: true })).toBeUndefined();
    expect((await holesIn(lake)) as typeof holes).toEqual([]);
    expect((await verified({ root: lake, clock })).checks.find(({ check }) => check === 'unread-events')?.result).toBe(
      'ok',
    );
  },
);

test('the look-back of a sync reads a window with holes again', async () => {
  const apiServer = await brokenServer();
  const lake = join(await temporaryFolder(), 'lake');
  const options = { lake, endpoint: apiServer.endpoint, account: 'shop', pipelines: ['financial-events'] };
  await ran({ ...options, ...range }, { clock }).catch(() => undefined);
  expect(await holesIn(lake)).toHaveLength(1);
  apiServer.isBroken = false;
  await synced({ ...options, lookBack: 3 }, { clock });
  expect(await holesIn(lake)).toEqual([]);
});

test('a look-back that finds events that cannot be read is done, and the next night does without it', async () => {
  const { endpoint } = await brokenServer();
  const nights = setClock('2025-03-06T00:05:00Z');
  const lake = join(await temporaryFolder(), 'lake');
  const lookBack = [{ days: 12, everyDays: 7 }];
  const options = { lake, endpoint, account: 'shop', pipelines: ['financial-events'], lookBack };
  await ran({ ...options, ...range, lookBack: undefined }, { clock: nights }).catch(() => undefined);
  nights.set('2025-03-14T00:05:00Z');
  expect((await synced(options, { clock: nights })).failure).toMatchObject({ code: 'HOLES' });
  nights.set('2025-03-15T00:05:00Z');
  const slices: string[] = [];
  const emit: Emit = (event) => {
    if (event.event === 'slice-opened') slices.push(event.slice);
  };
  await synced(options, { clock: nights, emit });
  expect(slices).toEqual(['2025-03-14T00:00:00.000Z/2025-03-15T00:00:00.000Z']);
});
