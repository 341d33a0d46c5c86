import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

/** What an attacker and a bad night do to a lake and to the programs beside it: `make attack`. */
export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/attack/*.attack.ts'],
    // Trials start processes of their own: more at once would only wait for each other.
    maxWorkers: 2,
    // A whole campaign takes an hour and more.
    testTimeout: 10_800_000,
    hookTimeout: 600_000,
  },
});
