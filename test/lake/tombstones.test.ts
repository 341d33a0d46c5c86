import { expect, test } from 'vitest';
import { DeltaTable } from '../../src/lake/delta/delta-table.js';
import { tombstone } from '../../src/lake/delta/file-tags.js';
import { handClock } from '../serve/http/hand-clock.js';
import { memoryStore } from './memory-store.js';
import { adding, file, things } from './small-table.js';

const dayMs = 86_400_000;

test('a path that was removed can’t be added for a day, also for who reads of it in a checkpoint only', async () => {
  const memory = memoryStore();
  const clock = handClock('2025-06-20T12:00:00Z');
  const open = async () => {
    const table = new DeltaTable(things, memory, clock);
    await table.refresh();
    return table;
  };
  const writer = await open();
  const { path } = file('gone.parquet');
  await writer.commit('FENCE', () => [tombstone(path, clock.now())]);
  for (let commit = 0; commit < 40; commit++) await writer.commit('WRITE', () => adding(`${commit}.parquet`));
  const hint = JSON.parse(Buffer.from((await memory.read('things/_delta_log/_last_checkpoint')) ?? []).toString()) as {
    version: number;
  };
  expect(hint.version).toBeGreaterThan(1);
  for (let version = 0; version <= hint.version; version++) {
    await memory.remove(`things/_delta_log/${String(version).padStart(20, '0')}.json`);
  }

  const reader = await open();
  expect(reader.isTombstoned(path)).toBe(true);
  await expect(reader.commit('WRITE', () => [{ add: file('gone.parquet') }])).rejects.toMatchObject({
    code: 'LAKE_CONFLICT',
  });
  clock.move(dayMs);
  expect(reader.isTombstoned(path)).toBe(false);
  await reader.commit('WRITE', () => [{ add: file('gone.parquet') }]);
  expect((await open()).snapshot.files.has(path)).toBe(true);
});
