import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { exportJournal, type JournalOptions } from '../../../src/app/journal/export-journal.js';
import type { Clock } from '../../../src/core/clock.js';
import { millionths } from '../../../src/core/numeric/decimal.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { Ledger } from '../../../src/serve/served-apis.js';
import type { LedgerQuery } from '../../../src/serve/operation/ledger-page.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { hidingLedger, lot, setClock, synced, type Hides } from '../load/synced.js';

const defaults = { basis: 'paid', for: 'generic' } as const;

/** What the command prints: the records of its CSV without the header, and its notes. */
async function exported(options: Omit<JournalOptions, 'basis' | 'for'> & Partial<JournalOptions>, clock: Clock) {
  const output = new PassThrough();
  const notes: string[] = [];
  const printed = text(output);
  const { summary } = await exportJournal(
    { ...defaults, ...options },
    { clock, signal: new AbortController().signal, log: (line) => notes.push(line), output },
  );
  output.end();
  return { rows: recordsOf(await printed), notes, summary };
}

/** Records of CSV without line breaks in fields, by the names of their columns. */
function recordsOf(csv: string): Record<string, string>[] {
  const [header = [], ...lines] = csv
    .trimEnd()
    .split('\n')
    .map((line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
        .map(([, field = '']) => field.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'))
        .slice(0, -1),
    );
  return lines.map((fields) => Object.fromEntries(header.map((name, at) => [name, fields[at] ?? ''])));
}

/** The sums of lines by account of the ledger and currency; positive is debit. */
function sumsOf(rows: readonly Record<string, string>[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {};
  for (const row of rows) {
    const key = `${row['currency'] ?? ''} ${row['ledger_code'] ?? ''}`;
    sums[key] = (sums[key] ?? 0n) + millionths(row['debit'] ?? '') - millionths(row['credit'] ?? '');
  }
  return Object.fromEntries(Object.entries(sums).filter(([, sum]) => sum !== 0n));
}

/** The ledger, which shows an item in nine only from an instant on, and another only before it. */
function changingLedger(seller: Ledger, at: number): Ledger {
  const hides: Hides = (item, asOf) => (lot(item, 9) === 0 ? asOf < at : lot(item, 9) === 1 && asOf >= at);
  const { byTransaction } = seller;
  if (byTransaction === undefined) throw new Error('the seller has no transactions');
  return {
    ...hidingLedger(seller, hides),
    byTransaction: {
      transactions: async (question, query: LedgerQuery) => {
        const page = await byTransaction.transactions(question, query);
        return { ...page, items: page.items.filter((item) => !hides(item, query.asOf)) };
      },
      summaries: (question, query) => byTransaction.summaries(question, query),
      payouts: (question, query) => byTransaction.payouts(question, query),
    },
  };
}

test.each(['v0', '2024-06-19', 'both'] as const)(
  'what was booked and its adjustments are the journals of now (%s)',
  async (api) => {
    const clock = setClock('2026-02-03T02:00:00Z');
    const seller = createSeller({ seed: 5, events: 1500, profile: 'plausible' }, clock);
    const endpoint = await serving({ ledger: changingLedger(seller, Date.parse('2026-02-10')), clock });
    const lake = await temporaryFolder();
    const run = { lake, endpoint, account: 'shop', api };
    await ran({ ...run, from: '2025-12-01' }, { clock });
    const month = '2026-01';
    const booked = await exported({ lake, month }, clock);
    const bookedEarned = await exported({ lake, month, basis: 'earned' }, clock);
    const since = Number(Object.entries(booked.summary).find(([name]) => name === 'version')?.[1]);
    expect(booked.notes.at(-1)).toBe(`made from version ${since} of the catalog`);
    expect(booked.rows.length).toBeGreaterThan(100);
    expect(booked.rows.every((row) => row['memo']?.endsWith(`, catalog version ${since}`))).toBe(true);

    const unchanged = await exported({ lake, month, since }, clock);
    expect(unchanged.rows).toEqual([]);
    expect(unchanged.notes.at(-2)).toMatch(/^nothing has changed since version \d+ in the journals/);

    clock.set('2026-02-20T02:00:00Z');
    await synced({ ...run, lookBack: 80 }, { clock });
    for (const basis of ['paid', 'earned'] as const) {
      const [now, adjusted] = [
        await exported({ lake, month, basis }, clock),
        await exported({ lake, month, basis, since }, clock),
      ];
      expect(adjusted.rows.length).toBeGreaterThan(20);
      expect(sumsOf([...(basis === 'paid' ? booked : bookedEarned).rows, ...adjusted.rows])).toEqual(sumsOf(now.rows));
      expect(new Set(adjusted.rows.map((row) => `${row['date'] ?? ''} ${row['month'] ?? ''}`))).toEqual(
        new Set(['2026-02-20 2026-02']),
      );
      expect(adjusted.rows.every((row) => row['memo']?.startsWith(`Adjustment of ${month} of shop`))).toBe(true);
      // Each balances, in one currency.
      for (const journal of new Set(adjusted.rows.map((row) => row['journal']))) {
        const of = adjusted.rows.filter((row) => row['journal'] === journal);
        expect(Object.values(sumsOf(of)).reduce((sum, one) => sum + one, 0n)).toBe(0n);
        expect(new Set(of.map(({ currency }) => currency)).size).toBe(1);
      }
    }
  },
);
