import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { ran, serving, temporaryFolder } from '../app/lake-run.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { hidingBackend, lot, setClock } from '../app/load/synced.js';
import { clickhouseAnswers, clickhouseLines, type Answer } from './clickhouse.js';

const dates = { from: '2026-01-24', to: '2026-03-10' };
const kept = { retentionHours: 6, export: ['iceberg'] } as const;
const gone = /No such file or directory|FILE_DOESNT_EXIST|CANNOT_OPEN_FILE/;

test('a snapshot from before a refresh can be read within the retention, as Delta and as Iceberg, and not behind it', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const seller = createSeller({ seed: 7, events: 600, profile: 'edge-cases' }, clock);
  // One in nine events comes late, and one in ten goes again.
  let hidden = 9;
  const endpoint = await serving({ backend: hidingBackend(seller, (item) => lot(item, hidden) === 0), clock });
  const lake = await temporaryFolder();
  const load = (refresh: boolean) =>
    ran({ lake, endpoint, account: 'shop', pipelines: ['financial-events'], ...dates, ...kept, refresh }, { clock });

  const version = async () => {
    const names = await readdir(join(lake, 'entries', '_delta_log'));
    return Number(
      names
        .filter((name) => /^\d{20}\.json$/.test(name))
        .toSorted()
        .at(-1)
        ?.slice(0, 20),
    );
  };
  const metadata = () => readFile(join(lake, '_iceberg/entries/metadata/version-hint.text'), 'utf8');
  const figures = 'SELECT currency, kind, count(), sum(amount)';
  const read = (snapshot: { readonly version: number; readonly metadata: string }) => {
    const file = `metadata/v${snapshot.metadata}.metadata.json`;
    const iceberg = `icebergLocal('${join(lake, '_iceberg/entries')}', SETTINGS iceberg_metadata_file_path = '${file}')`;
    return [
      `${figures} FROM deltaLakeLocal('${join(lake, 'entries')}') GROUP BY ALL ORDER BY ALL ` +
        `SETTINGS delta_lake_snapshot_version = ${snapshot.version}`,
      `${figures} FROM ${iceberg} GROUP BY ALL ORDER BY ALL`,
    ];
  };
  const snapshot = async () => ({ version: await version(), metadata: await metadata() });

  await load(false);
  const first = await snapshot();
  const [delta = [], iceberg] = await clickhouseLines(read(first));
  expect(delta.length).toBeGreaterThan(10);
  expect(iceberg).toEqual(delta);

  hidden = 10;
  clock.set('2026-03-15T13:00:00Z');
  await load(true);
  await compacted({ lake, ...kept }, { clock });
  const second = await snapshot();
  expect(second.version).toBeGreaterThan(first.version);
  const [oldDelta, oldIceberg, newDelta, newIceberg] = await clickhouseLines([...read(first), ...read(second)]);
  expect([oldDelta, oldIceberg]).toEqual([delta, delta]);
  expect(newDelta).not.toEqual(delta);
  expect(newIceberg).toEqual(newDelta);

  // Behind it the query fails, and leaves no file out.
  clock.set('2026-03-15T20:00:00Z');
  await compacted({ lake, ...kept }, { clock });
  const [byDelta, byIceberg, ...newest] = await clickhouseAnswers([...read(first), ...read(second)]);
  const failed: Answer = { error: expect.stringMatching(gone) as string };
  expect([byDelta, byIceberg]).toEqual([failed, failed]);
  const answer: Answer = { text: (newDelta ?? []).map((line) => `${line}\n`).join('') };
  expect(newest).toEqual([answer, answer]);
});
