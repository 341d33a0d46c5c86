import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/s3-real/**/*.test.ts'],
    // Vitest would leave a core idle on a machine of two.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
