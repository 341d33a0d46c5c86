import { RecordBatchStreamWriter, type RecordBatch } from 'apache-arrow';

/** A piece that is copied rather than handed over: its memory is a small part of something larger. */
const leastShare = 0.5;

/**
 * A batch as an Arrow stream, in pieces of which most are the batch's own memory: handing the pieces over takes the batch
 * apart. Each piece has its memory for itself.
 */
export async function piecesOf(rows: RecordBatch): Promise<Uint8Array[]> {
  const writer = new RecordBatchStreamWriter();
  writer.write(rows);
  writer.finish();
  const pieces: Uint8Array[] = [];
  for await (const piece of writer as AsyncIterable<Uint8Array>) {
    // Small texts lie in memory that Node shares out to everybody.
    pieces.push(piece.byteLength >= piece.buffer.byteLength * leastShare ? piece : piece.slice());
  }
  return pieces;
}

/** Pieces as one again: in `room` where they fit, else in memory of their own. */
export function joinedPieces(pieces: readonly Uint8Array[], room: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const all = length <= room.length ? room.subarray(0, length) : new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
