import type { Level } from '../../core/events/run-event.js';

export type Style = 'plain' | 'strong' | 'dim' | 'bar' | 'good' | 'warn' | 'bad';

/** Colours a text. */
export type Paint = (style: Style, text: string) => string;

const codes: Readonly<Record<Style, string>> = {
  plain: '',
  strong: '1',
  dim: '2',
  bar: '36',
  good: '32',
  warn: '33',
  bad: '31',
};

/** Colours, or none at all. */
export function paintIn(isColoured: boolean): Paint {
  return (style, text) =>
    isColoured && codes[style] !== '' && text !== '' ? `\u001b[${codes[style]}m${text}\u001b[0m` : text;
}

const levelStyles: Readonly<Record<Level, Style>> = { debug: 'dim', info: 'plain', warn: 'warn', error: 'bad' };

/** A line in the colour of its level. */
export function paintLevel(paint: Paint): (level: Level, line: string) => string {
  return (level, line) => paint(levelStyles[level], line);
}
