import domino from '@mixmark-io/domino';
import { printableLines } from '../../core/printable.js';
import { Html } from './html.js';

/** What a drawn element is needed for. */
interface Drawn {
  readonly outerHTML: string;
  readonly attributes: ArrayLike<{ readonly name: string; readonly value: string }>;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  remove(): void;
  querySelectorAll(selector: string): ArrayLike<unknown>;
}

/** A document for the chart library to draw in. */
export function newDocument(): unknown {
  return domino.createDocument('<!doctype html>');
}

export interface DrawingOptions {
  /** What a screen reader says in its place. */
  readonly label: string;
  /** Which widths of the page it is for. */
  readonly fits: 'wide' | 'narrow';
}

/**
 * A chart as markup that stands in a page with a strict content security policy: no style of its own, coordinates to a
 * hundredth, one label for all of it.
 */
export function markupOf(chart: unknown, { label, fits }: DrawingOptions): Html {
  if (!isDrawn(chart)) throw new TypeError('Expected the chart library to draw an element');
  for (const style of Array.from(chart.querySelectorAll('style'))) if (isDrawn(style)) style.remove();
  for (const element of [chart, ...Array.from(chart.querySelectorAll('*'))]) {
    if (isDrawn(element)) tidy(element);
  }
  chart.setAttribute('class', `chart ${fits}`);
  chart.setAttribute('role', 'img');
  chart.setAttribute('aria-label', label);
  // What an id or a name holds: its escapes are text in an attribute and in an element alike.
  return new Html(printableLines(chart.outerHTML));
}

const coordinates = new Set(['x', 'y', 'x1', 'x2', 'y1', 'y2', 'width', 'height', 'd', 'transform', 'cx', 'cy']);
/** What the page says itself, once for all charts. */
const dropped = new Set(['style', 'aria-label', 'aria-hidden', 'font-family', 'font-variant', 'xmlns', 'xmlns:xlink']);

function tidy(element: Drawn): void {
  for (const { name, value } of Array.from(element.attributes)) {
    if (dropped.has(name)) element.removeAttribute(name);
    else if (coordinates.has(name)) element.setAttribute(name, value.replaceAll(/\.(\d\d)\d+/g, '.$1'));
  }
}

function isDrawn(value: unknown): value is Drawn {
  return typeof value === 'object' && value !== null && 'outerHTML' in value && 'setAttribute' in value;
}
