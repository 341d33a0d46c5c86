import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/browser/*.test.ts'],
    // One browser at a time.
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
