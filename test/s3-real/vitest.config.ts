import { defineConfig } from 'vitest/config';
import { sqlTexts } from '../sql-texts.js';

export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/s3-real/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
