/**
 * Sends a body in parts of `size` bytes, `concurrency` at once; resolves to what `send` gave for each, in order. Parts
 * are numbered from 1. After a failure no further part is begun, and it rejects once those under way have ended, so
 * that whoever clears up isn't overtaken by one of them.
 */
export async function uploadParts<T>(
  bytes: Uint8Array,
  size: number,
  concurrency: number,
  send: (number: number, part: Uint8Array) => Promise<T>,
): Promise<T[]> {
  const count = Math.ceil(bytes.length / size);
  const sent = new Array<T>(count);
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < count && !failed) {
      const at = next++;
      try {
        sent[at] = await send(at + 1, bytes.subarray(at * size, (at + 1) * size));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(concurrency, count) }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return sent;
}
