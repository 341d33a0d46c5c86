import { expect, test } from 'vitest';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt, computeOnce, database, ran, serving, temporaryFolder } from '../lake-run.js';
import { verified } from '../verify/verified.js';

const clock = clockAt('2025-03-20T00:00:00Z');
/** The first loaded day: documents that overlap have settlements from before it, too. */
const first = '2025-01-18';

/** What is known of Amazon's reports, all at once. */
const traps: Faults = {
  'reports-overlap': {},
  'report-restated': { share: 0.5 },
  'report-missing': {},
  'labels-renamed': {},
  'fees-joined': { share: 0.5 },
  'shipment-as-order': {},
  'marketplace-blank': {},
  'decimal-comma': { share: 0.5 },
  'dotted-dates': { share: 0.5 },
  'windows-1252': {},
};

const cases = [
  { profile: 'plausible', faults: undefined, traps: 'off' },
  { profile: 'plausible', faults: traps, traps: 'on' },
  { profile: 'edge-cases', faults: traps, traps: 'on' },
] as const;

test.each(cases)(
  'settlement reports of the $profile seller have nothing unexplained, with traps $traps',
  async ({ profile, faults }) => {
    const seller = createSeller({ seed: 5, events: 800, profile, days: 60 }, clock);
    const root = await temporaryFolder();
    const endpoint = await serving({ backend: seller, clock, faults });
    const run = { lake: root, endpoint, account: 'demo', from: first };
    await ran({ ...run, api: 'both' }, { clock });
    await ran({ ...run, pipelines: ['settlement-reports'] }, { clock });
    const reader = await database(root, clock);
    await computeOnce(reader, ['settlement_differences']);
    const count = async (sql: string) => Number((await reader.rows(`SELECT count(*) AS n FROM ${sql}`))[0]?.['n']);
    const settlements = await count(`settlement_reports WHERE started_at >= '${first}'`);
    expect(settlements).toBeGreaterThan(5);
    // No settlement has the number of its group.
    expect(await count('settlement_reports JOIN groups ON group_id = settlement_id')).toBe(0);

    const compared = `FROM settlement_differences JOIN settlement_reports USING (account, settlement_id) WHERE started_at >= '${first}'`;
    const reasons = await reader.rows(
      `SELECT source, reason, sum(difference)::VARCHAR AS difference ${compared} GROUP BY ALL ORDER BY ALL`,
    );
    expect(reasons.map((row) => Object.values(row))).toEqual([
      ['2024-06-19', 'renamed', '0.000000'],
      ['2024-06-19', 'split', '0.000000'],
      ['v0', 'renamed', '0.000000'],
      ['v0', 'split', '0.000000'],
    ]);
    // Both sides are whole: lines, and the amounts of both sources with the beginning balance.
    const items = 'SELECT settlement_id, source, is_report, sum(amount) AS amount FROM settlement_items GROUP BY ALL';
    expect(
      await count(
        `(${items}) JOIN settlement_reports USING (settlement_id) WHERE started_at >= '${first}' AND amount <> total_amount`,
      ),
    ).toBe(0);
    // Most lines are in no row.
    const lines = await count('settlement_lines WHERE amount IS DISTINCT FROM 0');
    const rows = `(SELECT unnest(report_lines) ${compared})`;
    expect(await count(rows)).toBeLessThan(2 * lines * 0.4);
    // All of what is older is not loaded, and nothing of it is unexplained.
    expect(await count("settlement_differences WHERE reason = 'unexplained'")).toBe(0);

    const { code, checks, problems } = await verified({ root, clock }, true);
    const ofReports = checks.filter(({ check }) => check.startsWith('report-'));
    expect(ofReports.map(({ check, checked, result }) => [check, checked, result])).toEqual([
      ['report-totals', await count('settlement_reports'), 'ok'],
      ['report-amounts', settlements, 'ok'],
      ['report-lines', 2 * settlements, 'ok'],
    ]);
    expect([code, problems]).toEqual([0, []]);
  },
);
