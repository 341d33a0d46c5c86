import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sqlTexts } from './test/sql-texts.js';

/**
 * Vitest begins with the largest files. These are small and take minutes: begun last, they would keep one core and leave the
 * other idle.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => moduleId.includes('/test/pacing/');
    const largestFirst = await super.sort(files);
    return [...largestFirst.filter(isLong), ...largestFirst.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  plugins: [sqlTexts],
  test: {
    include: ['test/**/*.test.ts'],
    // These have targets of their own: they need more than Node.
    exclude: [...configDefaults.exclude, 'test/s3-real/**', 'test/browser/**', 'test/readers/**'],
    // Vitest would leave a core idle on a machine of two.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // No module keeps state, so that files share the modules of their worker: loading them anew took a third of the time.
    isolate: false,
    // What tests make up is soon dropped: to collect it from V8's small young space took a fifth of the CPU seconds.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=64'],
    // For tests that hang: a machine that others use can stand still for minutes.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
