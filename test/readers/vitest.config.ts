import { defineConfig } from 'vitest/config';

/** Lakes read by ClickHouse: `make test-readers`. */
export default defineConfig({
  test: {
    include: ['test/readers/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
