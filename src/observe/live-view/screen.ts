import { displayWidth } from '../../core/text/width.js';

/** The terminal that is drawn on: `process.stderr`. */
export interface Terminal {
  /** Width in cells and height in lines; 0 where unknown. */
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
}

/** Width of a terminal in cells; 80 where unknown. */
export function terminalColumns({ columns }: Terminal): number {
  return columns > 0 ? columns : 80;
}

const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const clearLine = '\u001b[2K';
const clearBelow = '\u001b[J';
const up = (lines: number): string => (lines > 0 ? `\u001b[${lines}A` : '');
const colours = /\u001b\[[\d;]*m/g;

/**
 * A few lines at the bottom of a terminal that are redrawn in place, while other lines are written above them. Each
 * change is one write, so that nothing flickers and no line is torn.
 */
export class Screen {
  readonly #terminal: Terminal;
  #drawn: readonly string[] = [];
  #columns: number;
  #isHidden = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#columns = terminalColumns(terminal);
  }

  /** Replaces the drawn lines. Lines for which the terminal has no room are left out. */
  draw(lines: readonly string[]): void {
    const { rows } = this.#terminal;
    const fitting = lines.slice(0, Math.max(1, (rows > 0 ? rows : 24) - 1));
    const isSame = fitting.length === this.#drawn.length && fitting.every((line, at) => line === this.#drawn[at]);
    if (isSame && this.#columns === terminalColumns(this.#terminal) && this.#isHidden) return;
    this.#terminal.write(this.#cursorToStart() + this.#frame(fitting));
  }

  /** Writes one or more lines above the drawn ones. */
  above(text: string): void {
    if (!this.#isHidden) {
      this.#terminal.write(`${text}\n`);
      return;
    }
    this.#terminal.write(
      `${this.#cursorToStart()}${clearBelow}${text}\n${this.#drawn.length > 0 ? this.#frame(this.#drawn) : ''}`,
    );
  }

  /** Clears the drawn lines and restores the terminal. */
  clear(): void {
    if (!this.#isHidden) return;
    this.#terminal.write(`${this.#cursorToStart()}${clearBelow}${showCursor}`);
    this.#drawn = [];
    this.#isHidden = false;
  }

  #frame(lines: readonly string[]): string {
    const begin = this.#isHidden ? '' : hideCursor;
    this.#isHidden = true;
    this.#drawn = lines;
    this.#columns = terminalColumns(this.#terminal);
    return `${begin}${lines.map((line) => `${clearLine}${line}\n`).join('')}${clearBelow}`;
  }

  /** Moves the cursor to the first drawn line; a terminal that got narrower has broken lines into several. */
  #cursorToStart(): string {
    const columns = terminalColumns(this.#terminal);
    const rows = this.#drawn.map((line) =>
      Math.max(1, Math.ceil(displayWidth(line.replaceAll(colours, '')) / columns)),
    );
    return `\r${up(rows.reduce((sum, count) => sum + count, 0))}`;
  }
}
