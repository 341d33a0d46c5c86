import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { pages, paths, type Query, start, startClient } from './client.js';
import { handClock } from './hand-clock.js';

const bounds = { PostedAfter: '2025-06-01T00:00:00Z', PostedBefore: '2025-06-04T00:00:00Z' };

function sellerClient() {
  const clock = handClock(start);
  return startClient([], { backend: createSeller({ seed: 7, events: 5_000, profile: 'edge-cases' }, clock), clock });
}

/** The text of every event of a body, list by list. */
function eventsOf(text: string): string[] {
  const { payload } = JSON.parse(text) as { payload: { FinancialEvents: Record<string, unknown[]> } };
  return Object.entries(payload.FinancialEvents).flatMap(([list, events]) =>
    events.map((one) => `${list} ${JSON.stringify(one)}`),
  );
}

test('pages of every size bring the same events of a synthetic seller', async () => {
  const client = await sellerClient();
  const read = async (query: Query) =>
    (await pages(client, paths.events, { ...bounds, ...query })).flatMap(({ text }) => eventsOf(text)).sort();
  const whole = await read({});
  expect(whole.length).toBeGreaterThan(100);
  for (const MaxResultsPerPage of [7, 50, 99]) expect(await read({ MaxResultsPerPage })).toEqual(whole);
});

test('two halves of a range are the range', async () => {
  const client = await sellerClient();
  const read = async (query: Query) => (await pages(client, paths.events, query)).flatMap(({ text }) => eventsOf(text));
  const middle = '2025-06-02T12:34:56.789Z';
  const halves = [
    ...(await read({ ...bounds, PostedBefore: middle })),
    ...(await read({ ...bounds, PostedAfter: middle })),
  ];
  expect(halves.sort()).toEqual((await read(bounds)).sort());
});

test('groups lead to their events, and events to their orders', async () => {
  const client = await sellerClient();
  const groups = (await pages(client, paths.groups, { FinancialEventGroupStartedAfter: '2025-05-01' })).flatMap(
    ({ ids }) => ids,
  );
  expect(groups.length).toBeGreaterThan(0);
  const reply = await client.get(paths.ofGroup(String(groups[0])), { MaxResultsPerPage: 100 });
  expect(reply.status).toBe(200);
  const order = /"AmazonOrderId":\s*"([0-9-]+)"/.exec(reply.text)?.[1] ?? '';
  const ofOrder = await client.get(paths.ofOrder(order));
  expect(ofOrder.status).toBe(200);
  expect(ofOrder.text).toContain(order);
  expect((await client.get(paths.ofGroup('none'))).status).toBe(404);
  expect((await client.get(paths.ofOrder('000-0000000-0000000'))).status).toBe(404);
});
