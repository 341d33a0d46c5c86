import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

/** A replica of a lake read by all of the clients that others wrote: `make test-clients`. */
export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/clients/*.clients.ts', 'test/clients/*.test.ts'],
    // Vitest would leave a core idle on a machine of two.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
