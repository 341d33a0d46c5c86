import { expect, test } from 'vitest';
import { faultInjection } from '../../../src/emulator/emulator.js';
import { faultKinds, faultRules, type FaultKind, type Faults } from '../../../src/emulator/faults/fault-settings.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { handClock } from '../../serve/http/hand-clock.js';
import { day, iso, start } from '../../serve/transactions/seller-server.js';

const seller = createSeller({ seed: 1, events: 1200, profile: 'edge-cases' }, handClock(start));

/** Amounts with which a fault meets something that this seller has. */
const amounts: Partial<Record<FaultKind, number>> = { 'history-limit': 60, 'total-missing': 1000 };

/** All that a server with faults answers from: what it lists, the documents of the oldest reports, and the time. */
async function answers(faults: Faults): Promise<string> {
  const clock = handClock(start);
  const server = { clock, backend: seller, seed: 1, hit: () => undefined, signIn: false };
  const { backend, lists, clock: shown } = faultInjection(faults)(server);
  const range = { start: start - 90 * day, end: start };
  const query = { cursor: undefined, limit: 5000, asOf: start };
  const reports = (await backend.byReport?.reports(start)) ?? [];
  const oldest = reports.toSorted((one, other) => one.createdAt - other.createdAt).slice(0, 14);
  const documents: unknown[] = [];
  for (const report of oldest) documents.push(await backend.byReport?.documentOf(report));
  const any = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
  return JSON.stringify([
    iso(shown.now()),
    lists,
    await backend.groups(range, query),
    await backend.events(range, query),
    await backend.byTransaction?.transactions({ range, ...any }, query),
    // `of` is known to the faults alone.
    reports.map((report) => ({ ...report, of: undefined })),
    documents,
  ]);
}

const plain = answers({});

test.each(faultKinds.filter((kind) => faultRules[kind].shareOf !== 'requests'))(
  '%s has an effect without another fault',
  async (kind) => {
    const share = faultRules[kind].shareOf === 'none' ? undefined : 1;
    expect((await answers({ [kind]: { share, amount: amounts[kind] } })) === (await plain)).toBe(false);
  },
);

test('one that hits no item changes nothing', async () => {
  expect((await answers({ 'deferred-events': { share: 0 } })) === (await plain)).toBe(true);
});
