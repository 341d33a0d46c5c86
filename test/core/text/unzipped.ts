import { crc32, inflateRawSync } from 'node:zlib';
import { expect } from 'vitest';

/** The files of a ZIP archive, by its directory, each compared with its checksum. */
export function unzipped(bytes: Buffer): Map<string, string> {
  const end = bytes.lastIndexOf('PK\x05\x06');
  const files = new Map<string, string>();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const [sum, packed, size] = [16, 20, 24].map((field) => bytes.readUInt32LE(at + field));
    const length = bytes.readUInt16LE(at + 28);
    const name = bytes.toString('utf8', at + 46, at + 46 + length);
    const start = bytes.readUInt32LE(at + 42) + 30 + length;
    const content = inflateRawSync(bytes.subarray(start, start + (packed ?? 0)));
    expect([name, content.length, crc32(content)]).toEqual([name, size, sum]);
    files.set(name, content.toString());
    at += 46 + length;
  }
  expect(at).toBe(end);
  return files;
}
