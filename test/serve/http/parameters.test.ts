import { describe, expect, test } from 'vitest';
import { eventOperations } from '../../../src/sources/finances/api-v0/operations.js';
import { event, group } from './array-backend.js';
import { paths, startClient } from './client.js';

const order = '902-1845936-5435065';
const items = [
  group('2025-06-01T00:00:00Z', 'G1'),
  ...Array.from({ length: 150 }, (_, index) => event(Date.parse('2025-06-02') + index, index, { group: 'G1', order })),
];
const addressOf = {
  ListFinancialEventGroups: paths.groups,
  ListFinancialEvents: paths.events,
  ListFinancialEventsByGroupId: paths.ofGroup('G1'),
  ListFinancialEventsByOrderId: paths.ofOrder(order),
};

describe.each(Object.values(eventOperations))('$name', ({ name, range }) => {
  const address = addressOf[name];
  const names = ['MaxResultsPerPage', 'NextToken', ...(range === undefined ? [] : [range.after, range.before])];

  test('refuses every name in another case and says how it is written', async () => {
    const { get } = await startClient(items);
    for (const parameter of names) {
      for (const wrong of [
        parameter.toLowerCase(),
        parameter.toUpperCase(),
        parameter.charAt(0).toLowerCase() + parameter.slice(1),
      ]) {
        const reply = await get(address, { [wrong]: '2025-06-01' });
        expect(reply, wrong).toMatchObject({ status: 400, code: 'InvalidInput' });
        expect(reply.message).toContain(wrong);
        expect(reply.message).toContain(` ${parameter}:`);
      }
    }
  });

  test('refuses names of no parameter, those of other operations too', async () => {
    const { get } = await startClient(items);
    const all = Object.values(eventOperations).flatMap((other) =>
      other.range === undefined ? [] : [other.range.after, other.range.before],
    );
    for (const unknown of ['MarketplaceId', 'eventGroupId', '', ' MaxResultsPerPage', '__proto__', ...all]) {
      if (names.includes(unknown)) continue;
      const reply = await get(address, { [unknown]: '2025-06-01' });
      expect(reply, unknown).toMatchObject({ status: 400, code: 'InvalidInput' });
      expect(reply.message).toContain(unknown);
    }
  });

  test('refuses a name given twice, the same value too', async () => {
    const { raw } = await startClient(items);
    for (const parameter of names) {
      const value = parameter === 'MaxResultsPerPage' ? '5' : '2025-06-01';
      const reply = await raw(`${address}?${parameter}=${value}&${parameter}=${value}`);
      expect(reply, parameter).toMatchObject({ status: 400, code: 'InvalidInput' });
      expect(reply.message).toBe(`${parameter} is given more than once.`);
    }
  });

  test('refuses an empty value', async () => {
    const { raw } = await startClient(items);
    for (const parameter of names) {
      for (const empty of [`${parameter}=`, parameter]) {
        const reply = await raw(`${address}?${empty}`);
        expect(reply, empty).toMatchObject({ status: 400, code: 'InvalidInput' });
        expect(reply.message).toContain(parameter);
      }
    }
  });

  test.each(['0', '101', '-1', '1.0', '1e1', '+5', ' 5', '5 ', '0x10', '007', '99999999999999999999', 'ten', '٥'])(
    'refuses MaxResultsPerPage=%s',
    async (size) => {
      const { get } = await startClient(items);
      const reply = await get(address, { MaxResultsPerPage: size });
      expect(reply).toMatchObject({ status: 400, code: 'InvalidInput' });
      expect(reply.message).toMatch(/MaxResultsPerPage.*1 to 100/);
    },
  );

  test('takes a query of nothing but separators for none', async () => {
    const { raw } = await startClient(items);
    expect((await raw(`${address}?`)).status).toBe(200);
    expect((await raw(`${address}?&&`)).status).toBe(200);
    expect((await raw(`${address}?MaxResultsPerPage=1&`)).status).toBe(200);
  });

  test('takes names and values that are percent-encoded', async () => {
    const { raw } = await startClient(items);
    expect((await raw(`${address}?%4daxResultsPerPage=%31`)).ids).toHaveLength(1);
  });

  test.each(['MaxResultsPerPage=%', 'MaxResultsPerPage=%zz', '%ff=1', 'NextToken=%C3%28'])(
    'refuses %s, which is not encoded UTF-8',
    async (query) => {
      const { raw } = await startClient(items);
      expect(await raw(`${address}?${query}`)).toMatchObject({ status: 400, code: 'InvalidInput' });
    },
  );
});

test.each([
  [1, 1],
  [2, 2],
  [99, 99],
  [100, 100],
  [undefined, 100],
])('MaxResultsPerPage %s gives %i results', async (size, expected) => {
  const { get } = await startClient(items);
  for (const address of [paths.events, paths.ofGroup('G1'), paths.ofOrder(order)]) {
    const reply = await get(address, { MaxResultsPerPage: size });
    expect(reply.ids).toEqual(Array.from({ length: expected }, (_, index) => index));
    expect(reply.token).toBeTypeOf('string');
  }
});

test('what came stands in the details, cut where it is long', async () => {
  const { get } = await startClient();
  const reply = await get(paths.events, { MaxResultsPerPage: 'x'.repeat(5_000) });
  expect(reply.body.errors?.[0]?.details).toMatch(/^Received: x{189}…$/);
});
