import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { literal } from '../../../src/core/duckdb/literals.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';

const clock = setClock('2026-03-10T02:00:00Z');
const page = await readFile('docs/queries.md', 'utf8');

async function lakeOf(profile: 'plausible' | 'edge-cases') {
  const endpoint = await serving({ backend: createSeller({ seed: 5, events: 3000, profile }, clock), clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', from: '2025-12-01', pipelines: ['financial-events'] }, { clock });
  return database(lake, clock);
}

/** Names in backquotes, as a list in SQL. */
const listed = (words: string) => [...words.matchAll(/`([^`]+)`/g)].map(([, name = '']) => literal(name)).join(', ');

/** What a clause of the table means, in SQL; throws for one that this test can't read. */
function conditionOf(clause: string): string {
  const [, lists] = /^all of ((?:`\w+`(?:, | and )?)+)/.exec(clause) ?? [];
  if (lists !== undefined) return `event_list IN (${listed(lists)})`;
  const [, kinds] = /^`kind` ((?:`\w+`(?:, | and )?)+)$/.exec(clause) ?? [];
  if (kinds !== undefined) return `kind IN (${listed(kinds)})`;
  const [, types] = /^`adjustment` named ((?:`\w+`(?:, | or )?)+)$/.exec(clause) ?? [];
  if (types !== undefined) return `kind = 'adjustment' AND name IN (${listed(types)})`;
  const [, starts] = /^`adjustment` whose name begins with `(\w+)`$/.exec(clause) ?? [];
  if (starts !== undefined) return `kind = 'adjustment' AND starts_with(name, ${literal(starts)})`;
  const [, list] = /^`charge` of (`\w+`)/.exec(clause) ?? [];
  if (list !== undefined) return `kind = 'charge' AND event_list IN (${listed(list)})`;
  const [, one, other, start] = /^`charge` where the name contains (`\w+`) or (`\w+`), or begins with (`\w+`)$/.exec(
    clause,
  ) ?? [undefined, undefined, undefined];
  if (one === undefined || other === undefined || start === undefined) throw new Error(`no known clause: ${clause}`);
  const contained = [one, other].map((name) => `contains(name, ${listed(name)})`);
  return `kind = 'charge' AND (${contained.join(' OR ')} OR starts_with(name, ${listed(start)}))`;
}

const table = /The first row that applies decides:\n\n((?:\|.*\n)+)/.exec(page)?.[1] ?? '';

/** The table "which column an amount is in", the first row first. */
const rules = [...table.matchAll(/^\| `(\w+)` +\| (.+?) +\|$/gm)].map(([, column = '', text = '']) => ({
  column,
  where: text.split('; ').map(conditionOf),
}));

interface Taxes {
  charged: bigint;
  withheld: bigint;
  refunded: bigint;
}

const refunds = ['RefundEventList', 'GuaranteeClaimEventList', 'ChargebackEventList'];
const taken = ['RetrochargeEventList'];
const withBuyers = [
  ...['ShipmentEventList', 'ShipmentSettleEventList', 'RentalTransactionEventList', 'RemovalShipmentEventList'],
  ...['RemovalShipmentAdjustmentEventList', ...taken, ...refunds],
];

/** Adds up what stands in the events as received, in millionths, wherever it stands in them. */
function countTaxes(value: unknown, key: string, list: string, add: (part: keyof Taxes, money: unknown) => void): void {
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) countTaxes(item, key, list, add);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const record = value as Readonly<Record<string, unknown>>;
  const type = record['ChargeType'];
  const isWithheld = key === 'TaxesWithheld' || key.startsWith('TaxWithheld') || taken.includes(list);
  const isNamed = typeof type === 'string' && (/Tax|VAT|^TCS/.test(type) || key === 'TaxesWithheld');
  const isTax = /^(?:BaseTax|ShippingTax|TaxAmount|TaxWithheld)/.test(key);
  const money = isTax ? record : isNamed ? record['ChargeAmount'] : undefined;
  const isTcs = typeof type === 'string' && type.startsWith('TCS');
  if (money !== undefined)
    add(refunds.includes(list) ? 'refunded' : isWithheld || isTcs ? 'withheld' : 'charged', money);
  if (isTax || isNamed) return;
  for (const [name, part] of Object.entries(record)) countTaxes(part, name, list, add);
}

describe.each(['plausible', 'edge-cases'] as const)('of the profile %s', (profile) => {
  test('the table of columns puts every amount where the view has it', async () => {
    const lake = await lakeOf(profile);
    const columns = rules.map(({ column }) => column);
    expect(columns.toSorted()).toEqual([
      'fees',
      'loans_and_transfers',
      'promotions',
      'refunds',
      'reimbursements',
      'sales',
      'taxes',
    ]);
    const whens = rules.flatMap(({ column, where }) => where.map((condition) => `WHEN ${condition} THEN '${column}'`));
    const written = `(SELECT *, CASE ${whens.join(' ')} ELSE 'unknown' END AS in_column FROM entries WHERE role = 'net')`;
    const apart = `SELECT event_list, kind, name, in_column, category_of(event_list, kind, name) AS in_view FROM ${written} WHERE in_column <> in_view`;
    expect(await lake.rows(`${apart} GROUP BY ALL ORDER BY ALL`)).toEqual([]);
    // The view itself has these sums, and of each column some.
    const pivoted = columns.map((column) => `coalesce(sum(amount) FILTER (in_column = '${column}'), 0) AS ${column}`);
    const sums = `SELECT month, currency, ${pivoted.join(', ')} FROM ${written} GROUP BY ALL`;
    const view = `SELECT month, currency, ${columns.join(', ')} FROM pnl_by_month`;
    expect(await lake.rows(`(${sums}) EXCEPT (${view})`)).toEqual([]);
    expect(await lake.rows(`(${view}) EXCEPT (${sums})`)).toEqual([]);
    expect(
      (await lake.rows(`SELECT DISTINCT in_column FROM ${written}`)).map(({ in_column: of }) => of).toSorted(),
    ).toEqual(columns.toSorted());
  });

  test('tax to remit is that of the events as received', async () => {
    const lake = await lakeOf(profile);
    const [, query = ''] = /## Tax to remit.*?```sql\n(.*?);\n```/s.exec(page) ?? [];
    const rows = await lake.rows(query);
    expect(rows.length).toBeGreaterThan(3);
    const counted = new Map<string, Taxes>();
    for (const { event_list: list, raw } of await lake.rows('SELECT event_list, raw FROM events')) {
      if (!withBuyers.includes(String(list))) continue;
      countTaxes(JSON.parse(String(raw)), '', String(list), (part, money) => {
        const { CurrencyCode: currency = '', CurrencyAmount: amount } = money as Readonly<Record<string, unknown>>;
        const taxes = counted.get(String(currency)) ?? { charged: 0n, withheld: 0n, refunded: 0n };
        counted.set(String(currency), taxes);
        taxes[part] += BigInt(Math.round(Number(amount) * 1e6));
      });
    }
    const millionths = (amount: unknown) => BigInt(String(amount).replace('.', ''));
    const read = rows.map(({ currency, charged, withheld, refunded, to_remit: toRemit }) => {
      const taxes = { charged: millionths(charged), withheld: millionths(withheld), refunded: millionths(refunded) };
      expect(millionths(toRemit)).toBe(taxes.charged + taxes.withheld + taxes.refunded);
      return [currency, taxes];
    });
    expect(read).toEqual([...counted].toSorted(([one], [other]) => (one < other ? -1 : 1)));
    // Of each part some, and not all is withheld.
    for (const part of ['charged', 'withheld', 'refunded', 'to_remit']) {
      expect(rows.some((row) => Number(row[part]) !== 0)).toBe(true);
    }
  });
});
