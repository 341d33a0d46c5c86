import { defineConfig } from 'vitest/config';

/** Lakes read by ClickHouse: `make test-readers`. */
export default defineConfig({
  test: {
    include: ['test/readers/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
