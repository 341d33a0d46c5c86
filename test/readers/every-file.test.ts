import { expect, test } from 'vitest';
import { forget } from '../../src/app/forget/forget.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { fileOf, imported } from '../app/import/imported.js';
import { ran, serving, temporaryFolder } from '../app/lake-run.js';
import { setClock } from '../app/load/synced.js';
import { compacted, rebuilt } from '../app/maintenance/kept-lake.js';
import { flattenedOtherwise } from '../app/maintenance/other-entries.js';
import { instantOf } from '../reference/instants.js';
import { memberOf, parseJsonText, type JsonNode } from '../reference/json-text.js';
import { loaded, ownClock, shipmentsFrom } from '../sources/custom/custom-run.js';
import { parcelServer, shipmentsOf, type Shipment } from '../sources/custom/parcel-server.js';
import { expectFiles, referenceTables, type ReferenceTables } from './every-file.js';
import { recording } from './recorded-pages.js';

const dates = { from: '2026-01-24', to: '2026-03-10' };

/** What the rows of an import have of the windows that they were asked for in, which its pages don't say. */
const ofWindows = ['event_id', 'window_start', 'window_end', 'position'];

test('hyparquet and parquet-wasm read in every file of a lake what the answers come to, whatever becomes of it', async () => {
  const clock = setClock('2026-03-15T12:00:00Z');
  const seller = createSeller({ seed: 7, events: 900, profile: 'edge-cases' }, clock);
  const { url, chains } = await recording(await serving({ backend: seller, clock }));
  const lake = await temporaryFolder();
  await ran({ lake, endpoint: url, account: 'shop', ...dates, api: 'both' }, { clock });
  const answers = chains();
  const reference = referenceTables(answers);
  const counts = new Map([...reference].map(([table, rows]) => [table, rows.length]));
  expect(counts.get('entries')).toBeGreaterThan(4000);
  expect(counts.get('group_entries')).toBeGreaterThan(4000);
  expect(counts.get('transaction_entries')).toBeGreaterThan(8000);

  const loadedFiles = await expectFiles(lake, clock, reference);
  expect(loadedFiles.files).toBeGreaterThan(40);
  expect(loadedFiles.rows).toEqual(new Map([...counts, ['groups', loadedFiles.rows.get('groups')]]));

  // Entries as an older program might have made them.
  clock.set('2026-03-15T13:00:00Z');
  await flattenedOtherwise(lake, "SELECT * REPLACE ('memo' AS role) FROM FILE", clock);
  await rebuilt({ lake }, { clock });
  expect((await expectFiles(lake, clock, reference)).rows).toEqual(loadedFiles.rows);

  clock.set('2026-03-15T14:00:00Z');
  await compacted({ lake }, { clock });
  const merged = await expectFiles(lake, clock, reference);
  expect(merged.rows).toEqual(loadedFiles.rows);
  expect(merged.files).toBeLessThan(loadedFiles.files / 2);

  clock.set('2026-03-15T15:00:00Z');
  const before = '2026-02-12T05:00:00Z';
  const quiet = { print: () => undefined, printJson: () => undefined, emit: () => undefined, confirm: undefined };
  await forget({ lake, account: 'shop', before, yes: true }, { clock, signal: new AbortController().signal, ...quiet });
  const left = await expectFiles(lake, clock, since(reference, before));
  for (const table of counts.keys()) {
    expect(left.rows.get(table), table).toBeGreaterThan(50);
    expect(left.rows.get(table), table).toBeLessThan(counts.get(table) ?? 0);
  }

  const root = await temporaryFolder();
  const asked = answers.filter(({ path }) => /\/financialEvent(s|Groups)$/.test(path) && !path.includes('Groups/'));
  const bodies = asked.flatMap(({ pages }) => pages);
  const { failure } = await imported({ root, clock }, [await fileOf(bodies)]);
  expect(failure).toBeUndefined();
  const byDate = new Map([...reference].filter(([table]) => table === 'events' || table === 'entries'));
  const importedFiles = await expectFiles(root, clock, byDate, ofWindows);
  expect(importedFiles.rows.get('entries')).toBe(counts.get('entries'));
});

/** The rows that a `forget` of what was before an instant leaves. */
function since(reference: ReferenceTables, before: string): ReferenceTables {
  const from = instantOf(before) ?? 0n;
  const isLeft = ({ effective_at: at }: Readonly<Record<string, unknown>>) => typeof at !== 'bigint' || at >= from;
  return new Map([...reference].map(([table, rows]) => [table, rows.filter(isLeft)]));
}

/** What a custom pipeline's rows have beside the definition's columns and the record. */
const besideColumns = ['window_start', 'window_end', 'position', 'content_hash'];

test('hyparquet and parquet-wasm read in every file of a custom pipeline what its service answered', async () => {
  const shipments = shipmentsOf('2025-01-15T00:00:00Z', 20, 120);
  const pipeline = shipmentsFrom(await parcelServer(shipments));
  const lake = await temporaryFolder();
  const clock = ownClock();
  for (const from of ['2025-01-30', '2025-01-25', '2025-01-20', '2025-01-15'])
    await loaded(pipeline, { lake, from, to: '2025-02-04', clock });
  const reference = new Map([['shipments', shipments.map(shipmentRow)]]);
  const read = await expectFiles(lake, clock, reference, besideColumns);
  expect(read.rows).toEqual(new Map([['shipments', shipments.length]]));
  await compacted({ lake }, { clock });
  const merged = await expectFiles(lake, clock, reference, besideColumns);
  expect(merged.rows).toEqual(read.rows);
  expect(merged.files).toBeLessThan(read.files);
});

/** What the definition of the pipeline makes of a shipment. */
function shipmentRow({ json, shippedAt }: Shipment): Readonly<Record<string, unknown>> {
  const shipment = parseJsonText(json);
  const at = (...path: string[]) => path.reduce<JsonNode | undefined>(memberOf, shipment);
  const text = (...path: string[]) => {
    const node = at(...path);
    return node?.type === 'string' ? node.value : null;
  };
  const digits = (...path: string[]) => {
    const node = at(...path);
    return node?.type === 'number' ? BigInt(json.slice(node.start, node.end).replace('.', '')) : null;
  };
  const parcels = at('parcels');
  const insured = at('insured');
  return {
    shipment_id: text('id'),
    shipped_at: instantOf(shippedAt),
    carrier: text('carrier', 'name'),
    tracking_number: digits('tracking_number'),
    parcels: parcels?.type === 'array' ? parcels.items.length : null,
    weight_kg: digits('weight_kg'),
    cost: digits('cost', 'amount'),
    currency: text('cost', 'currency'),
    is_insured: insured?.type === 'literal' ? insured.value : null,
    raw: json,
    promised_on: Date.parse(text('promised_on') ?? '') / 86_400_000,
  };
}
