import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

/** Lakes read by ClickHouse: `make test-readers`. */
export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/readers/*.test.ts'],
    // Vitest would leave a core idle on a machine of two.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
