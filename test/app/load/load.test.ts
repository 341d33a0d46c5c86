import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { acquireLease } from '../../../src/lake/upkeep/leases.js';
import { clockAt, ran, serving, temporaryFolder } from '../lake-run.js';

test('a run beside another one of its account says so first; beside one of another account it has nothing to say', async () => {
  const clock = clockAt('2025-06-01T00:05:00Z');
  const lake = join(await temporaryFolder(), 'lake');
  const endpoint = await serving({ ledger: createSeller({ seed: 7, events: 50, profile: 'plausible' }, clock), clock });
  const options = { lake, endpoint, account: 'shop', from: '2025-05-01', to: '2025-05-03' };
  const purpose = { command: 'sync', pipelines: ['financial-events'] };
  for (const account of ['shop', 'other']) {
    const lease = await acquireLease(diskStore(lake), clock, { ...purpose, account });
    const { logged } = await ran(options, { clock });
    await lease.release();
    const expected = `another run is at work on the lake (sync of shop, process ${process.pid} on `;
    expect(logged.startsWith(expected)).toBe(account === 'shop');
    expect(logged.includes('another run')).toBe(account === 'shop');
  }
});
