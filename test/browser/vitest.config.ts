import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/browser/*.test.ts'],
    // One browser at a time.
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
