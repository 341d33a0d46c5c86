import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

/** The same trials as in `make test`, all of them: `make torture`. */
export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/torture/*.torture.ts', 'test/app/load/nightly.slow.test.ts'],
    env: { LEDGERLAKE_TEST_NIGHTS: '40' },
    // Trials are of one process each or start two children: more at once would only wait for each other.
    maxWorkers: 2,
    testTimeout: 1_800_000,
    hookTimeout: 60_000,
  },
});
