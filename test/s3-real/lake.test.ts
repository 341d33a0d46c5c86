import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { s3LakeRun } from '../lake/s3-run.js';

test('a lake on a real S3 service holds what one on disk holds', async () => {
  expect(await s3LakeRun(`s3://${process.env['LEDGERLAKE_S3_BUCKET'] ?? ''}/${randomUUID()}`)).toBeGreaterThan(20);
});
