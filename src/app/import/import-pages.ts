import { withThreads } from '../../lake/files/workspace.js';
import { withKnown, type CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import { unbegunSummary } from '../load/run-summary.js';
import { ChunkThreads, importLimits } from './chunks/chunk-threads.js';
import type { ImportPagesOptions } from './import-run.js';
import { inputsOf } from './input-bytes.js';

/**
 * `ledgerlake import`: loads saved response bodies without requests to the upstream.
 *
 * @throws LedgerlakeError USAGE before anything is changed; BROKEN_LINE where a file was left out, or the failure
 *   that ended the import; commits stay
 */
export function importPages(options: ImportPagesOptions, context: RunContext): Promise<CommandResult> {
  const { account, lake } = options;
  const known = unbegunSummary(context.clock, { account, lake, from: null, to: null });
  return withKnown(importWithThreads(options, context), known);
}

async function importWithThreads(options: ImportPagesOptions, context: RunContext): Promise<CommandResult> {
  const inputs = await inputsOf(options.files, options.stdin);
  const limits = withThreads(options.limits ?? importLimits, options.threads);
  const threads = new ChunkThreads(limits, context.signal);
  try {
    threads.expect(inputs.reduce((sum, { bytes = 0 }) => sum + bytes, 0));
    // Loads its modules while the threads load theirs.
    const { runImport } = await import('./import-run.js');
    return await runImport(inputs, threads, { ...options, limits }, context);
  } finally {
    await threads.close();
  }
}
