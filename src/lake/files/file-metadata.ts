import { version } from '../../core/version.js';

/**
 * Key-value metadata of a slice's files. No clock and no chance in it: the same slice gives the same bytes. It is one
 * pair, because the writer puts several in an order of its own that changes from file to file.
 */
export function fileMetadata(pipeline: string, account: string, window: string): ReadonlyMap<string, string> {
  return new Map([['ledgerlake', JSON.stringify({ version, account, pipeline, window })]]);
}
