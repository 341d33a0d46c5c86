import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sqlTexts } from './test/sql-texts.js';

/**
 * Vitest begins with the largest files. These are small and take half a minute to two minutes: begun last, they would keep one core
 * and leave the other idle.
 */
const smallAndLong = [
  ...['/test/pacing/', '/query/journals.', '/query/differences-of-seller.', '/query/export-views.'],
  ...['/settlement-reports/written-and-served.', '/settlement-reports/reports-of-seller.', '/load/nightly.'],
  ...[
    '/repair/killed.',
    '/app/forget-crash.',
    '/app/missing-lake.',
    '/app/s3-odd-services.',
    '/import/sellers-events.',
  ],
  ...['/import/overlapping-inputs.', '/verify/several-accounts.', '/transactions/releases.', '/transactions/nights.'],
  ...['/docs/api-pages.', '/parquet/encoder-pages.', '/pipelines/any-order.', '/lake/s3-run.'],
  ...['/simulation/simulation.', '/finances/json-grammar.'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => smallAndLong.some((part) => moduleId.includes(part));
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
