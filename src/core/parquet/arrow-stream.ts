import { RecordBatchStreamWriter, type RecordBatch } from 'apache-arrow';

/**
 * A batch as an Arrow stream: a copy of what it holds.
 *
 * @param room gives memory of at least so many bytes
 */
export async function arrowStream(
  rows: RecordBatch,
  room: (bytes: number) => ArrayBuffer,
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = new RecordBatchStreamWriter();
  writer.write(rows);
  writer.finish();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of writer as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    length += piece.length;
  }
  const stream = new Uint8Array(room(length), 0, length);
  let at = 0;
  for (const piece of pieces) {
    stream.set(piece, at);
    at += piece.length;
  }
  return stream;
}
