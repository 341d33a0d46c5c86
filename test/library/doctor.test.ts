import { join } from 'node:path';
import { expect, test } from 'vitest';
import { doctor, type DoctorOptions } from '../../src/index.js';
import { temporaryFolder } from '../app/lake-run.js';

test('a location without a lake is a warning, and an account that is not configured a fault', async () => {
  const lake = join(await temporaryFolder(), 'lake');
  const report = await doctor({ lake, account: 'shop' });
  expect(report).toMatchObject({ lake, state: 'fault' });
  const states = Object.fromEntries(report.findings.map(({ group, state }) => [group, state]));
  expect(states).toMatchObject({ store: 'ok', lake: 'warning', credentials: 'fault', versions: 'ok' });
});

test('wrong options are refused, and a signal stops it', async () => {
  await expect(doctor({ maxlag: '1d' } as DoctorOptions)).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('did you mean maxLag?') as string,
  });
  await expect(doctor({ maxLag: 'soon' })).rejects.toMatchObject({ code: 'USAGE' });
  await expect(doctor({ signal: AbortSignal.abort('late') })).rejects.toMatchObject({ code: 'STOPPED', cause: 'late' });
});
