import { expect, onTestFinished, test, vi } from 'vitest';
import { startS3Server } from '../s3-server/server.js';
import { s3LakeRun } from './s3-run.js';

test('a lake on S3 holds what one on disk holds, and lets itself be verified and compacted', async () => {
  const server = await startS3Server('bucket');
  onTestFinished(() => server.close());
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const slices = await s3LakeRun('s3://bucket/lakes/shop');
  expect(slices).toBeGreaterThan(20);
});
