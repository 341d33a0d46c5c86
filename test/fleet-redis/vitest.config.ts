import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/fleet-redis/*.fleet.ts'],
    // Each starts workers of its own, which wait most of the time.
    maxWorkers: 2,
    // On a machine that does nothing else the longest takes a minute or two.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
