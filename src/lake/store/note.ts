/**
 * What a note in a lake says, once `parse` has taken its JSON; undefined where there is none, or it isn't as it was written:
 * then it is as good as none, as the log says what counts.
 */
export function parseNote<T>(bytes: Uint8Array | undefined, parse: (value: unknown) => T | undefined): T | undefined {
  if (bytes === undefined) return undefined;
  try {
    return parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    return undefined;
  }
}
