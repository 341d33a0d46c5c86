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

/** A sheet of a workbook, from 1 on, without the names of its rows and cells, which are those of their places. */
export function sheetIn(bytes: Buffer, number = 1): string {
  const xml = unzipped(bytes).get(`xl/worksheets/sheet${number}.xml`) ?? expect.fail();
  let row = 0;
  return xml.replaceAll(/<row r="(\d+)">(.*?)<\/row>/gs, (_, name: string, cells: string) => {
    row++;
    let column = 0;
    expect(Number(name)).toBe(row);
    const unnamed = cells.replaceAll(/<c r="([A-Z]+)(\d+)"/g, (_match, letters: string, of: string) => {
      column++;
      // Bijective base 26.
      expect(
        Array.from(letters, (letter) => letter.charCodeAt(0) - 64).reduce((sum, digit) => sum * 26 + digit, 0),
      ).toBe(column);
      expect(Number(of)).toBe(row);
      return '<c';
    });
    expect(unnamed.match(/<c[ />]/g)?.length ?? 0).toBe(column);
    return `<row>${unnamed}</row>`;
  });
}
