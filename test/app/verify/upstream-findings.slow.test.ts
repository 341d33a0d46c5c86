import { afterEach, describe, expect, test } from 'vitest';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { DatedItem } from '../../serve/http/array-backend.js';
import { addOf } from './damage.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { fee, settlement, shipment, smallItems, smallBackend } from './small-backend.js';
import { found, verified } from './verified.js';

let lake: LoadedLake | undefined;
afterEach(() => {
  lake?.remove();
});

/** Loads all of a backend and verifies it, with --strict and without: a finding fails only with. */
async function findings(backend: Backend, runs?: Parameters<typeof loadedLake>[1]) {
  lake = await loadedLake(backend, runs);
  const result = await verified(lake);
  expect(result.code).toBe(0);
  expect((await verified(lake, true)).code).toBe(
    result.problems.filter(({ kind }) => kind !== 'note').length > 0 ? 1 : 0,
  );
  return result;
}

function withGroup(facts: Parameters<typeof settlement>[0]): DatedItem[] {
  return [...smallItems().filter(({ list, group }) => list !== '' || group !== facts.id), settlement(facts)];
}

const closed = { id: 'GROUP-1', start: '2025-02-20T00:00:00Z', end: '2025-03-06T00:00:00Z' };

describe('a closed group', () => {
  test.each([
    ['whose total is a cent off', { beginning: '10.00', total: '228.72' }, /-0\.010000 apart/],
    ['whose beginning balance is a cent off', { beginning: '10.01', total: '228.71' }, /0\.010000 apart/],
    ['without a total', { beginning: '10.00' }, /has no OriginalTotal/],
  ])('%s is a finding', async (_name, money, problem) => {
    const result = await findings(smallBackend(withGroup({ ...closed, ...money })));
    expect(found(result)).toEqual(['group-totals finding']);
    expect(result).toMatchObject({ verdict: 'findings' });
    expect(result.problems).toEqual([
      {
        check: 'group-totals',
        kind: 'upstream',
        command: null,
        table: 'groups',
        file: `groups/${addOf(lake?.root ?? '', 'groups', 'month=2025-02').path}`,
        slice: 'group/GROUP-1',
        problem: expect.stringMatching(problem) as string,
      },
    ]);
  });

  test('with an amount in another currency is a finding', async () => {
    const more = ',"DirectPaymentList":[{"DirectPaymentAmount":{"CurrencyCode":"EUR","CurrencyAmount":1}}]';
    const result = await findings(
      smallBackend([...smallItems(), shipment('2025-03-01T00:00:00Z', '99', '1', '-1', 'GROUP-1', more)]),
    );
    expect(result.problems).toMatchObject([
      { check: 'group-totals', problem: expect.stringMatching(/in USD and has net amounts in EUR/) as string },
    ]);
  });

  test('with an amount that no decimal holds cannot be added up', async () => {
    const result = await findings(
      smallBackend([...smallItems(), shipment('2025-03-01T00:00:00Z', '99', '1e-7', '0', 'GROUP-1')]),
    );
    const note = { check: 'amounts', kind: 'note', problem: expect.stringMatching(/^1 amount is in no sum/) as string };
    expect(result.problems).toMatchObject([
      { ...note, table: 'entries' },
      { ...note, table: 'group_entries' },
      { check: 'group-totals', problem: expect.stringMatching(/cannot be added up/) as string },
    ]);
  });

  test('that is not loaded by group is not compared', async () => {
    const backend = smallBackend(withGroup({ ...closed, beginning: '0', total: '1' }));
    const result = await findings(backend, [{ pipelines: ['financial-events', 'financial-event-groups'] }]);
    expect(result.problems).toEqual([]);
    expect(result.checks.find(({ check }) => check === 'group-totals')).toMatchObject({ checked: 0, result: 'none' });
  });
});

