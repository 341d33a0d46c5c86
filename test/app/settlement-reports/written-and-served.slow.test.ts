import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportSettlementReports } from '../../../src/app/settlement-reports/export-settlement-reports.js';
import type { Faults } from '../../../src/emulator/faults/fault-settings.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { imported } from '../import/imported.js';
import { clockAt, database, defaults, ran, serving, temporaryFolder } from '../lake-run.js';

const clock = clockAt('2025-03-20T00:00:00Z');

/** Everything that is known of reports, at once. */
const faults: Faults = {
  'fees-joined': {},
  'shipment-as-order': {},
  'labels-renamed': {},
  'marketplace-blank': {},
  'decimal-comma': {},
  'dotted-dates': {},
  'reports-overlap': {},
  'report-restated': {},
  'report-missing': {},
  'windows-1252': {},
};

/**
 * The reasons of a lake's differences by source, the number of those that are not 0, and the number of reports: of settlements since the first
 * one that the service lists. Documents that overlap have older ones too.
 */
async function differencesOf(lake: string) {
  const read = await database(lake, clock);
  await read.execute(
    'CREATE TABLE compared AS FROM settlement_reports WHERE started_at >= (SELECT min(started_at) FROM groups)',
  );
  await read.execute(
    'CREATE TABLE differences AS FROM settlement_differences SEMI JOIN compared USING (settlement_id)',
  );
  const reasons = await read.rows('SELECT DISTINCT source, reason FROM differences ORDER BY ALL');
  const [counted] = await read.rows(
    'SELECT (SELECT count(*) FROM compared) AS reports, (SELECT sum(lines) FROM compared) AS lines, ' +
      '(SELECT count(*) FROM differences WHERE difference <> 0) AS apart',
  );
  const count = (name: string) => Number(counted?.[name]);
  return {
    reasons: reasons.map(({ source, reason }) => `${String(source)}: ${String(reason)}`),
    reports: count('reports'),
    lines: count('lines'),
    apart: count('apart'),
  };
}

test.each([
  ['plausible', ['group-events', 'transactions']],
  ['edge-cases', ['group-events']],
  ['edge-cases', ['transactions']],
] as const)(
  'the lake explains each report of the %s seller by %j, also with every known fault, and each that is written from them',
  async (profile, sources) => {
    const lake = await temporaryFolder();
    const backend = createSeller({ seed: 5, events: 1000, profile, days: 60 }, clock);
    const run = { ...defaults, lake, account: 'demo', from: '2024-11-01' };
    const endpoint = await serving({ backend, clock });
    await ran({ ...run, endpoint, pipelines: ['financial-event-groups', ...sources] }, { clock });
    const faulty = await serving({ backend, clock, faults });
    await ran({ ...run, endpoint: faulty, pipelines: ['settlement-reports'] }, { clock });
    const served = await differencesOf(lake);
    const bySource = (of: readonly string[], reasons: readonly string[]) =>
      of.flatMap((source) => reasons.map((reason) => `${source}: ${reason}`));
    const loaded = sources.map((name) => (name === 'transactions' ? '2024-06-19' : 'v0')).toSorted();
    expect(served.reasons).toEqual(bySource(loaded, ['renamed', 'split']));
    expect(served.apart).toBe(0);
    expect(served.reports).toBeGreaterThan(15);

    const dir = await temporaryFolder();
    const none = { account: undefined, from: undefined, to: undefined, settlements: [] };
    const context = { clock, signal: new AbortController().signal, emit: () => undefined };
    const { exitCode } = await exportSettlementReports({ ...none, lake, dir }, context);
    expect(exitCode).toBe(0);
    const files = (await readdir(dir)).map((name) => join(dir, name));
    expect(files.length).toBeGreaterThanOrEqual(served.reports);
    const { failure } = await imported({ root: lake, clock }, files);
    expect(failure).toBeUndefined();
    const written = await differencesOf(lake);
    expect(written.apart).toBe(0);
    expect(written.lines).toBeGreaterThan(2000);
    // Written from v0, its lines are those of v0. One of transactions has what these split.
    const others = loaded.filter((source) => source !== 'v0');
    const explained = new Set(bySource(others, ['renamed', 'split']));
    expect(written.reasons.filter((reason) => !explained.has(reason))).toEqual([]);
  },
);
