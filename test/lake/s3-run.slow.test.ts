import { expect, test } from 'vitest';
import { servedBucket } from '../s3-server/served-bucket.js';
import { s3LakeRun } from './s3-run.js';

test('a lake on S3 holds what one on disk holds, and lets itself be verified and compacted', async () => {
  await servedBucket();
  const slices = await s3LakeRun('s3://bucket/lakes/shop');
  expect(slices).toBeGreaterThan(20);
});