describe('events by date and by group', () => {
  /** A backend whose answers by date, or by group, leave out what `hides` says. */
  function hiding(what: 'events' | 'eventsOfGroup', hides: (json: string) => boolean): Backend {
    const backend = smallBackend();
    const shown = smallBackend(smallItems().filter(({ json }) => !hides(json)));
    return { ...backend, [what]: shown[what].bind(shown) };
  }

  test('an event that came by group only is a finding', async () => {
    const result = await findings(hiding('events', (json) => json.includes('SKU-3"')));
    expect(found(result)).toEqual(['date-against-group finding']);
    expect(result.problems).toEqual([
      {
        check: 'date-against-group',
        kind: 'upstream',
        command: null,
        table: 'events',
        file: `group_events/${addOf(lake?.root ?? '', 'group_events', 'month=2025-02').path}`,
        slice: 'group/GROUP-1',
        problem: expect.stringMatching(/^by date lacks 1 event that the group has/) as string,
      },
    ]);
  });

  test('two equal fees of which one came by date are a finding: they are compared as multisets', async () => {
    const items = smallItems();
    const last = items.findLastIndex(({ list }) => list === 'ServiceFeeEventList');
    const byDate = smallBackend(items.toSpliced(last, 1));
    const result = await findings({ ...smallBackend(items), events: byDate.events.bind(byDate) });
    expect(result.problems.map(({ check, problem }) => [check, problem.slice(0, 21)])).toEqual([
      ['date-against-group', 'by date lacks 1 event'],
    ]);
  });

  test('an event that came by date only is a finding, and its group does not add up', async () => {
    const result = await findings(hiding('eventsOfGroup', (json) => json.includes('SKU-3"')));
    expect(found(result)).toEqual(['group-totals finding', 'date-against-group finding']);
    expect(result.problems[1]).toMatchObject({
      table: 'group_events',
      slice: 'group/GROUP-1',
      problem: expect.stringMatching(/^no group has 1 event of its time and currency/) as string,
    });
  });

  test('of a group that begins before what is loaded by date are not compared', async () => {
    const backend = hiding('events', (json) => json.includes('SKU-3"'));
    const result = await findings(backend, [
      { pipelines: ['group-events'] },
      { pipelines: ['financial-events'], from: '2025-02-21' },
    ]);
    expect(result.problems).toEqual([]);
    expect(result.checks.find(({ check }) => check === 'date-against-group')).toMatchObject({ checked: 0 });
  });
});

const byDateOnly = [{ pipelines: ['financial-events'] }];

test('an event by date from outside of its window is a finding', async () => {
  const outside = shipment('2025-02-01T00:00:00Z', '77', '1', '-1', 'GROUP-0');
  const result = await findings(
    smallBackend([...smallItems(), { ...outside, at: Date.parse('2025-03-02T00:00:00Z') }]),
    byDateOnly,
  );
  expect(found(result)).toEqual(['event-dates finding']);
  expect(result.problems[0]).toMatchObject({ table: 'events', kind: 'upstream' });
});

test('an event that two windows hold, in one of which it does not lie, is upstream’s fault', async () => {
  const twice = shipment('2025-03-02T00:00:00Z', '77', '1', '-1', 'GROUP-0');
  const items = [...smallItems(), twice, { ...twice, at: Date.parse('2025-02-26T00:00:00Z') }];
  const result = await findings(smallBackend(items), byDateOnly);
  expect(found(result)).toEqual(['unique-ids finding', 'event-dates finding']);
});

test('what is odd but legal JSON is no problem', async () => {
  const odd = [
    ',"10":{"CurrencyCode":"USD","CurrencyAmount":1},"2":{"CurrencyCode":"USD","CurrencyAmount":2}',
    ',"A":{"CurrencyCode":"USD","CurrencyAmount":1},"A":{"CurrencyCode":"USD","CurrencyAmount":2}',
    ',"B":{"CurrencyCode":7,"CurrencyAmount":"text"},"C":{"CurrencyCode":"USD","CurrencyAmount":null}',
    ',"D":{"CurrencyCode":"USD","CurrencyAmount":123456789012.123456},"E":{"CurrencyCode":"USD","CurrencyAmount":-0.0}',
    ',"F":{"CurrencyCode":"USD","CurrencyAmount":1e400},"G":{"CurrencyCode":"USD","CurrencyAmount":7E1}',
    ',"H":{"CurrencyCode":"\\ud800","CurrencyAmount":1,"I":{"CurrencyCode":"USD","CurrencyAmount":0.1234567}}',
    ',"J\\"CurrencyAmount":1,"K":"\\"CurrencyAmount\\":5","__proto__":{"CurrencyCode":"USD","CurrencyAmount":3}',
  ].map((more, index) => shipment(`2025-03-0${index + 1}T01:00:00Z`, String(50 + index), '1', '-1', 'GROUP-0', more));
  const result = await findings(
    smallBackend([...smallItems(), ...odd, fee('2025-03-01T01:00:00Z', '1e2', 'GROUP-0')]),
    byDateOnly,
  );
  const problem = '2 amounts are in no sum, because DECIMAL(18,6) cannot hold them: 2 in USD';
  expect(result.problems).toMatchObject([{ check: 'amounts', kind: 'note', table: 'entries', problem }]);
});
