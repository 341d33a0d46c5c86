import { onTestFinished, vi } from 'vitest';
import { startS3Server, type S3Server } from './server.js';

/** An S3 server with the bucket `bucket` that the environment leads to, until the test ends. */
export async function servedBucket(): Promise<S3Server> {
  const server = await startS3Server('bucket');
  onTestFinished(() => server.close());
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  return server;
}
