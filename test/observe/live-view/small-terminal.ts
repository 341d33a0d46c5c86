import { displayWidth } from '../../../src/core/text/width.js';

/** A terminal that knows as much as is needed: what stands on it after all that was written. */
export class SmallTerminal {
  columns: number;
  rows = 24;
  isCursorShown = true;
  readonly lines: string[] = [''];
  #at = 0;

  constructor(columns: number) {
    this.columns = columns;
  }

  write(text: string): void {
    for (const [piece] of text.matchAll(/\u001b\[[?\d]*[A-Za-z]|[\r\n]|[^\u001b\r\n]+/g)) this.#take(piece);
  }

  #take(piece: string): void {
    const up = /^\u001b\[(\d+)A$/.exec(piece)?.[1];
    if (piece === '\r') return;
    if (up !== undefined) {
      this.#at -= Number(up);
      if (this.#at < 0) throw new Error('above the first line');
    } else if (piece === '\n') {
      this.#at++;
      this.lines[this.#at] ??= '';
    } else if (piece === '\u001b[2K') this.lines[this.#at] = '';
    else if (piece === '\u001b[J') this.lines.splice(this.#at, Infinity, '');
    else if (piece === '\u001b[?25l') this.isCursorShown = false;
    else if (piece === '\u001b[?25h') this.isCursorShown = true;
    else if (piece.startsWith('\u001b')) throw new Error(`unknown: ${JSON.stringify(piece)}`);
    else this.lines[this.#at] = (this.lines[this.#at] ?? '') + piece;
  }

  /** Makes it narrower: lines that are too long now go on below, as terminals do it. */
  narrow(columns: number): void {
    this.columns = columns;
    const broken = this.lines.flatMap((line) => {
      if (displayWidth(line) <= columns) return [line];
      return [...Array(Math.ceil(line.length / columns)).keys()].map((at) =>
        line.slice(at * columns, (at + 1) * columns),
      );
    });
    this.#at += broken.length - this.lines.length;
    this.lines.splice(0, Infinity, ...broken);
  }
}
